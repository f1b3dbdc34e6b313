"""Owns the step of world time: the clock moves, walkers arrive, mid-term memories expire."""

from dataclasses import dataclass

from sqlalchemy import delete, func
from sqlmodel import Session, col, select

from service.cast.stage import Stage, World
from service.errors import Invalid
from service.store.events import note
from service.store.tables import EventRow, MidTermRow, MovementRow, WorldRow
from world.time import LATEST, MINUTES_PER_DAY, WorldTime, day_of, iso


@dataclass(frozen=True, kw_only=True)
class Advance:
    """What a step of time brought: the events are in order of world time."""

    before: WorldTime
    after: WorldTime
    events: tuple[EventRow, ...]


def advance(session: Session, stage: Stage, world_id: str, ticks: int) -> Advance:
    """Move the world's clock by `ticks`; the caller commits.

    Raises:
        Invalid: the calendar ends before.
    """
    world = stage.open(session, world_id, lock=True)
    after = WorldTime(world.now + ticks * world.settings.tick_minutes)
    if after > LATEST:
        raise Invalid(field="ticks", reason=f"the calendar ends at {iso(LATEST)}")
    row = session.get_one(WorldRow, world.id)
    row.now = after
    first = _last_event(session, world_id)
    happened = [
        *_arrivals(session, world, after),
        *_expired(session, world, after),
        *_days(world, after),
    ]
    for at, kind, person_id, data in sorted(happened, key=lambda event: (event[0], event[1], event[2] or "")):
        note(session, world.id, at, kind, person_id, **data)
    session.flush()
    query = select(EventRow).where(EventRow.world_id == world.id, col(EventRow.id) > first)
    events = session.exec(query.order_by(col(EventRow.id)))
    return Advance(before=world.now, after=after, events=tuple(events))


_Happening = tuple[WorldTime, str, str | None, dict[str, object]]


def _arrivals(session: Session, world: World, after: WorldTime) -> list[_Happening]:
    """Walks that end in the step; only a character's newest movement is still walked."""
    newest = select(func.max(MovementRow.id)).where(MovementRow.world_id == world.id).group_by(MovementRow.character_id)
    rows = session.exec(select(MovementRow).where(col(MovementRow.id).in_(newest)))
    return [
        (WorldTime(row.times[-1]), "arrived", row.character_id, {"node_id": row.path[-1]})
        for row in rows
        if len(row.path) > 1 and world.now < row.times[-1] <= after
    ]


def _expired(session: Session, world: World, after: WorldTime) -> list[_Happening]:
    """Mid-term memories whose time is up; they are removed, the event tells what they were."""
    gone = (col(MidTermRow.world_id) == world.id, col(MidTermRow.expires_at) <= after)
    rows = session.exec(select(MidTermRow).where(*gone)).all()
    session.execute(delete(MidTermRow).where(*gone))
    return [
        (
            WorldTime(row.expires_at),
            "memory_expired",
            row.character_id,
            {"content": row.content, "importance": row.importance},
        )
        for row in rows
    ]


def _days(world: World, after: WorldTime) -> list[_Happening]:
    """The last world day that began in the step, if any; a leap over years is one event, not thousands."""
    day = day_of(after, day_starts=world.settings.day_starts_minutes)
    if day == world.day:
        return []
    began = WorldTime(day * MINUTES_PER_DAY + world.settings.day_starts_minutes)
    return [(began, "day_began", None, {"day": iso(began)[:10]})]


def _last_event(session: Session, world_id: str) -> int:
    return session.exec(select(func.max(EventRow.id)).where(EventRow.world_id == world_id)).one() or 0
