"""Owns the way of what was read into a content directory, a map into maps.json: checked with all that is there, then
written, all of it or nothing.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from service.public.files import (
    CHARACTERS,
    FRAGMENTS,
    LORE,
    MAPS_FILE,
    NPCS,
    CheckedContent,
    MapsFile,
    as_yaml,
    check_connectivity,
    check_maps,
    check_posts,
    cross_checked,
    entries,
    examine,
    is_slug,
    newly_wrong,
    problem,
    quote,
    read_values,
    write_all,
)
from studio.exchange.draft import Draft, ImportRefused, id_of, parsed
from studio.exchange.tiled import TiledMap


@dataclass(frozen=True, kw_only=True)
class Wish:
    """How a person is to be taken in: its id (None: made of its name), and its home (None: the first open node)."""

    id: str | None = None
    home: str | None = None


def take_in(
    directory: Path,
    people: Sequence[tuple[Draft, Wish]],
    beside: Mapping[str, str] = MappingProxyType({}),
    scenes: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    *,
    replace_it: bool = False,
) -> list[Path]:
    """Write what `planned` gives; answers the files.

    Raises:
        ImportRefused: as `planned`.
        ContentUnwritable: a file cannot be written.
    """
    return write_all(directory, planned(directory, people, beside, scenes, replace_it=replace_it))


def planned(
    directory: Path,
    people: Sequence[tuple[Draft, Wish]],
    beside: Mapping[str, str] = MappingProxyType({}),
    scenes: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    *,
    replace_it: bool = False,
) -> dict[str, str | None]:
    """The files that the people with what they know, or the fragments, become, with the texts of `beside` and the
    `scenes`, by their names (None: there is to be none). `replace_it`: also in place of what is there. Whoever has a
    post on the map is an NPC, everybody else a character.

    Raises:
        ImportRefused: some are there already, or would be wrong in this world; or the content cannot be read.
    """
    before = examine(directory)
    if before.maps is None:
        raise ImportRefused(before.problems)
    files: dict[str, dict[str, Any] | None] = {**scenes}
    for draft, wish in people:
        own = _files(before, draft, wish)
        if taken := files.keys() & own.keys():
            raise ImportRefused([problem(draft.file, ("name",), "exchange.is_there_too", file=min(taken))])
        files |= own
    texts = {name: None if values is None else as_yaml(values) for name, values in files.items()}
    written = {**texts, **beside}
    there = [name for name in written if os.path.lexists(directory / name)]
    if there and not replace_it:
        raise ImportRefused([problem(name, (), "exchange.is_there") for name in there])
    if wrong := newly_wrong(directory, texts):
        raise ImportRefused(wrong)
    return written


def _files(before: CheckedContent, draft: Draft, wish: Wish) -> dict[str, dict[str, Any] | None]:
    """What the person's files are to hold; None: nothing, and there is to be none. Raises: ImportRefused."""
    person_id = id_of(draft.name) if wish.id is None else wish.id
    if not is_slug(person_id):
        raise ImportRefused([problem(draft.file, ("id",), "exchange.no_id", id=quote(person_id))])
    draft.relate(ids_in(before))
    if draft.is_fragment:
        return {f"{FRAGMENTS}/{person_id}.yaml": draft.whole()}
    whole = {"id": person_id, **draft.whole()}
    posts = [post.npc_id for _, post in entries(before.maps, "npcs")] if before.maps else []
    if wish.home is None and person_id in posts:
        person = {f"{NPCS}/{person_id}.yaml": whole}
    else:
        person = {f"{CHARACTERS}/{person_id}.yaml": {**whole, "home": wish.home or _open_node(before)}}
    lore = [
        {"id": f"{person_id[:50].rstrip('_-')}_{number}", "text": one["text"], "knownBy": {"people": [person_id]}}
        | ({"tell": "always"} if one["tell"] == "always" else {})
        for number, one in enumerate(draft.lore, 1)
    ]
    return {
        **person,
        f"{LORE}/{person_id}.yaml": {"entries": lore} if lore else None,
    }


def ids_in(content: CheckedContent) -> dict[str, str]:
    """Everybody's id by it, by the person's names, and by its ids in other programs' files, in small letters."""
    people = [*content.npcs.values(), *content.characters.values()]
    names = {name.casefold(): one.id for one in people for _, name in one.name.form if name}
    return names | {name.casefold(): one.id for one in people for name in (one.id, *one.aliases)}


def _open_node(content: CheckedContent) -> str:
    assert content.maps is not None  # noqa: S101 - who calls has looked
    held = {post.spawn_node_id for _, post in entries(content.maps, "npcs")}
    return next((node.id for _, node in entries(content.maps, "nodes") if node.id not in held), "")


def take_map_in(directory: Path, tiled: TiledMap, *, replace_it: bool = False) -> list[Path]:
    """Write maps.json as `planned_map` gives it; answers the file.

    Raises:
        ImportRefused: as `planned_map`.
        ContentUnwritable: the file cannot be written.
    """
    return write_all(directory, planned_map(directory, tiled, replace_it=replace_it))


def planned_map(directory: Path, tiled: TiledMap, *, replace_it: bool = False) -> dict[str, str | None]:
    """maps.json with the map: beside the others there, or in place of the one with its id. What the rest of the content
    has against it, an NPC without a post for one, is put into its report.

    Raises:
        ImportRefused: it is there already, or is wrong in itself; or maps.json cannot be read.
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
    _join(tiled, [*others[:at], *others[at + 1 :]])
    values["maps"] = [*others[:at], tiled.values, *others[at + 1 :]]
    maps = parsed(MapsFile, MAPS_FILE, values)
    wrong = [*check_maps(maps), *check_posts(maps)] or [*check_connectivity(maps)]
    if wrong:
        raise ImportRefused(wrong)
    tiled.report += cross_checked(replace(before, maps=maps))
    return {MAPS_FILE: maps_text(values)}


def _join(tiled: TiledMap, others: Sequence[Mapping[str, Any]]) -> None:
    """Lead from the map's first node to another map's, where no exit leads from one to the other: nobody could go."""
    own = {node["id"] for node in tiled.values["nodes"]}
    leads_in = any(way["to"] in own for one in others for way in one.get("exits", ()))
    if others and own and not leads_in and not tiled.values.get("exits"):
        here, there = tiled.values["nodes"][0]["id"], others[0]["nodes"][0]["id"]
        tiled.values["exits"] = [{"from": here, "to": there, "minutes": 1}]
        tiled.note((), "joined", here=here, there=there)


def maps_text(values: Mapping[str, Any]) -> str:
    """maps.json as an author would write it: each node, edge, facility and post on a line."""
    maps = ",\n".join(map(_map_text, values["maps"]))
    head = "".join(f"  {_json(name)}: {_json(value)},\n" for name, value in values.items() if name != "maps")
    return f'{{\n{head}  "maps": [\n{maps}\n  ]\n}}\n'


def _map_text(area: Mapping[str, Any]) -> str:
    return "    {\n" + ",\n".join(f"      {_json(name)}: {_value_text(one)}" for name, one in area.items()) + "\n    }"


def _value_text(value: Any) -> str:
    """A list has a line for each of its entries."""
    is_list = isinstance(value, list) and value
    return "[\n" + ",\n".join(f"        {_json(one)}" for one in value) + "\n      ]" if is_list else _json(value)


_json = partial(json.dumps, ensure_ascii=False)
