"""Owns what lore comes into a talk: what a speaker always has in mind, and what the talk brings to its mind. Pure."""

from service.content.lore import Lore
from service.conversation.relevance import bearing
from service.memory.recall import Line, fitting
from service.memory.refs import MemoryKind, ref
from service.memory.telling import Told
from service.people.worlds import WorldView

LORE_TOKENS = 80
"""Most tokens of a prompt, by `estimate_tokens`, for lore that is always told: the first of it."""


def known_lore(world: WorldView, person_id: str, *, is_always: bool) -> list[Lore]:
    """What the person knows at the moment of `world`, in the order of the files."""
    if not world.cast.lore:
        return []
    character = world.cast.characters.get(person_id)
    lives = character.home if character else world.map.npc_nodes.get(person_id)
    node = world.map.nodes.get(lives) if lives is not None else None
    map_id = node.map_id if node else None
    known = (one for one in world.cast.lore if one.is_always == is_always)
    return [one for one in known if one.is_known(person_id, map_id, world.flags)]


def always_told(world: WorldView, person_id: str) -> Told:
    """The lore that stands in every prompt of the person."""
    return fitting(map(_line, known_lore(world, person_id, is_always=True)), LORE_TOKENS)


def brought_to_mind(world: WorldView, person_id: str, query: str) -> list[Line]:
    """The lore that bears on the query, by the rarity of the words they share, as in a memory; best first."""
    known = known_lore(world, person_id, is_always=False)
    return [_line(known[place]) for place in bearing(query, [one.text for one in known])]


def _line(one: Lore) -> Line:
    return Line(one.text, ref(MemoryKind.LORE, one.id))
