"""Owns what a world's row says of its clock and of who has it: how far it is told to go, what time alone brings, why it
is stopped; and which process moves it, and which runs its clock.

Whoever finds a world short of where it was told to go goes on; who waits for it says so.
"""

import time
from dataclasses import dataclass

from sqlalchemy import update
from sqlmodel import Session, col, select

from service.conversation.turn_taking import leave_silent
from service.errors import ClockHeld, Invalid, TickTooLong
from service.locales import Phrase
from service.memory.mind import tell_expired
from service.people.commitments import pass_time
from service.people.worlds import WorldRepository, WorldView
from service.runtime.world_session import how_of, moves
from service.store.event_kinds import ClockStopped, DayBegan, Stopped
from service.store.events import flush_due, last_event, note, schedule_event
from service.store.lease import Lease
from service.store.phase import Phase
from service.store.tables import ConversationRow, PersonRow, WorldRow
from world.time import LATEST, MINUTES_PER_DAY, WorldTime, day_of, iso

LEAP_DAYS = 31

HOLDS_CLOCK = (col(ConversationRow.holds_clock), col(ConversationRow.phase) == Phase.RUNNING)
"""Conversations for which their world's clock stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """The world goes from `before` to `after`; what happens has ids above `first`."""

    before: WorldTime
    after: WorldTime
    first: int


def order_ticks(session: Session, worlds: WorldRepository, world_id: str, ticks: int) -> Tick:
    """The world is to go on by `ticks`; the caller commits.

    Raises:
        ClockHeld: a conversation holds the clock.
        TickTooLong: more is ordered than may be lived at once.
        Invalid: the calendar ends before.
    """
    settings = worlds.open(session, world_id, lock=True).settings
    row = session.get_one(WorldRow, world_id)
    holder = session.exec(select(ConversationRow.id).where(ConversationRow.world_id == world_id, *HOLDS_CLOCK)).first()
    if holder is not None:
        raise ClockHeld(conversation_id=holder)
    before = WorldTime(max(row.now, row.target or row.now))
    after = WorldTime(before + ticks * settings.tick_minutes)
    if after - row.now > settings.max_tick_minutes:
        raise TickTooLong(minutes=after - before, ordered=before - row.now, most=settings.max_tick_minutes)
    if after > LATEST:
        raise Invalid(field="ticks", reason=Phrase("answers.invalid_fields.calendar_ends", latest=iso(LATEST)))
    row.target = after
    return Tick(before=before, after=after, first=last_event(session, world_id))


def order_until(session: Session, world_id: str, until: WorldTime) -> None:
    """The world is to go on to `until` at least; the caller commits."""
    row = session.get_one(WorldRow, world_id, with_for_update=True)
    row.target = max(row.target or 0, until)


def cancel_orders(session: Session, world_id: str) -> None:
    """The world is to go no farther: it stops at the next settled minute. The caller commits."""
    row = session.get(WorldRow, world_id, with_for_update=True)
    if row is not None:
        row.target = None


def clock_and_target(session: Session, worlds: WorldRepository, world_id: str) -> tuple[WorldTime, WorldTime]:
    """The world's clock, and how far it is to go. A world that is not there is at its beginning."""
    row = session.get(WorldRow, world_id)
    if row is None:
        return worlds.start, worlds.start
    return WorldTime(row.now), WorldTime(max(row.now, row.target or 0))


def advance_clock(session: Session, world: WorldView, now: WorldTime) -> None:
    """The clock of `world` goes on to `now`, and everything before it is told; the caller commits."""
    tell_expired(session, world, now)
    pass_time(session, world, now)
    _begin_day(session, world, now)
    flush_due(session, world.id, now)
    leave_silent(session, world.id, now)
    session.get_one(WorldRow, world.id).now = now


def asks_models(session: Session, worlds: WorldRepository, world_id: str) -> bool:
    """Whether anybody in the world decides by model. A world of routines costs nothing."""
    world = worlds.open(session, world_id)
    people = session.exec(select(PersonRow).where(PersonRow.world_id == world_id))
    said = {person.person_id: person.decision for person in people}
    return any(how_of(world, i, said.get(i), models_missing=False) == "model" for i in world.cast.characters)


def stop_for_budget(session: Session, worlds: WorldRepository, world_id: str) -> None:
    """Set the world's running clock to manual, and tell why; the caller commits."""
    world = worlds.open(session, world_id, lock=True)
    row = session.get_one(WorldRow, world_id)
    if row.clock_mode != "running":
        return  # a client has stopped it in the same moment
    reason: Stopped = "budget_exhausted"
    row.clock_mode, row.clock_stopped, row.target = "manual", reason, None
    note(session, world_id, world.now, ClockStopped(reason=reason))


def _begin_day(session: Session, world: WorldView, now: WorldTime) -> None:
    """Schedule the beginning of each world day on the way; of a leap over more than a month, only of the last day."""
    day_starts = world.settings.day_starts_minutes
    days = range(world.day + 1, day_of(now, day_starts=day_starts) + 1)
    for day in days if len(days) <= LEAP_DAYS else days[-1:]:
        began = WorldTime(day * MINUTES_PER_DAY + day_starts)
        schedule_event(session, world.id, began, DayBegan(day=iso(began)[:10]))


WANTED_SECONDS = 1.0
"""For so long whoever moves a world makes way for who said that it waits for it, and has said no more."""

MOVES = Lease(holder=WorldRow.runner)  # type: ignore[arg-type] # a column of the class
"""Which process moves a world."""
RUNS_CLOCK = Lease(holder=WorldRow.clock_runner)  # type: ignore[arg-type]
"""Which process runs its clock."""


def require_open(session: Session, row: WorldRow, holder_id: str) -> None:
    """Raises: WorldMoves: another replica moves it."""
    if row.runner in (None, holder_id):
        return
    is_open = select(WorldRow.id).where(WorldRow.id == row.id, MOVES.is_open_to(session, holder_id))
    if session.exec(is_open).first() is None:
        raise moves(row)


def claim_if_there(session: Session, holder_id: str, world_id: str) -> bool:
    """Hold a world that may have no row: whether it has. Raises: WorldMoves: another replica moves it."""
    row = session.get(WorldRow, world_id, with_for_update=True)
    if row is None:
        return False
    require_open(session, row, holder_id)
    row.runner = holder_id
    return True


def want(session: Session, world_id: str) -> None:
    """Ask the process that moves the world to let go of it soon."""
    until = {WorldRow.wanted_until: time.time() + WANTED_SECONDS}
    session.execute(update(WorldRow).where(col(WorldRow.id) == world_id).values(until))


def is_wanted(row: WorldRow | None) -> bool:
    """Whether another process waits for the world to stand."""
    return row is not None and row.wanted_until > time.time()


def abandoned(session: Session, holder_id: str) -> list[str]:
    """Worlds that have not come to where they were told to go, and that no other living process holds."""
    due = select(WorldRow.id).where(col(WorldRow.target) > col(WorldRow.now), MOVES.is_open_to(session, holder_id))
    return list(session.exec(due.order_by(col(WorldRow.id))))
