"""Owns a person's row in the store: how it decides, what it carries, and which of its days it lives."""

from collections.abc import Collection

from sqlmodel import Session, col, select

from service.people.worlds import WorldView
from service.store.tables import PersonRow


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
