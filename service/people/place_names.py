"""Owns which place of the map is meant by a name that was said. Pure."""

import re
import unicodedata
from collections.abc import Iterator

from world.places import WorldMap


def node_named(world_map: WorldMap, said: str) -> str | None:
    """The node that is called so, or whose facility is; None: nothing is, or several places are.

    A name that is part of what was said counts, the longest first ("where the Old Pump stands"), and so does the end
    of what was said where it is part of one name only ("the pump").
    """
    wanted = _bare(said)
    if not wanted:
        return None
    names = list(_names(world_map))
    within = {name: node_id for name, node_id in names if len(name) > 1 and name in wanted}
    longest = max(map(len, within), default=0)
    found = {node_id for name, node_id in names if name == wanted}
    found = found or {node_id for name, node_id in within.items() if len(name) == longest}
    words = said.split()
    ends = (_bare("".join(words[first:])) for first in range(len(words)))
    found = found or next(filter(None, ({node for name, node in names if end in name} for end in ends if end)), set())
    return found.pop() if len(found) == 1 else None


def _names(world_map: WorldMap) -> Iterator[tuple[str, str]]:
    """Each place under its name and its id; a facility's place is its first node."""
    for facility in world_map.facilities.values():
        for name in (facility.name, facility.id):
            yield _bare(name), facility.node_ids[0]
    facilities = {_bare(facility.name) for facility in world_map.facilities.values()}
    for node in world_map.nodes.values():
        for name in {node.name, node.id} - {""}:
            if _bare(name) not in facilities:
                yield _bare(name), node.id


def _bare(text: str) -> str:
    """Letters and digits in one width and case."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())
