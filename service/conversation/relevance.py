"""Owns which of what an author wrote, of a person or of its world, bears on what is talked about: by the rarity of the
words they share, as in a memory. Pure.
"""

import math
from collections.abc import Collection, Sequence
from functools import lru_cache

from service.content.lore import Lore
from service.content.profile import Profile
from service.memory.lexical import query_tokens, says_little, tokens
from service.memory.ranking import FEW, floor
from service.memory.recall import Line, fitting, within
from service.memory.telling import MemoryKind, Told, ref
from service.people.worlds import WorldView


def bearing(query: str, texts: Sequence[str], weights: Sequence[float] = ()) -> list[int]:
    """The places of the texts that bear on the query, best first. `weights`, where they are given, are what the shared
    words of each are worth: 1 unless it matters more or less than others.
    """
    if not texts:
        return []
    rarity = _rarity(texts, [token for token in query_tokens(query) if not says_little(token)])
    least = floor(sum(rarity.values()), len(texts))
    scores = [sum(rarity[token] for token in rarity.keys() & _words(text)) for text in texts]
    if weights:
        scores = [score * weight for score, weight in zip(scores, weights, strict=True)]
    places = sorted(range(len(texts)), key=lambda place: -scores[place])
    return [place for place in places if scores[place] and scores[place] >= least]


def _rarity(texts: Sequence[str], wanted: Sequence[str]) -> dict[str, float]:
    total = max(len(texts), FEW)
    holding = {token: sum(token in _words(text) for text in texts) for token in wanted}
    return {token: math.log1p((total - count + 0.5) / (count + 0.5)) for token, count in holding.items()}


@lru_cache(maxsize=10_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(text))


PERSONA_TOKENS = 60
"""Most tokens of a prompt, by `estimate_tokens`, for what of its persona bears on the moment."""

_USUAL = 5
"""How much something matters of which its author does not say it."""


def told_of_persona(world: WorldView, profile: Profile, query: str, present: Collection[str]) -> list[str]:
    """What each of those present is to the person; then what of its persona bears on the query, best first: the more it
    matters, the sooner.
    """
    others = [
        world.say("persona.relationship", name=world.name_of(line.person), text=line.text)
        for line in profile.persona
        if line.person is not None and line.person in present
    ]
    lines = [line for line in profile.persona if line.person is None]
    found = bearing(query, [line.text for line in lines], [line.weight / _USUAL for line in lines])
    return [*others, *(lines[place].told for place in found)]


def persona_told(world: WorldView, profile: Profile, query: str, present: Collection[str]) -> tuple[str, ...]:
    """As much of it as a prompt has room for."""
    return within(told_of_persona(world, profile, query, present), PERSONA_TOKENS)


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
