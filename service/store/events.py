"""Owns the log of what happened in a world."""

from sqlmodel import Session, col, func, select

from service.store.tables import EventRow
from world.time import WorldTime

_LOCK = 7203915
"""Namespace of PostgreSQL's advisory locks on a world's log."""


def note(
    session: Session, world_id: str, at: WorldTime, kind: str, person_id: str | None = None, **data: object
) -> None:
    """Add an event to the log."""
    if session.get_bind().dialect.name == "postgresql":
        # Ids are given before they can be read: whoever commits first must have the smaller one, or a reader that
        # asks for what comes after the last id it saw misses the other.
        session.connection().execute(select(func.pg_advisory_xact_lock(_LOCK, func.hashtext(world_id))))
    session.add(EventRow(world_id=world_id, at=at, kind=kind, person_id=person_id, data=data))


def events_after(
    session: Session, world_id: str, after: int, limit: int, *, kind: str | None = None, person_id: str | None = None
) -> list[EventRow]:
    """Events with an id above `after`, oldest first."""
    query = select(EventRow).where(EventRow.world_id == world_id, col(EventRow.id) > after)
    if kind is not None:
        query = query.where(EventRow.kind == kind)
    if person_id is not None:
        query = query.where(EventRow.person_id == person_id)
    return list(session.exec(query.order_by(col(EventRow.id)).limit(limit)))
