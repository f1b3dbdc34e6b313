"""Owns a person's row in the store: how it decides, what it carries, and which of its days it lives."""

from collections.abc import Iterable

from sqlmodel import Session

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


def hold(session: Session, world_id: str, person_ids: Iterable[str]) -> None:
    """Nobody else writes about these persons until the transaction ends. Held in one order, so that nobody waits
    for somebody who waits for it.
    """
    for person_id in sorted(person_ids):
        person_row(session, world_id, person_id, lock=True)


def night_of(session: Session, world: WorldView, person_id: str) -> int:
    """Which of its days a person lives: a character's nights are counted; who never sleeps has the world's days."""
    if person_id not in world.cast.characters:
        return world.day
    return person_row(session, world.id, person_id).sleeps
