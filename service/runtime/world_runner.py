"""Owns who moves a world and who changes it: one at a time. Ticks move it, commands change it while it stands.

The store says how far a world was told to go; whoever finds it short of that goes on, so a stop in the middle loses
nothing.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy.exc import OperationalError
from sqlmodel import Session

from service.errors import Invalid, KataribeError, RunInterrupted, TickTooLong, WorldMoves, WorldStopped
from service.locales import Phrase
from service.people.commitments import agendas
from service.people.worlds import WorldView
from service.runtime.dependencies import WorldDependencies
from service.runtime.exact_run import ExactRun
from service.runtime.model_calls import Calls, Decisions
from service.runtime.realtime import RealtimeStep
from service.runtime.world_lease import (
    LEASE_SECONDS,
    abandoned,
    claim_if_there,
    drop_all,
    extend,
    release,
    require_open,
)
from service.runtime.world_session import WorldSession, load, moves, refresh, save
from service.store.events import last_event
from service.store.idempotency import Once, once
from service.store.ids import new_id
from service.store.tables import WorldRow
from world.time import LATEST, WorldTime, iso

T = TypeVar("T")

_log = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
"""How long a command waits for a world that moves to stand, in machine time."""
REST_SECONDS = 3.0
"""How long a world that moves stands where a command was refused on the way: who tries again then finds it standing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A tick: the world goes from `before` to `after`; what happens has ids above `first`."""

    before: WorldTime
    after: WorldTime
    first: int


MOST_HELD = 64
"""Worlds that stand, held in memory."""


@dataclass(kw_only=True)
class _Kept:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    world_session: WorldSession | None = None
    exact_run: ExactRun | None = None
    moves_since: float = 0.0
    """When `drive` began, by the loop's clock."""
    task: asyncio.Task[None] | None = None
    again: bool = False
    """It was told to go on while it moved."""
    waiting: int = 0
    """Commands that wait for it to stand."""
    is_missed: bool = False
    """A command has waited in vain, and may be tried again."""
    calls: Calls = field(default_factory=Calls)
    """Out while its clock does not wait."""
    decisions: Decisions = field(default_factory=Decisions)
    """Out while its clock waits for them."""

    @property
    def is_idle(self) -> bool:
        """Nothing is under way: it can be read from the store again."""
        moves = self.lock.locked() or not (self.task is None or self.task.done())
        return self.calls.is_empty and self.decisions.is_empty and not moves and not self.waiting


class _Ahead(Exception):
    """Some have lived ahead of the clock: the world can be changed when all have come to `reached`."""

    def __init__(self, reached: WorldTime) -> None:
        self.reached = reached
        super().__init__(f"some have lived until {iso(reached)}")


