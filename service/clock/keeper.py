"""Owns who moves a world and who changes it: one at a time. Ticks move it, commands change it while it stands.

The store says how far a world was told to go; whoever finds it short of that goes on, so a stop in the middle loses
nothing.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sqlmodel import Session

from service.clock.calls import Calls
from service.clock.crew import Crew
from service.clock.drive import Drive
from service.clock.lease import LEASE_SECONDS, abandoned, claim, claim_if_there, drop_all, extend, let_go
from service.clock.living import Living, load, refresh, save
from service.clock.realtime import Passing
from service.errors import Invalid, WorldMoves
from service.store.events import last_event
from service.store.idempotency import Once, once
from service.store.ids import new_id
from service.store.tables import WorldRow
from world.time import LATEST, WorldTime, iso

T = TypeVar("T")

_log = logging.getLogger(__name__)

PATIENCE_SECONDS = 10.0
"""How long a command waits for a world that moves, in machine time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A tick: the world goes from `before` to `after`; what happens has ids above `first`."""

    before: WorldTime
    after: WorldTime
    first: int


@dataclass(kw_only=True)
class _Kept:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    living: Living | None = None
    drive: Drive | None = None
    task: asyncio.Task[None] | None = None
    again: bool = False
    """It was told to go on while it moved."""
    calls: Calls = field(default_factory=Calls)
    """Out while its clock does not wait."""


class Keeper:
    """Keeps the living worlds of this process."""

    def __init__(self, crew: Crew, *, sweep_seconds: float = LEASE_SECONDS / 3) -> None:
        """Every `sweep_seconds` (machine time) it looks for worlds that nobody moves though they are to move."""
        self.crew = crew
        self._sweep_seconds = sweep_seconds
        self._room = crew.room
        self._id = new_id()
        self._worlds: dict[str, _Kept] = {}
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Go on with every world that a former process left short of where it was told to go."""
        if self._room.database.is_sqlite:  # one process: whoever held a lease is gone
            await self._room.database.write(drop_all)
        self._sweeper = asyncio.create_task(self._again())

    async def stop(self) -> None:
        """Let go of everything; what is committed stays, and the next process goes on from there."""
        tasks = [kept.task for kept in self._worlds.values() if kept.task is not None]
        if self._sweeper is not None:
            tasks.append(self._sweeper)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for kept in self._worlds.values():
            await kept.calls.drop()
        await self._room.database.write(lambda s: let_go(s, self._id))

    async def tick(self, world_id: str, ticks: int, request: Once | None = None) -> Step:
        """Tell the world to go on by `ticks`, and set it moving. A replayed request gets its first answer.

        Raises:
            Invalid: the calendar ends before.
            KeyReused.
        """

        def work(session: Session) -> dict[str, Any]:
            return once(session, request, lambda: self._told(session, world_id, ticks))

        told = await self._room.database.write(work)
        self.move(world_id)
        return Step(before=WorldTime(told["before"]), after=WorldTime(told["after"]), first=told["first"])

    def move(self, world_id: str) -> None:
        """Set the world moving towards where it was told to go, if it does not already."""
        kept = self._kept(world_id)
        kept.again = True
        if kept.task is None or kept.task.done():
            kept.task = asyncio.create_task(self._move(world_id, kept))
            kept.task.add_done_callback(_tell_failure)

    async def wait(self, world_id: str, until: WorldTime) -> None:
        """Return when the world has come to `until`.

        Raises:
            Exception: what stopped it on the way.
        """
        while True:
            task = self._kept(world_id).task
            try:
                if task is not None:
                    await asyncio.shield(task)
            except WorldMoves:
                task = None  # another replica moves it
            if await self._room.database.read(lambda s: _clock(s, world_id)) >= until:
                return
            self.move(world_id)
            await asyncio.sleep(0.05 if task is None else 0)

    async def command(self, world_id: str, work: Callable[[Session, Living], T]) -> T:
        """Change a world that stands, in one transaction with its living state.

        Raises:
            WorldMoves: it moves, and does not come to stand soon.
        """
        async with self._standing(world_id) as kept:
            return await self._changed(world_id, kept, work)

    async def remove(self, world_id: str, work: Callable[[Session], T]) -> T:
        """Let `work` take the rows of a world that stands out of the store.

        Raises:
            WorldMoves: it moves, and does not come to stand soon.
        """

        def change(session: Session) -> T:
            claim_if_there(session, self._id, world_id)
            return work(session)

        async with self._standing(world_id) as kept:
            kept.living = None
            await self._let_go_of_calls(kept)
            return await self._room.database.write(change)

    async def let_pass(self, world_id: str, ticks: int) -> None:
        """The world's clock goes on by `ticks` at once, whoever still thinks or speaks; at the calendar's end it stops.

        A world that was told to go on and is not there yet goes there first, and waits for its models. It is a world
        that has a row: one that was removed does not begin anew.
        """
        kept = self._kept(world_id)
        async with kept.lock:
            try:
                kept.living = living = await self._room.database.write(lambda s: self._taken_up(s, world_id, kept))
                if await self._room.database.read(lambda s: _target(s, world_id)) > living.world.now:
                    self.move(world_id)
                    return
                await self.crew.end_dropped(living)
                minutes = ticks * living.world.settings.tick_minutes
                until = WorldTime(min(living.world.now + minutes, LATEST))
                await Passing(self.crew, living, kept.calls, until).run()
                await self._room.database.write(lambda s: let_go(s, self._id, world_id))
            except BaseException:
                kept.living = None  # it may be ahead of the store
                raise

    async def rest(self, world_id: str) -> None:
        """The clock does wait from now on: what is asked and not answered is let go, and will be asked again."""
        kept = self._kept(world_id)
        if not kept.calls.is_empty:
            async with kept.lock:
                await self._let_go_of_calls(kept)

    def drive_of(self, world_id: str) -> Drive | None:
        """The run the world is on; None: it stands."""
        kept = self._worlds.get(world_id)
        return kept.drive if kept is not None else None

    @asynccontextmanager
    async def _standing(self, world_id: str) -> AsyncIterator[_Kept]:
        kept = self._kept(world_id)
        try:
            await asyncio.wait_for(kept.lock.acquire(), PATIENCE_SECONDS)
        except TimeoutError:
            raise await self._moves(world_id) from None
        try:
            yield kept
        finally:
            kept.lock.release()

    async def _changed(self, world_id: str, kept: _Kept, work: Callable[[Session, Living], T]) -> T:
        living: Living | None = None

        def change(session: Session) -> tuple[T, int]:
            nonlocal living
            if living is not None:
                kept.living = None  # a second try: the first has changed it
            self._room.stage.open(session, world_id, lock=True)
            claim(session, self._id, world_id)
            living = self._living(session, world_id, kept)
            answer = work(session, living)
            revision = save(session, living)
            let_go(session, self._id, world_id)
            return answer, revision

        try:
            answer, revision = await self._room.database.write(change)
        except BaseException:
            kept.living = None  # what it changed in memory is not in the store
            raise
        if living is not None:
            living.saved(revision)
        kept.living = living
        return answer

    def _told(self, session: Session, world_id: str, ticks: int) -> dict[str, Any]:
        world = self._room.stage.open(session, world_id, lock=True)
        row = session.get_one(WorldRow, world_id)
        before = max(row.now, row.target or row.now)
        after = before + ticks * world.settings.tick_minutes
        if after > LATEST:
            raise Invalid(field="ticks", reason=f"the calendar ends at {iso(LATEST)}")
        row.target = after
        return {"before": before, "after": after, "first": last_event(session, world_id)}

    async def _move(self, world_id: str, kept: _Kept) -> None:
        async with kept.lock:
            try:
                while True:
                    kept.again = False
                    living = await self._room.database.write(lambda s: self._taken_up(s, world_id, kept))
                    target = await self._room.database.read(lambda s: _target(s, world_id))
                    kept.living = living
                    if target <= living.world.now:
                        if kept.again:
                            continue
                        await self._room.database.write(lambda s: let_go(s, self._id, world_id))
                        return
                    await self.crew.end_dropped(living)
                    await self._let_go_of_calls(kept)
                    kept.drive = Drive(self.crew, living, target)
                    await kept.drive.run()
            except BaseException:
                kept.living = None  # it may be ahead of the store
                raise
            finally:
                kept.drive = None

    def _taken_up(self, session: Session, world_id: str, kept: _Kept) -> Living:
        claim(session, self._id, world_id)
        return self._living(session, world_id, kept)

    def _living(self, session: Session, world_id: str, kept: _Kept) -> Living:
        missing = self._room.models.names()["decision"] == "none"
        if kept.living is not None and refresh(session, self._room.stage, kept.living, models_missing=missing):
            return kept.living
        return load(session, self._room.stage, world_id, models_missing=missing)

    async def _let_go_of_calls(self, kept: _Kept) -> None:
        if not kept.calls.is_empty:
            await kept.calls.drop()
            # SQLite's one writer comes to this when it has done what they had begun.
            await self._room.database.write(_nothing)

    async def _moves(self, world_id: str) -> WorldMoves:
        now, target = await self._room.database.read(lambda s: (_clock(s, world_id), _target(s, world_id)))
        return WorldMoves(now=iso(WorldTime(now)), until=iso(target))

    async def _again(self) -> None:
        while True:
            try:
                await self._sweep()
            except Exception:  # noqa: BLE001 - the sweep is what everything else recovers by
                _log.exception("the sweep failed; it is tried again")
            await asyncio.sleep(self._sweep_seconds)

    async def _sweep(self) -> None:
        """Extend the leases on what moves here, and move what nobody moves: its process died, or its store was away."""
        moving = [i for i, kept in self._worlds.items() if kept.lock.locked()]
        if moving:
            await self._room.database.write(partial(extend, keeper=self._id, world_ids=moving))
        for world_id in await self._room.database.read(partial(abandoned, keeper=self._id)):
            if world_id not in moving:
                self.move(world_id)

    def _kept(self, world_id: str) -> _Kept:
        return self._worlds.setdefault(world_id, _Kept())


def _clock(session: Session, world_id: str) -> int:
    row = session.get(WorldRow, world_id)
    return LATEST if row is None else row.now


def _target(session: Session, world_id: str) -> WorldTime:
    row = session.get(WorldRow, world_id)
    return WorldTime(row.target) if row is not None and row.target is not None else WorldTime(_clock(session, world_id))


def _nothing(_: Session) -> None:
    """A transaction that waits for its turn."""


def _tell_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("a world could not be moved on", exc_info=task.exception())
