"""Owns what is possible for a character, as the API shows it: with names and sentences in the reader's language."""

from dataclasses import replace
from typing import Any

from service.api.life_schemas import OptionOut, PossibilitiesOut, RefusalOut
from service.decision.descriptions import action_name, option_line, why
from service.locales import Language
from service.people.worlds import WorldRepository, WorldView
from service.store.tables import WorldRow
from world.option import Option, Possibilities, Refusal
from world.time import iso


def possibilities_out(
    worlds: WorldRepository, world: WorldView, language: Language, character_id: str, found: Possibilities
) -> PossibilitiesOut:
    """`language`: the reader's, whatever the world's is."""
    told = _in_language(worlds, world, language)
    return PossibilitiesOut(
        character_id=character_id,
        now=iso(world.now),
        language=language,
        options=[_option(told, option) for option in found.options],
        refusals=[_refusal(told, refusal) for refusal in found.refusals],
    )


def _in_language(worlds: WorldRepository, world: WorldView, language: Language) -> WorldView:
    if language == world.language:
        return world
    row = WorldRow(id=world.id, language=language, started_at=world.started_at, now=world.now)
    return replace(worlds.as_world(row), notices=world.notices)


def _option(world: WorldView, option: Option) -> OptionOut:
    return OptionOut(
        **_named(world, option),
        node_id=option.node_id,
        place=world.map.label(option.node_id),
        walk_minutes=option.walk_minutes,
        minutes=option.minutes,
        text=option_line(world, option),
    )


def _refusal(world: WorldView, refusal: Refusal) -> RefusalOut:
    return RefusalOut(
        **_named(world, refusal),
        reason=refusal.reason.value,
        facts=dict(refusal.facts),
        text=why(world, refusal),
    )


def _named(world: WorldView, one: Option | Refusal) -> dict[str, Any]:
    facility = world.map.facilities.get(one.facility_id or "")
    return {
        "action_id": one.action_id,
        "name": action_name(world, one.action_id),
        "facility_id": one.facility_id,
        "facility_name": facility.name if facility else None,
        "target_id": one.target_id,
        "target_name": world.name_of(one.target_id) if one.target_id else None,
    }
