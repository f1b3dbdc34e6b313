"""Owns what time alone brings: mid-term memories expire, promises fall due, days begin, what was scheduled is told."""

from sqlmodel import Session

from service.memory.mid_term import tell_expired
from service.people.commitments import pass_time
from service.people.worlds import WorldView
from service.store.event_kinds import DayBegan
from service.store.events import flush_due, schedule_event
from service.store.tables import WorldRow
from world.time import MINUTES_PER_DAY, WorldTime, day_of, iso

LEAP_DAYS = 31


def advance_clock(session: Session, world: WorldView, now: WorldTime) -> None:
    """The clock of `world` goes on to `now`, and everything before it is told; the caller commits."""
    tell_expired(session, world, now)
    pass_time(session, world, now)
    _begin_day(session, world, now)
    flush_due(session, world.id, now)
    session.get_one(WorldRow, world.id).now = now


def _begin_day(session: Session, world: WorldView, now: WorldTime) -> None:
    """The world days that began; of a leap over more than a month only the last, not thousands."""
    day_starts = world.settings.day_starts_minutes
    days = range(world.day + 1, day_of(now, day_starts=day_starts) + 1)
    for day in days if len(days) <= LEAP_DAYS else days[-1:]:
        began = WorldTime(day * MINUTES_PER_DAY + day_starts)
        schedule_event(session, world.id, began, DayBegan(day=iso(began)[:10]))
