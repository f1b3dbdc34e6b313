"""Owns which part of its persona a speaker is told: what bears on the moment. Pure."""

from service.content.profile import Profile
from service.conversation.relevance import bearing
from service.memory.recall import within
from service.people.worlds import WorldView

PERSONA_TOKENS = 60
"""Most tokens of a prompt, by `estimate_tokens`, for what of its persona bears on the moment."""

_USUAL = 5
"""How much something matters of which its author does not say it."""


def told_of_persona(world: WorldView, profile: Profile, query: str, partner_id: str) -> list[str]:
    """What the person's partner is to it; then what of its persona bears on the query, best first: the more it matters,
    the sooner.
    """
    partner = [
        world.say("persona.relationship", name=world.name_of(partner_id), text=line.text)
        for line in profile.persona
        if line.person == partner_id
    ]
    lines = [line for line in profile.persona if line.person is None]
    found = bearing(query, [line.text for line in lines], [line.weight / _USUAL for line in lines])
    return [*partner, *(lines[place].told for place in found)]


def persona_told(world: WorldView, profile: Profile, query: str, partner_id: str) -> tuple[str, ...]:
    """As much of it as a prompt has room for."""
    return within(told_of_persona(world, profile, query, partner_id), PERSONA_TOKENS)
