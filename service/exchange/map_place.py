"""Owns the way of a map into maps.json: beside the others that are there, or in place of the one with its id."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from service.content.check import cross_checked, examine
from service.content.connectivity import check_connectivity
from service.content.files import MAPS_FILE, read_values
from service.content.maps import MapsFile
from service.content.problem import problem
from service.content.references import check_maps, check_posts
from service.exchange.place import write_all
from service.exchange.refused import ImportRefused, parsed
from service.exchange.tiled import TiledMap


def take_map_in(directory: Path, tiled: TiledMap, *, replace_it: bool = False) -> list[Path]:
    """Write the map into maps.json: beside the others there, or in place of the one with its id. What the rest of the
    content has against it, an NPC without a post for one, is put into its report.

    Raises:
        ImportRefused: it is there already, or is wrong in itself; or maps.json cannot be read.
        ContentUnwritable: the file cannot be written.
    """
    before, values = examine(directory), dict(tiled.head)
    if os.path.lexists(directory / MAPS_FILE):
        if before.maps is None:
            raise ImportRefused([one for one in before.problems if one.file == MAPS_FILE])
        values = cast("dict[str, Any]", read_values(directory / MAPS_FILE))
    others = list(values.get("maps", ()))
    at = next((i for i, one in enumerate(others) if one["id"] == tiled.values["id"]), len(others))
    if at < len(others) and not replace_it:
        raise ImportRefused([problem(MAPS_FILE, ("maps", at, "id"), "exchange.map_is_there")])
    values["maps"] = [*others[:at], tiled.values, *others[at + 1 :]]
    maps = parsed(MapsFile, MAPS_FILE, values)
    wrong = [*check_maps(maps), *check_posts(maps)] or [*check_connectivity(maps)]
    if wrong:
        raise ImportRefused(wrong)
    tiled.report += cross_checked(replace(before, maps=maps))
    return write_all(directory, {MAPS_FILE: maps_text(values)})


def maps_text(values: Mapping[str, Any]) -> str:
    """maps.json as an author would write it: each node, edge, facility and post on a line."""
    maps = ",\n".join(map(_map_text, values["maps"]))
    head = "".join(f"  {_json(name)}: {_json(value)},\n" for name, value in values.items() if name != "maps")
    return f'{{\n{head}  "maps": [\n{maps}\n  ]\n}}\n'


def _map_text(area: Mapping[str, Any]) -> str:
    parts = []
    for name, value in area.items():
        told = _json(value)
        if isinstance(value, list) and value:
            told = "[\n" + ",\n".join(f"        {_json(one)}" for one in value) + "\n      ]"
        parts.append(f"      {_json(name)}: {told}")
    return "    {\n" + ",\n".join(parts) + "\n    }"


_json = partial(json.dumps, ensure_ascii=False)
