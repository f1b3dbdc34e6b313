"""Owns a world that this process holds in memory: one caller at a time runs it or changes it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col

from service.errors import BudgetExhausted, KataribeError, WorldMoves
from service.memory.mind import due_reflections
from service.people.commitments import commitments_by_person
from service.people.worlds import WorldView
from service.runtime.npc_initiative import LOOK_MINUTES, listening, next_look, open_talks
from service.runtime.pace import Calls, Decisions, ExactRun, RealtimeStep
from service.runtime.run_window import WorldDependencies
from service.runtime.world_clock import MOVES, claim_if_there, clock_and_target, is_wanted, require_open
from service.runtime.world_session import WorldSession, load, moves, refresh, save
from service.store.events import log_look
from service.store.jobs import JobKind
from service.store.session import is_full
from service.store.tables import JobKey, WorldRow
from world.time import LATEST, WorldTime, iso

T = TypeVar("T")

_log = logging.getLogger(__name__)

REST_SECONDS = 3.0
"""How long a world stands after a command has waited for it in vain, so that a second try finds it standing."""


LOOK_SECONDS = 0.05
"""How often a replica looks whether another has made way for it."""


class LivedAhead(Exception):
    """Some have lived ahead of the clock: the world can be changed when all have come to `reached`."""

    def __init__(self, reached: WorldTime) -> None:
        self.reached = reached
        super().__init__(f"some have lived until {iso(reached)}")


class HeldWorld:
    """One world. Whoever has its lock may use its session: a run, a step of its clock, or a command."""

    def __init__(
        self,
        world_id: str,
        deps: WorldDependencies,
        holder_id: str,
        *,
        patience_seconds: float,
    ) -> None:
        """It is held as `holder_id`. Commands wait for a run for `patience_seconds` at most."""
        self.world_id = world_id
        self.lock = asyncio.Lock()
        self.task: asyncio.Task[None] | None = None
        """Moves the world to where it was told to go; None: it was never told."""
        self.run: ExactRun | None = None
        """The run it is on; None: it stands."""
        self.calls = Calls()
        """Out while its clock does not wait."""
        self.decisions = Decisions()
        """Out while its clock waits for them."""
        self.looks = True
        """Whether a run begins by reading what came from outside, and by letting people speak to players; a replay sets
        it to False and does both when its log says so.
        """
        self._deps = deps
        self._database = deps.conversation.database
        self._worlds = deps.conversation.worlds
        self._holder_id = holder_id
        self._patience_seconds = patience_seconds
        self._session: WorldSession | None = None
        self._run_began = 0.0  # by the loop's clock
        self._is_told_again = False
        self._waiting_commands = 0
        self._is_command_missed = False

    def move(self) -> asyncio.Task[None]:
        """Set it moving towards where it was told to go, if it does not already; the task ends when it stands."""
        self._is_told_again = True
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._move())
            self.task.add_done_callback(_log_failure)
        return self.task

    def halt_run(self) -> None:
        """The run that it is on ends at the last settled minute."""
        if self.run is not None:
            self.run.halt()

    async def halt(self) -> None:
        """End the run, and cancel its model calls. The world's row says whether it goes on."""
        self.halt_run()
        async with self.lock:
            await self.drop_calls()

    async def wait_for_models(self) -> None:
        """From now on the clock waits for models: open calls are cancelled, and asked again later."""
        if not self.calls.is_empty:
            async with self.lock:
                await self.drop_calls()

    @asynccontextmanager
    async def standing(self, deadline: float) -> AsyncIterator[None]:
        """Within it the world stands and is the caller's alone: at the next minute that nobody has come to.

        Raises:
            WorldMoves: it does not come there soon.
        """
        self._waiting_commands += 1
        try:
            if self.run is not None:
                self.run.interrupt()
            await self._take_lock(deadline)
        except TimeoutError:
            self._is_command_missed = True
            raise await self.why_it_moves() from None
        finally:
            self._waiting_commands -= 1
        try:
            yield
        finally:
            self.lock.release()

    async def why_it_moves(self) -> WorldMoves:
        """The error for a command that has waited in vain."""
        return await self._database.read(lambda s: moves(s.get_one(WorldRow, self.world_id)))

    async def change(self, work: Callable[[Session, WorldSession], T]) -> T:
        """Do the work in one transaction with the world's living state; the world stands.

        Raises:
            LivedAhead: some have lived ahead of the minute at which it stands.
            WorldMoves: another replica moves it.
        """
        changed: WorldSession | None = None

        def transaction(session: Session) -> tuple[T, int]:
            nonlocal changed
            if changed is not None:
                self._session = None  # a second try: the first has changed it
            row = self._worlds.read(session, self.world_id, lock=True)
            require_open(session, row, self._holder_id)  # the row is locked: for one transaction it need not be held
            changed = self._read(session, self._worlds.as_world(session, row))
            if changed.reached > changed.world.now:
                raise LivedAhead(changed.reached)
            answer = work(session, changed)
            if is_wanted(row):
                row.wanted_until = 0.0
            return answer, save(session, changed)

        try:
            answer, revision = await self._database.write(transaction)
        except LivedAhead:
            self._session = changed  # those who live go on knowing what they knew, also in a replay
            raise
        except KataribeError:  # a refusal mostly changes nothing
            self._session = None if changed is None or changed.is_changed else changed
            raise
        except BaseException:
            self._session = None  # what it changed in memory is not in the store
            raise
        if changed is not None:
            changed.saved(revision)
        self._session = changed
        self._deps.engine.begin_anew(self.world_id)
        return answer

    async def pass_ticks(self, ticks: int) -> None:
        """Let the clock go on by `ticks` at once, whatever models are still asked; at the calendar's end it stops.

        A world that was told to go on and is not there yet goes there first, and waits for its models. It is a world
        that has a row: one that was removed does not begin anew.
        """
        await self._open_talks(at_once=ticks)
        async with self._lived() as session:
            if session is None:
                return
            _, target = await self.clock_and_target()
            if target > session.world.now:
                self.move()
                return
            await self._deps.end_dropped(session)
            until = WorldTime(min(session.world.now + ticks * session.world.settings.tick_minutes, LATEST))
            day = session.world.day
            await RealtimeStep(self._deps, session, self.calls, until).run()
            await self._keep_day(session, day)
            await self._let_go()

    async def clock_and_target(self) -> tuple[WorldTime, WorldTime]:
        """The world's clock, and how far it is to go."""
        return await self._database.read(lambda s: clock_and_target(s, self._worlds, self.world_id))

    @property
    def is_idle(self) -> bool:
        """Nothing is under way: it can be read from the store again."""
        moves = self.lock.locked() or not (self.task is None or self.task.done())
        return self.calls.is_empty and self.decisions.is_empty and not moves and not self._waiting_commands

    def forget(self) -> None:
        """Keep nothing of it in memory: it is read anew when it is used next."""
        self._session = None

    async def drop_calls(self) -> None:
        """Let go of what is asked of models. Whoever calls this has the lock."""
        await self.decisions.drop()
        await self._drop_realtime_calls()

    async def _drop_realtime_calls(self) -> None:
        if not self.calls.is_empty:
            await self.calls.drop()
            # SQLite's one writer comes to this when it has done what they had begun.
            await self._database.write(lambda _: None)

    async def _take_lock(self, deadline: float) -> None:
        """Take the lock, waiting for a run until `deadline`, or for the usual patience if it began later. Other holders
        are done soon.

        Raises:
            TimeoutError: the world moves.
        """
        loop = asyncio.get_running_loop()
        taking = asyncio.create_task(self.lock.acquire())
        try:
            while not taking.done():
                latest = max(deadline, (loop.time() if self.run is None else self._run_began) + self._patience_seconds)
                if latest <= loop.time():
                    raise TimeoutError
                await asyncio.wait({taking}, timeout=latest - loop.time())
        except BaseException:
            if not taking.cancel():  # it was taken at the last moment
                self.lock.release()
            raise

    async def _move(self) -> None:
        while await self._live_on():
            await self._make_way()
            if self._is_command_missed and not self._waiting_commands:
                self._is_command_missed = False
                await asyncio.sleep(REST_SECONDS)
        await self.decisions.drop()

    async def _make_way(self) -> None:
        """Stand while another replica waits for the world, or changes it. What was asked before is asked anew."""
        row = await self._row()
        if is_wanted(row):
            await self.decisions.drop()
            await self._let_go()
            while is_wanted(row):
                await asyncio.sleep(LOOK_SECONDS)
                row = await self._row()

    async def _row(self) -> WorldRow | None:
        return await self._database.read(lambda s: s.get(WorldRow, self.world_id))

    async def _live_on(self) -> bool:
        """Live to where the world was told to go, or to where commands want it to stand. False: it stands.

        What its people recall, and so the story, must not hang on how quickly vectors are made: what was given to them
        has its vectors before the world moves, as far as they can be made.
        """
        await self._deps.jobs.submit(JobKey(self.world_id, JobKind.VECTORS, ""))
        await self._open_talks()
        async with self._lived() as session:
            self._is_told_again = False
            _, target = await self.clock_and_target()
            if session is None or target <= session.world.now:
                await self._let_go()
                return self._is_told_again
            await self._deps.end_dropped(session)
            await self._drop_realtime_calls()
            day = session.world.day
            until = await self._database.read(
                partial(next_look, world=session.world, target=min(target, session.world.day_ends))
            )
            self.run = ExactRun(self._deps, session, until, decisions=self.decisions)
            self._run_began = asyncio.get_running_loop().time()
            try:
                if self._waiting_commands:
                    self.run.interrupt()
                await self.run.run()
            finally:
                self.run = None
            await self._keep_day(session, day)
            return True

    async def _open_talks(self, *, at_once: int = 0) -> None:
        """Let people speak to players first, if the world leaves a minute that `LOOK_MINUTES` divides: now, or within
        `at_once` ticks of a clock that does not wait. If some have lived ahead, this was done before. Nobody speaks
        where no model could answer: there is none, or the day's budget has no room for a talk.
        """
        room = self._deps.conversation
        if not self.looks or room.models.names()["npc"] == "none":
            return
        now, target = await self.clock_and_target()
        leaves = WorldTime(now + at_once * self._worlds.settings.tick_minutes)
        if now // LOOK_MINUTES == leaves // LOOK_MINUTES and (now % LOOK_MINUTES or target <= now):
            return
        if not await self._database.read(lambda s: listening(s, self._worlds.open(s, self.world_id))):
            return
        with suppress(LivedAhead, BudgetExhausted):
            await self._database.read(room.budget.require_talk)
            await self.open_talks()

    async def open_talks(self) -> None:
        """Let people speak to players first, as the world stands now. Raises: LivedAhead."""
        room = self._deps.conversation
        names, most = room.models.names(), room.settings.max_turns_with_player
        async with self.lock:
            opened = await self.change(lambda s, one: open_talks(s, one, names, most))
        room.stream.tell_people(self.world_id, opened)

    @asynccontextmanager
    async def _lived(self) -> AsyncIterator[WorldSession | None]:
        """The world as it stands, with its lock, held for the process; None: it has no row."""

        def claimed(session: Session) -> WorldSession | None:
            if not claim_if_there(session, self._holder_id, self.world_id):
                return None
            known = None if self.looks else self._session
            world_session = known or self._look(session)
            world_session.reflecting = due_reflections(session, self.world_id)
            return world_session

        async with self.lock:
            try:
                self._session = await self._database.write(claimed)
                yield self._session
            except BaseException:
                self._session = None  # it may be ahead of the store
                raise

    async def _keep_day(self, session: WorldSession, day_before: int) -> None:
        if session.world.day > day_before:
            await self._deps.jobs.submit(JobKey(self.world_id, JobKind.SNAPSHOT, ""))

    def _look(self, session: Session) -> WorldSession:
        world_session = self._read(session, self._worlds.open(session, self.world_id))
        world_session.commitments = commitments_by_person(session, world_session.world)
        log_look(session, self.world_id, world_session.world.now)
        return world_session

    def _read(self, session: Session, world: WorldView) -> WorldSession:
        missing = self._deps.conversation.models_missing
        if self._session is not None and refresh(session, world, self._session, models_missing=missing):
            return self._session
        self._deps.engine.begin_anew(world.id)
        return load(session, self._worlds, world.id, models_missing=missing)

    async def _let_go(self) -> None:
        mine = (col(WorldRow.runner) == self._holder_id, col(WorldRow.id) == self.world_id)
        await self._database.write(lambda s: MOVES.give_back(s, *mine))


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log why the world could not be moved on; that another replica moves it is no failure, for callers ask again."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, OperationalError) and is_full(error):
        _log.error("a world could not be moved on: %s", error.orig)
    elif error is not None and not isinstance(error, WorldMoves):
        _log.error("a world could not be moved on", exc_info=error)
