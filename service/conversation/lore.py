"""Owns what lore comes into a talk: what a speaker always has in mind, and what the talk brings to its mind. Pure."""

import math
from collections.abc import Collection, Sequence
from functools import lru_cache

from service.content.lore import Lore
from service.memory.lexical import query_tokens, says_little, tokens
from service.memory.ranking import FEW, floor
from service.memory.recall import within
from service.memory.refs import MemoryKind, ref
from service.people.worlds import WorldView

LORE_TOKENS = 80
"""Most tokens of a prompt, by `estimate_tokens`, for lore that is always told: the first of it."""


def known_lore(world: WorldView, person_id: str, *, is_always: bool) -> list[Lore]:
    """What the person knows at the moment of `world`, in the order of the files."""
    if not world.cast.lore:
        return []
    character = world.cast.characters.get(person_id)
    lives = character.home if character else world.map.posts.get(person_id)
    node = world.map.nodes.get(lives) if lives is not None else None
    map_id = node.map_id if node else None
    known = (one for one in world.cast.lore if one.is_always == is_always)
    return [one for one in known if one.is_known(person_id, map_id, world.flags)]


def always_told(world: WorldView, person_id: str) -> tuple[str, ...]:
    """The lore that stands in every prompt of the person."""
    return within((one.text for one in known_lore(world, person_id, is_always=True)), LORE_TOKENS)


def brought_to_mind(world: WorldView, person_id: str, query: str) -> list[str]:
    """The lore that bears on the query, by the rarity of the words they share, as in a memory; best first."""
    known = known_lore(world, person_id, is_always=False)
    rarity = _rarity(known, [token for token in query_tokens(query) if not says_little(token)])
    least = floor(sum(rarity.values()), len(known))
    scores = [(sum(rarity[token] for token in rarity.keys() & _words(one.text)), one.text) for one in known]
    return [text for score, text in sorted(scores, key=lambda one: -one[0]) if score and score >= least]


def lore_told(world: WorldView, told: Collection[str]) -> list[str]:
    """The references to the lore whose texts were told."""
    return [ref(MemoryKind.LORE, one.id) for one in world.cast.lore if one.text in told]


def _rarity(known: Sequence[Lore], wanted: Sequence[str]) -> dict[str, float]:
    total = max(len(known), FEW)
    holding = {token: sum(token in _words(one.text) for one in known) for token in wanted}
    return {token: math.log1p((total - count + 0.5) / (count + 0.5)) for token, count in holding.items()}


@lru_cache(maxsize=10_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(text))
