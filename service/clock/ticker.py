"""Owns the running clock: it lets worlds go on by themselves, at a speed of their own, beside the commands of clients.

At pace exact the clock waits for the models, and the story is the same as by ticks. At pace realtime it does not wait.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC
from math import isfinite
from typing import Literal

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlmodel import Session, col, select

from service.clock.keeper import Keeper
from service.errors import Invalid
from service.store.tables import WorldRow
from world.time import WorldTime

Mode = Literal["manual", "running"]
Pace = Literal["exact", "realtime"]

_log = logging.getLogger(__name__)

SHORTEST_SECONDS = 1.0
"""Between two fires."""
CATCH_UP_SECONDS = 3.0
"""What a fire makes up for, beyond the time between two, when it comes late: a machine that slept leaps no hours."""
LONGEST_REST_SECONDS = 60.0
"""After many failures the clock is tried again that often."""
AT_ONCE_MINUTES = 60
"""World minutes after which a fast exact clock stands for a moment, so that commands get their turn."""
FASTEST = 100_000.0
"""World minutes a real minute."""


@dataclass(kw_only=True)
class _Clock:
    """Of one world. `last` is when it last went on, `rests_until` when it may again, both in machine time."""

    world_id: str
    every_seconds: float
    last: float
    carried: float = 0.0
    """World minutes that have passed and are not a tick yet."""
    failures: int = 0
    rests_until: float = 0.0
    fire: asyncio.Task[None] | None = None

    def ticks(self, now: float, speed: float, tick_minutes: int) -> int:
        """How many have become due."""
        passed = min(now - self.last, self.every_seconds + CATCH_UP_SECONDS)
        self.last = now
        ticks, self.carried = divmod(self.carried + passed * speed / 60, tick_minutes)
        return int(ticks)


class Ticker:
    """Runs the clocks of this process's worlds."""

    def __init__(
        self,
        keeper: Keeper,
        *,
        seconds: Callable[[], float] = time.monotonic,
        shortest_seconds: float = SHORTEST_SECONDS,
    ) -> None:
        """`seconds` is the machine's time; `shortest_seconds` of it pass between two fires, or more."""
        self._keeper = keeper
        self._database = keeper.crew.room.database
        self._stage = keeper.crew.room.stage
        self._seconds = seconds
        self._shortest_seconds = shortest_seconds
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._clocks: dict[str, _Clock] = {}
        logging.getLogger("apscheduler").setLevel(logging.WARNING)  # it would tell every fire

    async def start(self) -> None:
        """Go on with the worlds whose clock runs."""
        self._scheduler.start()
        for row in await self._database.read(_running):
            self._run(row)

    async def stop(self) -> None:
        """No clock goes on; a world that is on its way is the keeper's to stop."""
        self._scheduler.shutdown(wait=False)
        fires = [self._forget(world_id) for world_id in list(self._clocks)]
        await _end(fire for fire in fires if fire is not None)
        await asyncio.sleep(0)  # the scheduler shuts down on the loop's next round

    async def set(
        self, world_id: str, *, mode: Mode | None = None, speed: float | None = None, pace: Pace | None = None
    ) -> None:
        """Let the world's clock run, or stand; None: as it was. A clock that is set to manual stops the world: what was
        ordered and is not lived yet is taken back.

        Raises:
            Invalid: a speed that is none.
        """
        if speed is not None and not (isfinite(speed) and 0 < speed <= FASTEST):
            raise Invalid(field="speed", reason=f"{speed} ∉ (0, {FASTEST:g}]")

        def work(session: Session) -> WorldRow:
            self._stage.open(session, world_id, lock=True)
            row = session.get_one(WorldRow, world_id)
            row.clock_mode = mode or row.clock_mode
            row.clock_speed = speed or row.clock_speed
            row.clock_pace = pace or row.clock_pace
            if mode == "manual":
                row.target = None
            return row

        row = await self._database.write(work)
        await self.forget(world_id)
        if mode == "manual":
            await self._keeper.halt(world_id)
        if row.clock_mode == "running":
            self._run(row)
        if row.clock_mode != "running" or row.clock_pace != "realtime":
            await self._keeper.rest(world_id)

    def runs(self, world_id: str) -> bool:
        """Whether the world's clock runs in this process."""
        return world_id in self._clocks

    async def forget(self, world_id: str) -> None:
        """Nobody runs the world's clock in this process, whatever its row says."""
        fire = self._forget(world_id)
        await _end([fire] if fire is not None else [])

    def _run(self, row: WorldRow) -> None:
        tick_seconds = 60 * self._stage.settings.tick_minutes / row.clock_speed
        every = max(self._shortest_seconds, tick_seconds)
        clock = self._clocks[row.id] = _Clock(world_id=row.id, every_seconds=every, last=self._seconds())
        self._scheduler.add_job(
            self._beat,
            IntervalTrigger(seconds=every, timezone=UTC),
            args=[clock],
            id=row.id,
            replace_existing=True,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )

    async def _beat(self, clock: _Clock) -> None:
        """One fire at a time: while a world moves its clock waits."""
        waits = clock.fire is not None and not clock.fire.done()
        if not waits and self._seconds() >= clock.rests_until and self._clocks.get(clock.world_id) is clock:
            clock.fire = asyncio.create_task(self._fire(clock))

    async def _fire(self, clock: _Clock) -> None:
        try:
            await self._go_on(clock)
            clock.failures, clock.rests_until = 0, 0.0
        except Exception:  # noqa: BLE001 - the clock goes on when the store, or whatever it was, is back
            clock.failures += 1
            rest = min(LONGEST_REST_SECONDS, 2.0**clock.failures)
            clock.rests_until = self._seconds() + rest
            _log.exception("the clock of world %s rests for %.0f s", clock.world_id, rest)

    async def _go_on(self, clock: _Clock) -> None:
        world_id = clock.world_id
        row = await self._database.read(lambda s: s.get(WorldRow, world_id))
        if row is None or row.clock_mode != "running":  # removed, or stopped by another process
            self._forget(world_id)
            return
        if row.target is not None and row.target > row.now:  # it has stopped on its way
            self._keeper.move(world_id)
            await self._keeper.wait(world_id, WorldTime(row.target))
            return
        ticks = clock.ticks(self._seconds(), row.clock_speed, self._stage.settings.tick_minutes)
        if not ticks:
            return
        if row.clock_pace == "realtime":
            await self._keeper.let_pass(world_id, ticks)
            return
        for part in _parts(ticks, max(1, AT_ONCE_MINUTES // self._stage.settings.tick_minutes)):
            step = await self._keeper.tick(world_id, part)
            await self._keeper.wait(world_id, step.after)

    def _forget(self, world_id: str) -> asyncio.Task[None] | None:
        """Answers the fire that it is at."""
        if self._scheduler.get_job(world_id) is not None:
            self._scheduler.remove_job(world_id)
        clock = self._clocks.pop(world_id, None)
        return clock.fire if clock is not None else None


def _parts(ticks: int, most: int) -> Iterator[int]:
    for done in range(0, ticks, most):
        yield min(most, ticks - done)


def _running(session: Session) -> list[WorldRow]:
    query = select(WorldRow).where(WorldRow.clock_mode == "running")
    return list(session.exec(query.order_by(col(WorldRow.id))))


async def _end(fires: Iterable[asyncio.Task[None]]) -> None:
    fires = list(fires)
    for fire in fires:
        fire.cancel()
    await asyncio.gather(*fires, return_exceptions=True)
