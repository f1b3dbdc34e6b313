"""Owns which part of its persona a speaker is told: what bears on the moment. Pure."""

from collections.abc import Collection

from service.content.profile import Profile
from service.conversation.relevance import bearing
from service.memory.recall import within
from service.people.worlds import WorldView

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
