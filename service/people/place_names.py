"""Owns which place of the map is meant by a name that was said. Pure."""

import re
import unicodedata
from collections.abc import Iterator

from world.places import WorldMap

_AROUND = re.compile(
    r"^(?:at|in|on|by|to|under|outside|near|behind|beside|inside|before|in front of)\s+|^(?:the|a|an)\s+"
    r"|の?(?:前|下|上|中|裏|横|そば|脇|ところ|とこ|入口|入り口)$"
)
_HERE = frozenset(("here", "righthere", "ここ", "この場所"))


def node_named(world_map: WorldMap, said: str, here: str) -> str | None:
    """The node that is called so, or whose facility is; None: nothing is, or several places are.

    A name that is part of what was said counts, the longest first ("where the Old Pump stands"), and so does what is
    part of one name only ("the pump"). `here` is where it was said ("": at no node).
    """
    wanted = _bare(said)
    if not wanted:
        return None
    if wanted in _HERE:
        return here or None
    names = list(_names(world_map))
    exact = {node_id for name, node_id in names if name == wanted}
    if exact:
        return exact.pop() if len(exact) == 1 else None
    within = {name: node_id for name, node_id in names if len(name) > 1 and name in wanted}
    longest = max(map(len, within), default=0)
    found = {node_id for name, node_id in within.items() if len(name) == longest}
    found = found or {node_id for name, node_id in names if wanted in name}
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
    """Letters and digits in one width and case, without what only says where beside it."""
    plain = unicodedata.normalize("NFKC", text).casefold().strip()
    before = None
    while before != plain:
        before, plain = plain, _AROUND.sub("", plain).strip()
    return re.sub(r"[\W_]+", "", plain)
