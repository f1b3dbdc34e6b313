"""Owns the running clock: it lets worlds go on by themselves, at a speed of their own, beside the commands of clients.

At pace exact the clock waits for the models, and the story is the same as by ticks. At pace realtime it does not wait.
What the clock does is in the world's row, which every process looks at; the one that holds the clock runs it.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from math import isfinite
from typing import Literal

from apscheduler.job import Job
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from sqlmodel import Session, col, select

from service.errors import ClockHeld, Invalid, WorldStopped
from service.locales import Phrase
from service.runtime.tasks import cancel
from service.runtime.world_clock import (
    HOLDS_CLOCK,
    RUNS_CLOCK,
    asks_models,
    stop_for_budget,
)
from service.runtime.world_runner import WorldRunner
from service.store.idempotency import Once, once
from service.store.tables import ConversationRow, WorldRow
from world.time import WorldTime

ClockMode = Literal["manual", "running"]
ClockPace = Literal["exact", "realtime"]

_log = logging.getLogger(__name__)

SHORTEST_SECONDS = 1.0
"""Between two looks at the clocks that run."""
CATCH_UP_SECONDS = 3.0
"""How late a look may come and still be made up for, beyond the time of a tick: after a machine has slept, worlds do
not leap hours.
"""
LONGEST_REST_SECONDS = 60.0
"""After many failures the clock is tried again that often."""
FASTEST = 100_000.0
"""World minutes a real minute."""


@dataclass(kw_only=True)
class _Clock:
    """The clock of one world. `last` is when it last went on, `rests_until` when it may go on again, both in machine
    time.
    """

    world_id: str
    last: float
    carried: float = 0.0
    """World minutes that have passed and do not make a tick yet."""
    failures: int = 0
    rests_until: float = 0.0
    fire: asyncio.Task[None] | None = None

    def ticks(self, now: float, speed: float, tick_minutes: int, shortest_seconds: float) -> int:
        """How many have become due."""
        passed = min(now - self.last, max(shortest_seconds, 60 * tick_minutes / speed) + CATCH_UP_SECONDS)
        self.last = now
        ticks, self.carried = divmod(self.carried + passed * speed / 60, tick_minutes)
        return int(ticks)


class ForwardTime(tzinfo):
    """UTC that never goes back: `datetime.now` of this zone follows `seconds`, whatever the machine's clock is set to.

    APScheduler plans by dates. By the machine's own, a clock that is set back an hour would hold up every world that
    long. It is for `datetime.now` alone: a date of another zone cannot be brought into this one.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._began = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=seconds())

    def fromutc(self, _: datetime) -> datetime:
        """The date now."""
        return (self._began + timedelta(seconds=self._seconds())).replace(tzinfo=self)

    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _: datetime | None) -> str:
        return "UTC"


