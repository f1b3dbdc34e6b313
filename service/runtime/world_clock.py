"""Owns what a world's row says of its clock and of who has it: how far it is told to go, what time alone brings, why it
is stopped; and which process owns it.

Whoever finds a world short of where it was told to go goes on; who waits for it says so.
"""

from dataclasses import dataclass

from sqlalchemy import and_, or_, update
from sqlmodel import Session, col, select

from service.conversation.turn_taking import leave_silent
from service.errors import ClockHeld, TickTooLong, refuse
from service.locales import Phrase
from service.memory.mind import tell_expired
from service.people.commitments import pass_time
from service.people.worlds import WorldRepository, WorldView
from service.runtime.world_session import BY_MODEL, how_of, moves
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
    refuse((after > LATEST, "ticks", Phrase("answers.invalid_fields.calendar_ends", latest=iso(LATEST))))
    row.target = after
    return Tick(before=before, after=after, first=last_event(session, world_id))


def order_until(session: Session, world_id: str, until: WorldTime) -> None:
    """The world is to go on to `until` at least; the caller commits."""
    row = session.get_one(WorldRow, world_id, with_for_update=True)
    row.target = max(row.target or 0, until)


def cancel_orders(session: Session, world_id: str) -> None:
    """The world is to go no farther: it stops at the next settled minute. The caller commits."""
    session.execute(update(WorldRow).where(col(WorldRow.id) == world_id).values(target=None))


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
    return any(how_of(world, i, said.get(i), models_missing=False) in BY_MODEL for i in world.cast.characters)


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


CATCH_UP_SECONDS = 3.0
"""How late a look may come and still be made up for, beyond the time of a tick: after a machine has slept, worlds do
not leap hours.
"""


@dataclass(kw_only=True)
class RunningClock:
    """The time that passes for a world. `last` is when it last went on, in machine time."""

    last: float
    carried: float = 0.0
    """World minutes that have passed and do not make a tick yet."""

    def ticks(self, now: float, speed: float, tick_minutes: int, look_seconds: float) -> int:
        """How many have become due, at so many world minutes a real minute."""
        passed = min(now - self.last, max(look_seconds, 60 * tick_minutes / speed) + CATCH_UP_SECONDS)
        self.last = now
        ticks, self.carried = divmod(self.carried + passed * speed / 60, tick_minutes)
        return int(ticks)


OWNS = Lease(holder=WorldRow.runner)  # type: ignore[arg-type] # a column of the class
"""Which process owns a world: it alone moves it and runs its clock, for as long as it lives. A world that stands may be
changed, and taken over, by any.
"""


def require_standing(session: Session, row: WorldRow, holder_id: str) -> None:
    """Raises: WorldMoves: another replica moves it."""
    if row.is_moving and row.runner not in (None, holder_id):
        is_open = select(WorldRow.id).where(WorldRow.id == row.id, OWNS.is_open_to(session, holder_id))
        if session.exec(is_open).first() is None:
            raise moves(row)


def own(session: Session, holder_id: str, world_id: str) -> WorldRow | None:
    """Take over a world, to move it; None: it has no row. Raises: WorldMoves: another replica moves it."""
    row = session.get(WorldRow, world_id, with_for_update=True)
    if row is not None:
        require_standing(session, row, holder_id)
        row.runner, row.is_moving, row.is_wanted = holder_id, True, False
    return row


def let_stand(session: Session, holder_id: str, world_id: str) -> bool:
    """Say that the world stands; answers whether another process waits for that."""
    row = session.get(WorldRow, world_id, with_for_update=True)
    if row is not None and row.runner == holder_id:
        row.is_moving = False
    return row is not None and row.is_wanted


def want(session: Session, world_id: str) -> None:
    """Ask the process that moves the world to let it stand soon."""
    session.execute(update(WorldRow).where(col(WorldRow.id) == world_id).values(is_wanted=True))


def is_called_off(row: WorldRow, until: WorldTime) -> bool:
    """Whether the world is not to go as far as that any more."""
    return row.target is None or row.target < until


def in_charge(session: Session, holder_id: str) -> list[tuple[WorldRow, bool]]:
    """The worlds that are to move, or whose clock runs, and that no other living process owns; and whether it runs."""
    held = select(ConversationRow.id).where(ConversationRow.world_id == WorldRow.id, *HOLDS_CLOCK)
    runs = and_(col(WorldRow.clock_mode) == "running", ~held.exists())
    moves_here = and_(col(WorldRow.runner) == holder_id, col(WorldRow.is_moving))
    is_due = or_(col(WorldRow.target) > col(WorldRow.now), runs, moves_here)
    query = select(WorldRow, runs).where(is_due, OWNS.is_open_to(session, holder_id))
    return [(row, bool(is_running)) for row, is_running in session.exec(query.order_by(col(WorldRow.id)))]
