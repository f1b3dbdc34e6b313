"""Owns how the living core's values are written down: a person and a talk as JSON that reads back as the same value."""

from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from world.life import Activity, Person, Talk
from world.needs import Levels, Needs

_PERSON = TypeAdapter(Person)
_TALK = TypeAdapter(Talk)


def person_record(person: Person, needs: Needs) -> dict[str, Any]:
    """As it is stored; `needs` says which level is of which need."""
    return {**_PERSON.dump_python(person, mode="json"), "needs": [need.id for need in needs.all]}


def read_person(record: dict[str, Any], needs: Needs) -> Person:
    """What `person_record` wrote. A need that the author has added since begins where it begins for a newcomer."""
    record = dict(record)
    written: list[str] = record.pop("needs")
    person = _PERSON.validate_python(record)
    if written == [need.id for need in needs.all]:
        return person
    return replace(person, past=tuple(_carried_over(activity, written, needs) for activity in person.past))


def talk_record(talk: Talk) -> dict[str, Any]:
    """As it is stored."""
    record: dict[str, Any] = _TALK.dump_python(talk, mode="json")
    return record


def read_talk(record: dict[str, Any]) -> Talk:
    """What `talk_record` wrote."""
    return _TALK.validate_python(record)


def _carried_over(activity: Activity, written: list[str], needs: Needs) -> Activity:
    old = activity.levels
    values, rates = dict(zip(written, old.values, strict=True)), dict(zip(written, old.rates, strict=True))
    levels = Levels(
        since=old.since,
        values=tuple(values.get(need.id, need.start) for need in needs.all),
        rates=tuple(rates.get(need.id, need.drift_per_hour) for need in needs.all),
    )
    return replace(activity, levels=levels)