class WorldRunner:
    """Keeps the living worlds of this process."""

    def __init__(
        self,
        deps: WorldDependencies,
        *,
        sweep_seconds: float = LEASE_SECONDS / 4,
        lease_seconds: float = LEASE_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        most_held: int = MOST_HELD,
    ) -> None:
        """Every `sweep_seconds` (machine time) it looks for worlds that nobody moves though they are to move.

        A world that it moves and no longer looks after may be taken by another after `lease_seconds`. Commands wait for
        a world that moves for `patience_seconds` at most, and for one another as long as that takes.
        Of worlds that stand no more than `most_held` are held in memory, those used last.
        """
        self.deps = deps
        self.id = new_id()
        self.lease_seconds = lease_seconds
        self._sweep_seconds = sweep_seconds
        self._patience_seconds = patience_seconds
        self._most_held = most_held
        self._held: OrderedDict[str, _Kept] = OrderedDict()
        # Who is about to use a world has hold of it here, whatever is let go of meanwhile: there are never two of one.
        self._worlds: WeakValueDictionary[str, _Kept] = WeakValueDictionary()
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Go on with every world that a former process left short of where it was told to go."""
        if self.deps.conversation.database.is_sqlite:  # one process: whoever held a lease is gone
            await self.deps.conversation.database.write(drop_all)
        self._sweeper = asyncio.create_task(self._again())

    async def stop(self) -> None:
        """Let go of everything; what is committed stays, and the next process goes on from there."""
        await self._end()
        await self.deps.conversation.database.write(lambda s: release(s, self.id))

    async def _end(self) -> None:
        tasks = [kept.task for kept in self._worlds.values() if kept.task is not None]
        if self._sweeper is not None:
            tasks.append(self._sweeper)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for kept in self._worlds.values():
            await kept.calls.drop()
            await kept.decisions.drop()

    async def tick(self, world_id: str, ticks: int, request: Once | None = None) -> Step:
        """Tell the world to go on by `ticks`, and set it moving. A replayed request gets its first answer.

        Raises:
            TickTooLong: more is ordered than may be lived at once.
            Invalid: the calendar ends before.
            KeyReused.
        """

        def work(session: Session) -> dict[str, Any]:
            return once(session, request, lambda: self._told(session, world_id, ticks))

        told = await self.deps.conversation.database.write(work)
        self.move(world_id)
        return Step(before=WorldTime(told["before"]), after=WorldTime(told["after"]), first=told["first"])

    async def tick_of_clock(self, world_id: str, ticks: int) -> Step | None:
        """The same for the world's own clock; None: it was stopped meanwhile, or another process runs it.

        Raises:
            TickTooLong, Invalid: as `tick`.
        """

        def work(session: Session) -> dict[str, Any] | None:
            row = session.get(WorldRow, world_id, with_for_update=True)
            if row is None or row.clock_mode != "running" or row.clock_runner != self.id:
                return None
            return self._told(session, world_id, ticks)

        told = await self.deps.conversation.database.write(work)
        if told is None:
            return None
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
            WorldStopped: it was stopped, or removed, before.
            RunInterrupted: the store failed on the way; the world goes on when it is back.
            Exception: what else stopped it on the way.
        """
        while True:
            now, target = await self.deps.conversation.database.read(lambda s: self._clock(s, world_id))
            if now >= until:
                return
            if target < until:
                raise WorldStopped(until=iso(until))
            self.move(world_id)
            task = self._kept(world_id).task
            try:
                if task is not None:
                    await asyncio.shield(task)
            except WorldMoves:
                await asyncio.sleep(0.05)  # another replica moves it
            except OperationalError as exc:
                raise _interrupted(until, exc) from exc

    async def halt(self, world_id: str) -> None:
        """End the run that this process has the world on, at the last settled minute. Whether it goes on, the row
        says.
        """
        kept = self._kept(world_id)
        if kept.exact_run is not None:
            kept.exact_run.halt()
        async with kept.lock:
            await self._release_calls(kept)

    async def command(
        self, world_id: str, work: Callable[[Session, WorldSession], T], *, leaves_minds_alone: bool = False
    ) -> T:
        """Change the world at the next minute at which everybody stands, in one transaction with its living state. A
        world that moves stands there for it, and then goes on; one that was stopped on its way lives on as far as that.

        `leaves_minds_alone`: it changes nothing that a decision of others depends on but what they see. What they are
        asked then stays asked; so it does where the command is refused.

        Raises:
            WorldMoves: it does not come there soon, or another replica moves it.
            RunInterrupted: the store failed on the way there.
        """
        deadline = asyncio.get_running_loop().time() + self._patience_seconds
        run: asyncio.Task[None] | None = None
        while True:
            async with self._standing(world_id, deadline) as kept:
                try:
                    answer = await self._changed(world_id, kept, work)
                except _Ahead as ahead:
                    _require_went(run, ahead.reached)
                    if asyncio.get_running_loop().time() > deadline:
                        raise await self.deps.conversation.database.read(
                            lambda s: moves(s.get_one(WorldRow, world_id))
                        ) from None
                    await self.deps.conversation.database.write(partial(_order, world_id=world_id, until=ahead.reached))
                else:
                    if not leaves_minds_alone:
                        await kept.decisions.drop()
                    return answer
            self.move(world_id)
            run = kept.task

    async def remove(self, world_id: str, work: Callable[[Session], T]) -> T:
        """Let `work` take the world's rows out of the store; a run it is on ends.

        Raises:
            WorldMoves: another replica moves it, and does not let go of it soon.
        """

        def change(session: Session) -> T:
            claim_if_there(session, self.id, world_id, self.lease_seconds)
            return work(session)

        deadline = asyncio.get_running_loop().time() + self._patience_seconds
        while True:
            exact_run = self.drive_of(world_id)
            if exact_run is not None:
                exact_run.halt()
            async with self._standing(world_id, deadline) as kept:
                kept.world_session = None
                await self._release_calls(kept)
                try:
                    removed = await self.deps.conversation.database.write(change)
                    self._let_go(world_id)
                    return removed
                except WorldMoves:
                    if asyncio.get_running_loop().time() > deadline:
                        raise
                    await self.deps.conversation.database.write(partial(call_off, world_id=world_id))
            await asyncio.sleep(0.2)

    async def let_pass(self, world_id: str, ticks: int) -> None:
        """The world's clock goes on by `ticks` at once, whoever still thinks or speaks; at the calendar's end it stops.

        A world that was told to go on and is not there yet goes there first, and waits for its models. It is a world
        that has a row: one that was removed does not begin anew.
        """
        kept = self._kept(world_id)
        async with kept.lock:
            try:
                kept.world_session = world_session = await self.deps.conversation.database.write(
                    lambda s: self._taken_up(s, world_id, kept)
                )
                if world_session is None:
                    return
                if (await self.deps.conversation.database.read(lambda s: self._clock(s, world_id)))[
                    1
                ] > world_session.world.now:
                    self.move(world_id)
                    return
                await self.deps.end_dropped(world_session)
                minutes = ticks * world_session.world.settings.tick_minutes
                until = WorldTime(min(world_session.world.now + minutes, LATEST))
                await RealtimeStep(self.deps, world_session, kept.calls, until).run()
                await self.deps.conversation.database.write(lambda s: release(s, self.id, world_id))
            except BaseException:
                kept.world_session = None  # it may be ahead of the store
                raise

    async def rest(self, world_id: str) -> None:
        """The clock does wait from now on: what is asked and not answered is let go, and will be asked again."""
        kept = self._kept(world_id)
        if not kept.calls.is_empty:
            async with kept.lock:
                await self._release_calls(kept)

    def drive_of(self, world_id: str) -> ExactRun | None:
        """The run the world is on; None: it stands."""
        kept = self._worlds.get(world_id)
        return kept.exact_run if kept is not None else None

    @asynccontextmanager
    async def _standing(self, world_id: str, deadline: float) -> AsyncIterator[_Kept]:
        kept = self._kept(world_id)
        kept.waiting += 1
        try:
            if kept.exact_run is not None:
                kept.exact_run.interrupt()
            await self._take(kept, deadline)
        except TimeoutError:
            kept.is_missed = True
            raise await self.deps.conversation.database.read(lambda s: moves(s.get_one(WorldRow, world_id))) from None
        finally:
            kept.waiting -= 1
        try:
            yield kept
        finally:
            kept.lock.release()

    async def _take(self, kept: _Kept, deadline: float) -> None:
        """Take the world's lock. A run that holds it is waited for until `deadline`, or for as long as patience lasts
        where it began later; whoever else holds it is done soon.

        Raises:
            TimeoutError: the world moves.
        """
        loop = asyncio.get_running_loop()
        taking = asyncio.create_task(kept.lock.acquire())
        try:
            while not taking.done():
                latest = max(
                    deadline, (loop.time() if kept.exact_run is None else kept.moves_since) + self._patience_seconds
                )
                if latest <= loop.time():
                    raise TimeoutError
                await asyncio.wait({taking}, timeout=latest - loop.time())
        except BaseException:
            if not taking.cancel():  # it was taken at the last moment
                kept.lock.release()
            raise

    async def _changed(self, world_id: str, kept: _Kept, work: Callable[[Session, WorldSession], T]) -> T:
        world_session: WorldSession | None = None

        def change(session: Session) -> tuple[T, int]:
            nonlocal world_session
            if world_session is not None:
                kept.world_session = None  # a second try: the first has changed it
            worlds = self.deps.conversation.worlds
            row, notices = worlds.read(session, world_id, lock=True)
            require_open(row, self.id)  # the row is locked: what is done in one transaction needs no lease
            world_session = self._session_of(session, worlds.as_world(row, notices), kept)
            if world_session.reached > world_session.world.now:
                raise _Ahead(world_session.reached)
            answer = work(session, world_session)
            return answer, save(session, world_session)

        try:
            answer, revision = await self.deps.conversation.database.write(change)
        except _Ahead:
            kept.world_session = world_session
            raise
        except KataribeError:
            kept.world_session = (
                None if world_session is None or world_session.is_changed else world_session
            )  # a refusal mostly changes nothing
            raise
        except BaseException:
            kept.world_session = None  # what it changed in memory is not in the store
            raise
        if world_session is not None:
            world_session.saved(revision)
        kept.world_session = world_session
        self.deps.engine.begin_anew(world_id)
        return answer

    def _told(self, session: Session, world_id: str, ticks: int) -> dict[str, Any]:
        settings = self.deps.conversation.worlds.open(session, world_id, lock=True).settings
        row = session.get_one(WorldRow, world_id)
        before = max(row.now, row.target or row.now)
        after = before + ticks * settings.tick_minutes
        if after - row.now > settings.max_tick_minutes:
            raise TickTooLong(minutes=after - before, ordered=before - row.now, most=settings.max_tick_minutes)
        if after > LATEST:
            raise Invalid(field="ticks", reason=Phrase("answers.invalid_fields.calendar_ends", latest=iso(LATEST)))
        row.target = after
        return {"before": before, "after": after, "first": last_event(session, world_id)}

    async def _move(self, world_id: str, kept: _Kept) -> None:
        while await self._run(world_id, kept):
            if kept.is_missed and not kept.waiting:
                kept.is_missed = False
                await asyncio.sleep(REST_SECONDS)
        await kept.decisions.drop()

    async def _run(self, world_id: str, kept: _Kept) -> bool:
        """Live on to where the world was told to go, or to where commands want it to stand. False: it stands."""
        async with kept.lock:
            try:
                kept.again = False
                world_session = await self.deps.conversation.database.write(lambda s: self._taken_up(s, world_id, kept))
                kept.world_session = world_session
                _, target = await self.deps.conversation.database.read(lambda s: self._clock(s, world_id))
                if world_session is None or target <= world_session.world.now:
                    await self.deps.conversation.database.write(lambda s: release(s, self.id, world_id))
                    return kept.again
                await self.deps.end_dropped(world_session)
                await self._drop(kept.calls)
                kept.exact_run = ExactRun(self.deps, world_session, target, decisions=kept.decisions)
                kept.moves_since = asyncio.get_running_loop().time()
                if kept.waiting:
                    kept.exact_run.interrupt()
                await kept.exact_run.run()
                return True
            except BaseException:
                kept.world_session = None  # it may be ahead of the store
                raise
            finally:
                kept.exact_run = None

    def _taken_up(self, session: Session, world_id: str, kept: _Kept) -> WorldSession | None:
        if not claim_if_there(session, self.id, world_id, self.lease_seconds):
            return None
        world_session = self._session_of(session, self.deps.conversation.worlds.open(session, world_id), kept)
        world_session.agendas = agendas(session, world_session.world)
        return world_session

    def _session_of(self, session: Session, world: WorldView, kept: _Kept) -> WorldSession:
        missing = self.deps.conversation.models.names()["decision"] == "none"
        if kept.world_session is not None and refresh(session, world, kept.world_session, models_missing=missing):
            return kept.world_session
        self.deps.engine.begin_anew(world.id)
        return load(session, self.deps.conversation.worlds, world.id, models_missing=missing)

    async def _release_calls(self, kept: _Kept) -> None:
        await kept.decisions.drop()
        await self._drop(kept.calls)

    async def _drop(self, calls: Calls) -> None:
        if not calls.is_empty:
            await calls.drop()
            # SQLite's one writer comes to this when it has done what they had begun.
            await self.deps.conversation.database.write(_nothing)

    async def _again(self) -> None:
        while True:
            try:
                await self._sweep()
            except Exception:  # noqa: BLE001 - the sweep is what everything else recovers by
                _log.exception("the sweep failed; it is tried again")
            await asyncio.sleep(self._sweep_seconds)

    async def _sweep(self) -> None:
        """Extend the leases on what moves here, halt what was called off elsewhere, and move what nobody moves: its
        process died, or its store was away.
        """
        moving = [i for i, kept in self._worlds.items() if kept.lock.locked()]
        if moving:
            await self.deps.conversation.database.write(
                partial(extend, holder_id=self.id, world_ids=moving, seconds=self.lease_seconds)
            )
        for world_id in moving:
            _, target = await self.deps.conversation.database.read(partial(self._clock, world_id=world_id))
            exact_run = self.drive_of(world_id)
            if exact_run is not None and target < exact_run.until:
                exact_run.halt()
        for world_id in await self.deps.conversation.database.read(partial(abandoned, holder_id=self.id)):
            if world_id not in moving:
                self.move(world_id)

    def _clock(self, session: Session, world_id: str) -> tuple[WorldTime, WorldTime]:
        """The world's clock, and how far it was told to go. A world that is not there is at its beginning."""
        row = session.get(WorldRow, world_id)
        if row is None:
            return self.deps.conversation.worlds.start, self.deps.conversation.worlds.start
        return WorldTime(row.now), WorldTime(max(row.now, row.target or 0))

    def _kept(self, world_id: str) -> _Kept:
        kept = self._worlds.setdefault(world_id, _Kept())
        self._held[world_id] = kept
        self._held.move_to_end(world_id)
        if len(self._held) > self._most_held:
            idle = (i for i, one in self._held.items() if one.is_idle and one is not kept)
            self._let_go(next(idle, None))
        return kept

    def _let_go(self, world_id: str | None) -> None:
        """Hold the world in memory no longer: whoever uses it next reads it from the store."""
        kept = self._held.pop(world_id, None) if world_id is not None else None
        if kept is not None:
            kept.world_session = None


def call_off(session: Session, world_id: str) -> None:
    """The world is not to go on to where it was told to go; who moves it stops at the next settled minute."""
    row = session.get(WorldRow, world_id, with_for_update=True)
    if row is not None:
        row.target = None


def _order(session: Session, world_id: str, until: WorldTime) -> None:
    row = session.get_one(WorldRow, world_id, with_for_update=True)
    row.target = max(row.target or 0, until)


def _require_went(run: asyncio.Task[None] | None, until: WorldTime) -> None:
    """Raises: RunInterrupted: the store failed while the world was to go on to `until`."""
    failed = run.exception() if run is not None and run.done() and not run.cancelled() else None
    if isinstance(failed, OperationalError):
        raise _interrupted(until, failed) from failed


def _interrupted(until: WorldTime, error: OperationalError) -> RunInterrupted:
    return RunInterrupted(until=iso(until), reason=" ".join(str(error.orig).split()))


def _nothing(_: Session) -> None:
    """A transaction that waits for its turn."""


def _tell_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("a world could not be moved on", exc_info=task.exception())
