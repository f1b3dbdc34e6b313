"""Owns a person as the store has it: its row (how it decides, what it carries, which of its days it lives), its life as
JSON that reads back as the same value, and how it feels: the levels of its needs, as prompts tell them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter
from sqlmodel import Session, col, select

from service.people.worlds import WorldView
from service.store.tables import PersonRow
from world.life import Activity, Person, Talk
from world.needs import Levels, Needs
from world.time import WorldTime


def person_row(session: Session, world_id: str, person_id: str, *, lock: bool = False) -> PersonRow:
    """The person's row; a fresh one where nothing about it has changed yet.

    With `lock` (inside a write) the row is stored, and held until the transaction ends.
    """
    row = session.get(PersonRow, (world_id, person_id), with_for_update=lock or None)
    if row is None:
        row = PersonRow(world_id=world_id, person_id=person_id)
        if lock:
            session.add(row)
            session.flush()
    return row


def person_rows(session: Session, world_id: str, person_ids: Collection[str]) -> dict[str, PersonRow]:
    """The rows of several persons, by their ids; fresh ones where nothing has changed yet."""
    query = select(PersonRow).where(PersonRow.world_id == world_id, col(PersonRow.person_id).in_(person_ids))
    known = {row.person_id: row for row in session.exec(query)}
    return {i: known.get(i) or PersonRow(world_id=world_id, person_id=i) for i in person_ids}


def night_of(world: WorldView, row: PersonRow) -> int:
    """Which of its days a person lives: a character's nights are counted; who never sleeps has the world's days."""
    return row.sleeps if row.person_id in world.cast.characters else world.day


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


@dataclass(frozen=True, kw_only=True, slots=True)
class FeltNeed:
    """A need as the character feels it. `level` is rounded."""

    need_id: str
    name: str
    level: int
    lowest: int
    highest: int
    is_critical: bool
    can_be_critical: bool


def felt_needs(world: WorldView, levels: Mapping[str, float], critical: Collection[str]) -> tuple[FeltNeed, ...]:
    """Every need of the catalogue at those levels (by need id), in the author's order."""
    return tuple(
        FeltNeed(
            need_id=need.id,
            name=need.name or need.id,
            level=round(levels[need.id]),
            lowest=round(need.lowest),
            highest=round(need.highest),
            is_critical=need.id in critical,
            can_be_critical=need.critical is not None,
        )
        for need in world.setting.catalogue.needs.all
    )


def levels_of(world: WorldView, character_id: str, person: Person | None) -> Levels:
    """The levels that hold at the moment of `world`; of who has not lived yet (`person` None), those it begins with.

    Raises:
        NotFound: there is no such character.
    """
    if person is not None:
        return person.during(world.now).levels
    began = WorldTime(world.now - 1)  # as `world.simulation.newcomer` begins a life
    return world.setting.catalogue.needs.first(began, world.cast.character(character_id).needs)