class _Every(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """Again and again, so long after the last time. Unlike APScheduler's own interval it stays in the scheduler's
    zone.
    """

    def __init__(self, seconds: float) -> None:
        self._interval = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """See BaseTrigger."""
        return now if previous_fire_time is None else now + self._interval


class ClockScheduler:
    """Runs the clocks that this process holds."""

    def __init__(
        self,
        world_runner: WorldRunner,
        *,
        seconds: Callable[[], float] = time.monotonic,
        shortest_seconds: float = SHORTEST_SECONDS,
    ) -> None:
        """`seconds` is the machine's time, which never goes back; `shortest_seconds` of it pass between two looks."""
        self._world_runner = world_runner
        self._database = world_runner.deps.conversation.database
        self._worlds = world_runner.deps.conversation.worlds
        self._seconds = seconds
        self._shortest_seconds = shortest_seconds
        self._clocks: dict[str, _Clock] = {}
        self._forward = ForwardTime(time.monotonic)
        self._scheduler = AsyncIOScheduler(timezone=self._forward)
        self._job: Job | None = None
        self._looking = asyncio.Lock()
        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # it would tell every look, and every one that is late

    async def start(self) -> None:
        """Go on with the worlds whose clock runs."""
        self._scheduler.start()
        self._job = self._scheduler.add_job(
            self._look_again,
            _Every(self._shortest_seconds),
            next_run_time=datetime.now(self._forward),
            coalesce=True,
            misfire_grace_time=None,
        )

    async def stop(self) -> None:
        """Stop all clocks of this process; another one may run them. A world that is moving is stopped by the world
        runner.
        """
        if self._job is not None:
            self._job.remove()
            self._job = None
            async with self._looking:  # else a look that is under way would take a clock again
                self._scheduler.shutdown(wait=False)
                await asyncio.sleep(0)  # it shuts down on the loop's next round
        fires = [clock.fire for clock in self._clocks.values() if clock.fire is not None]
        self._clocks.clear()
        await cancel(fires)
        await self._database.write(
            lambda s: RUNS_CLOCK.give_back(s, col(WorldRow.clock_runner) == self._world_runner.id)
        )

    async def set(
        self,
        world_id: str,
        *,
        mode: ClockMode | None = None,
        speed: float | None = None,
        pace: ClockPace | None = None,
        request: Once | None = None,
    ) -> None:
        """Let the world's clock run, or stand; None: as it was. A clock that is set to manual stops the world: what was
        ordered and is not lived yet is taken back.

        Raises:
            Invalid: a speed that is none.
            Replayed, KeyReused: as `once`.
        """
        if speed is not None and not (isfinite(speed) and 0 < speed <= FASTEST):
            raise Invalid(field="speed", reason=Phrase("answers.invalid_fields.speed", speed=speed, most=FASTEST))

        def work(session: Session) -> str:
            self._worlds.open(session, world_id, lock=True)
            row = session.get_one(WorldRow, world_id)
            row.clock_mode = mode or row.clock_mode
            row.clock_stopped = None if mode else row.clock_stopped
            row.clock_speed = speed or row.clock_speed
            row.clock_pace = pace or row.clock_pace
            if mode == "manual":
                row.target = None
            return row.clock_pace

        paced = await self._database.write(lambda s: once(s, request, partial(work, s)))
        if mode == "manual":
            await self.forget(world_id)
            await self._world_runner.world(world_id).halt()
        elif paced != "realtime":
            await self._world_runner.world(world_id).wait_for_models()
        if self._job is not None:
            self._job.modify(next_run_time=datetime.now(self._forward))

    def runs(self, world_id: str) -> bool:
        """Whether the world's clock runs in this process."""
        return world_id in self._clocks

    async def forget(self, world_id: str) -> None:
        """This process lets the world's clock be until it looks at its row again."""
        clock = self._clocks.pop(world_id, None)
        if clock is not None and clock.fire is not None:
            await cancel([clock.fire])

    async def _look_again(self) -> None:
        if self._job is None:  # it was due when the clocks were stopped
            return
        try:
            async with self._looking:
                await self._look()
        except Exception:  # noqa: BLE001 - the store is away, or whatever it was: the next look recovers
            _log.exception("the clocks cannot be looked at; it is tried again")

    async def _look(self) -> None:
        rows = {row.id: row for row in await self._database.read(_running) if await self._holds(row)}
        for world_id in self._clocks.keys() - rows.keys():
            await self.forget(world_id)
            await self._world_runner.world(world_id).wait_for_models()
        for row in rows.values():
            if not await self._stop_for_budget(row.id):
                self._let_pass(row)

    async def _holds(self, row: WorldRow) -> bool:
        """Whether this process runs the clock: it holds it, or can take it."""
        runner_id = self._world_runner.id
        if row.clock_runner == runner_id:
            return True
        running = (col(WorldRow.id) == row.id, col(WorldRow.clock_mode) == "running")
        return await self._database.write(lambda s: RUNS_CLOCK.take(s, runner_id, *running)) == 1

    async def _stop_for_budget(self, world_id: str) -> bool:
        """Let the world stand if no model may be asked any more today and somebody there would ask one."""
        spent = self._world_runner.deps.conversation.budget.exhausted is not None
        if not spent or not await self._database.read(lambda s: asks_models(s, self._worlds, world_id)):
            return False
        await self.forget(world_id)
        await self._world_runner.world(world_id).halt()
        await self._database.write(lambda s: stop_for_budget(s, self._worlds, world_id))
        return True

    def _let_pass(self, row: WorldRow) -> None:
        """Let the world live the ticks that became due since the last look, unless it still lives those before."""
        now = self._seconds()
        clock = self._clocks.setdefault(row.id, _Clock(world_id=row.id, last=now))
        still_lives = clock.fire is not None and not clock.fire.done()
        if still_lives or now < clock.rests_until:
            return
        settings, ticks = self._worlds.settings, 0
        if row.target is None or row.target <= row.now:  # else it has stopped on its way, and goes there first
            ticks = clock.ticks(now, row.clock_speed, settings.tick_minutes, self._shortest_seconds)
            ticks = min(ticks, settings.max_tick_minutes // settings.tick_minutes)
            if not ticks:
                return
        clock.fire = asyncio.create_task(self._fire(clock, row, ticks))

    async def _fire(self, clock: _Clock, row: WorldRow, ticks: int) -> None:
        try:
            if ticks and row.clock_pace == "realtime":
                await self._world_runner.world(row.id).pass_ticks(ticks)
            elif not ticks:
                await self._world_runner.wait(row.id, WorldTime(row.target or row.now))
            elif (step := await self._world_runner.tick_of_clock(row.id, ticks)) is not None:
                await self._world_runner.wait(row.id, step.after)
            clock.failures, clock.rests_until = 0, 0.0
        except (WorldStopped, ClockHeld):
            return  # by a client
        except Exception:  # noqa: BLE001 - the clock goes on when the store, or whatever it was, is back
            clock.failures += 1
            rest = min(LONGEST_REST_SECONDS, 2.0**clock.failures)
            clock.rests_until = self._seconds() + rest
            _log.exception("the clock of world %s rests for %.0f s", clock.world_id, rest)


def _running(session: Session) -> list[WorldRow]:
    held = select(ConversationRow.id).where(ConversationRow.world_id == WorldRow.id, *HOLDS_CLOCK)
    query = select(WorldRow).where(WorldRow.clock_mode == "running", ~held.exists())
    return list(session.exec(query.order_by(col(WorldRow.id))))
