"""Owns one world as this process has it: an inbox, whose messages are handled one after the other. Between them the
world lives on to where it was told to go.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.exc import OperationalError
from sqlmodel import Session

from service.errors import BudgetExhausted, ClockHeld, KataribeError, RunInterrupted, WorldMoves
from service.locales import Phrase
from service.memory.mind import due_reflections
from service.people.commitments import commitments_by_person
from service.people.worlds import WorldView
from service.runtime.npc_initiative import LOOK_MINUTES, listening, next_look, open_talks
from service.runtime.pace import ExactRun, OpenCalls, RealtimeRun
from service.runtime.tasks import cancel
from service.runtime.world_clock import (
    RunningClock,
    cancel_orders,
    clock_and_target,
    let_stand,
    order_ticks,
    order_until,
    own,
    require_standing,
    want,
)
from service.runtime.world_run import WorldDependencies
from service.runtime.world_session import WorldSession, let_go, load, moves, refresh, save
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
"""How often a replica looks whether another has let the world stand, or has changed it."""
WANTED_SECONDS = 1.0
"""How long it lets the world stand for another that has asked for it and does nothing more."""
LONGEST_REST_SECONDS = 10.0
"""After many failures it is tried that often to move the world."""


class LivedAhead(Exception):
    """Some have lived ahead of the clock: the world can be changed when all have come to `reached`."""

    def __init__(self, reached: WorldTime) -> None:
        self.reached = reached
        super().__init__(f"some have lived until {iso(reached)}")


@dataclass(frozen=True, kw_only=True)
class _Message:
    """What is to be done while the world stands. `answer` None: nobody waits for it, as for the clock's. `halts`: a run
    need not come to where everybody stands.
    """

    do: Callable[[], Awaitable[Any]]
    answer: asyncio.Future[Any] | None
    halts: bool


class WorldActor:
    """One world."""

    def __init__(self, world_id: str, deps: WorldDependencies, holder_id: str, *, patience_seconds: float) -> None:
        """It is owned as `holder_id`. Messages wait for a run for `patience_seconds` at most."""
        self.world_id = world_id
        self.run: ExactRun | None = None
        """The run it is on, at pace exact; None: it stands."""
        self.calls = OpenCalls()
        self.looks = True
        """Whether a run begins by reading what came from outside, and by letting people speak to players; a replay sets
        it to False and does both when its log says so.
        """
        self.clock: RunningClock | None = None
        """Of the time that passes for it; None: its clock does not run here."""
        self.rests_until = 0.0
        """When it may be tried again to move it by itself, by the loop's clock."""
        self._deps = deps
        self._database = deps.conversation.database
        self._worlds = deps.conversation.worlds
        self._holder_id = holder_id
        self._patience_seconds = patience_seconds
        self._inbox = deque[_Message]()
        self._arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._filling: asyncio.Task[None] | None = None
        self._session: WorldSession | None = None
        self._run_began = 0.0  # by the loop's clock
        self._failures = 0
        self._ahead: WorldTime | None = None
        """Messages wait until all have come there, where some are; None: they do not."""
        self._is_told = False
        self._is_message_missed = False

    @property
    def is_idle(self) -> bool:
        """It handles no message, and is not on its way."""
        return self._task is None or self._task.done()

    @property
    def is_free(self) -> bool:
        """Nothing is under way: it can be read from the store again."""
        return self.is_idle and not self.calls and not self.calls.thoughts

    def go(self) -> asyncio.Task[None]:
        """Set it moving towards where it was told to go; the task ends when it stands and its inbox is empty."""
        self._is_told = True
        return self._wake()

    async def live(self) -> None:
        """As `go`; what stops it on the way is raised, and nobody tries again."""
        self._is_told = True
        await self._work()

    def tell(self, do: Callable[[], Awaitable[Any]]) -> None:
        """Do it when the world stands; where it fails, whoever looks after the world tries again."""
        self._inbox.append(_Message(do=do, answer=None, halts=False))
        self._wake()

    async def ask(self, do: Callable[[], Awaitable[T]], *, halts: bool = False) -> T:
        """Do it when the world stands: at the next minute that nobody has come to, or with `halts` at the last that is
        settled. Other messages are waited for as long as they take.

        Raises:
            WorldMoves: it does not come soon to where everybody stands.
            RunInterrupted: the store failed on the way there.
        """
        loop = asyncio.get_running_loop()
        sent = loop.time()
        answer: asyncio.Future[T] = loop.create_future()
        self._inbox.append(_Message(do=do, answer=answer, halts=halts))
        self._arrived.set()
        if self.run is not None:
            self._draw_in(self.run)
        self._wake()
        try:
            while not (halts or answer.done()):
                latest = max(sent, loop.time() if self.run is None else self._run_began) + self._patience_seconds
                if latest <= loop.time():
                    self._is_message_missed = True
                    raise await self._database.read(lambda s: moves(s.get_one(WorldRow, self.world_id)))
                await asyncio.wait({answer}, timeout=latest - loop.time())
            return await answer
        finally:
            answer.cancel()

    async def stop(self) -> None:
        """Let go of everything; what is committed stays, and who waits is told that this process stops."""
        await cancel(task for task in (self._task, self._filling) if task is not None)
        while self._inbox:
            if (answer := self._inbox.popleft().answer) is not None:
                answer.cancel()
        await self.calls.keep()

    async def halt(self) -> None:
        """End the run, and cancel its model calls. The world's row says whether it goes on."""
        await self.ask(self.drop_calls, halts=True)

    async def change(self, work: Callable[[Session, WorldSession], T], *, keeps_decisions: bool = False) -> T:
        """Do the work in one transaction with the world's living state. `keeps_decisions`: what is asked stays asked.

        Raises:
            WorldMoves: it does not come to stand soon, or another replica moves it and does not let it stand.
            RunInterrupted: as `ask`.
        """

        async def do() -> T:
            answer = await self._change(work)
            if not keeps_decisions:
                await self.calls.drop_decisions()
            return answer

        return await self._when_open(lambda: self.ask(do), want)

    async def rewrite(self, work: Callable[[Session], T]) -> T:
        """Let `work` write other rows of the world; a run it is on ends, also where another replica is on it.

        Raises:
            WorldMoves: as `change`.
        """

        def written(session: Session) -> T:
            row = session.get(WorldRow, self.world_id, with_for_update=True)
            if row is not None:
                require_standing(session, row, self._holder_id)
            return work(session)

        async def do() -> T:
            self.clock = self._session = None
            await self.drop_calls()
            return await self._database.write(written)

        return await self._when_open(lambda: self.ask(do, halts=True), cancel_orders)

    async def renew(self, change: Callable[[], Awaitable[None]]) -> None:
        """Let `change` do what it does while the world stands, which is read anew then. Raises: as `ask`."""

        async def do() -> None:
            await change()
            self._session = None
            await self.drop_calls()

        await self.ask(do)

    async def pass_ticks(self, ticks: int, *, by_clock: bool = False) -> None:
        """Let the world live on by `ticks` at once, whatever models are still asked; at the calendar's end it stops.
        `by_clock`: if its clock still runs. To be called while it stands.

        A world that was told to go on and is not there yet goes there first, and waits for its models. It is a world
        that has a row: one that was removed does not begin anew.
        """
        await self._speak_first(at_once=ticks)
        async with self._lived() as found:
            if found is None:
                return
            session, row = found
            self._is_told |= (row.target or 0) > session.world.now
            if not self._is_told and (row.clock_mode == "running" or not by_clock):
                until = WorldTime(min(session.world.now + ticks * session.world.settings.tick_minutes, LATEST))
                await RealtimeRun(self._deps, session, until, self.calls).run()
        if not self._is_told:
            await self._let_stand()

    async def tick(self, ticks: int) -> None:
        """Let the world go on by `ticks`, if its clock still runs here. To be called while it stands."""

        def work(session: Session) -> None:
            row = session.get(WorldRow, self.world_id, with_for_update=True)
            if row is not None and row.clock_mode == "running" and row.runner == self._holder_id:
                order_ticks(session, self._worlds, self.world_id, ticks)

        with suppress(ClockHeld):
            await self._database.write(work)
        self._is_told = True

    def _wake(self) -> asyncio.Task[None]:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
            self._task.add_done_callback(self._ended)
        return self._task

    async def _work(self) -> None:
        while self._inbox or self._is_told:
            if self._inbox and (self._ahead is None or any(message.halts for message in self._inbox)):
                await self._handle(self._inbox.popleft())
            elif self._is_message_missed and not self._inbox:
                self._is_message_missed = False
                await self._wait(asyncio.ensure_future(asyncio.sleep(REST_SECONDS)))
            else:
                self._is_told = False
                await self._live()
                self._ahead = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Log what it failed at; that another replica moves the world is no failure, for callers ask again. Who waits
        until those come who are behind is told of it.
        """
        error = None if task.cancelled() else task.exception()
        if error is not None and self._ahead is not None:
            told = interrupted(self._ahead, error) if isinstance(error, OperationalError) else error
            for message in self._inbox:
                _fail(message, told)
            self._ahead = None
        self._failures = 0 if error is None or isinstance(error, WorldMoves) else self._failures + 1
        rest = min(LONGEST_REST_SECONDS, 2.0**self._failures) if self._failures else 0.0
        self.rests_until = task.get_loop().time() + rest
        if rest:
            is_room = isinstance(error, OperationalError) and is_full(error)
            _log.error(
                "world %s could not be moved on, and rests for %.0f s: %s",
                *(self.world_id, rest, error),
                exc_info=None if is_room else error,
            )
        if self._inbox and not task.cancelled():
            self._wake()

    async def _handle(self, message: _Message) -> None:
        """Do what it says; where some have lived ahead, when they have all come there."""
        if message.answer is None:
            await message.do()
        elif not message.answer.done():
            try:
                answer = await message.do()
            except LivedAhead as ahead:
                self._ahead = ahead.reached
                self._inbox.append(message)
                await self._database.write(partial(order_until, world_id=self.world_id, until=ahead.reached))
            except Exception as exc:  # noqa: BLE001 - it is raised to who waits
                _fail(message, exc)
            except BaseException:
                message.answer.cancel()
                raise
            else:
                if not message.answer.done():
                    message.answer.set_result(answer)

    async def _live(self) -> None:
        """Live to where the world was told to go, or to where those who wait want it to stand.

        What its people recall, and so the story, must not hang on how quickly vectors are made: what was given to them
        has its vectors before the world moves, as far as they can be made.
        """
        vectors = JobKey(self.world_id, JobKind.VECTORS, "")
        self._filling = self._filling or asyncio.create_task(self._deps.jobs.submit(vectors))
        await self._wait(self._filling)
        if not self._filling.done():
            self._is_told = True
            return
        filled, self._filling = self._filling, None
        filled.result()
        await self._speak_first()
        async with self._lived() as found:
            if found is None or (found[1].target or 0) <= found[0].world.now:
                await self.calls.drop_decisions()
                await self._let_stand()
                return
            session, row = found
            target = min(WorldTime(row.target or 0), session.world.day_ends)
            until = await self._database.read(partial(next_look, world=session.world, target=target))
            self.run = run = ExactRun(self._deps, session, until, self.calls)
            self._run_began = asyncio.get_running_loop().time()
            try:
                if self._inbox:
                    self._draw_in(run)
                async with self._deps.beside(run):
                    await run.run()
            finally:
                self.run = None
        self._is_told = True
        if run.row is not None and run.row.is_wanted:
            await self._make_way()

    def _draw_in(self, run: ExactRun) -> None:
        if any(message.halts for message in self._inbox):
            run.halt()
        else:
            run.interrupt()

    async def _wait(self, doing: asyncio.Future[Any]) -> None:
        """Return when it is done, or a message arrives."""
        self._arrived.clear()
        arrived: asyncio.Future[Any] = asyncio.create_task(self._arrived.wait())
        await asyncio.wait({doing, arrived}, return_when=asyncio.FIRST_COMPLETED)
        arrived.cancel()

    async def _make_way(self) -> None:
        """Stand while another replica waits for the world, or changes it. What was asked before is asked anew."""
        await self.calls.drop_decisions()
        for _ in range(round(WANTED_SECONDS / LOOK_SECONDS)):
            if not await self._let_stand():
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _let_stand(self) -> bool:
        return await self._database.write(lambda s: let_stand(s, self._holder_id, self.world_id))

    async def _speak_first(self, *, at_once: int = 0) -> None:
        """Let people speak to players first, if the world leaves a minute that `LOOK_MINUTES` divides: now, or within
        `at_once` ticks of a clock that does not wait. If some have lived ahead, this was done before. Nobody speaks
        where no model could answer: there is none, or the day's budget has no room for a talk.
        """
        room = self._deps.conversation
        if not self.looks or room.models.names()["npc"] == "none":
            return

        def is_time(session: Session) -> bool:
            now, target = clock_and_target(session, self._worlds, self.world_id)
            leaves = now + at_once * self._worlds.settings.tick_minutes
            if now // LOOK_MINUTES == leaves // LOOK_MINUTES and (now % LOOK_MINUTES or target <= now):
                return False
            if not listening(session, self._worlds.open(session, self.world_id)):
                return False
            room.budget.require_talk(session)
            return True

        with suppress(LivedAhead, BudgetExhausted):
            if await self._database.read(is_time):
                await self.open_talks()

    async def open_talks(self) -> None:
        """Let people speak to players first, as the world stands now. To be called while it stands."""
        room = self._deps.conversation
        names, most = room.models.names(), room.settings.max_turns_with_player
        room.stream.tell_people(self.world_id, await self._change(lambda s, one: open_talks(s, one, names, most)))

    async def _when_open(self, attempt: Callable[[], Awaitable[T]], make_way: Callable[..., None]) -> T:
        """What the attempt answers, as soon as no other replica moves the world: that one is told to `make_way`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience_seconds
        while True:
            try:
                return await attempt()
            except WorldMoves:
                if loop.time() > deadline:
                    raise
                await self._database.write(partial(make_way, world_id=self.world_id))
                await asyncio.sleep(LOOK_SECONDS)

    async def _change(self, work: Callable[[Session, WorldSession], T]) -> T:
        """Do the work in one transaction with the world's living state.

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
            require_standing(
                session, row, self._holder_id
            )  # the row is locked: for one transaction it need not be owned
            changed = self._read(session, self._worlds.as_world(session, row))
            if changed.reached > changed.world.now:
                raise LivedAhead(changed.reached)
            answer = work(session, changed)
            row.is_wanted = False
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

    @asynccontextmanager
    async def _lived(self) -> AsyncIterator[tuple[WorldSession, WorldRow] | None]:
        """The world as it stands, owned by this process, and its row; None: it has none."""

        def owned(session: Session) -> tuple[WorldSession, WorldRow] | None:
            row = own(session, self._holder_id, self.world_id)
            if row is None:
                return None
            world_session = (None if self.looks else self._session) or self._look(session)
            world_session.reflecting = due_reflections(session, self.world_id)
            return world_session, row

        try:
            found = await self._database.write(owned)
            self._session = session = None if found is None else found[0]
            if session is not None:
                await self._deps.end_dropped(session)
                day = session.world.day
            yield found
            if session is not None and session.world.day > day:
                await self._deps.jobs.submit(JobKey(self.world_id, JobKind.SNAPSHOT, ""))
        except BaseException:
            self._session = None  # it may be ahead of the store
            raise

    def _look(self, session: Session) -> WorldSession:
        world = self._worlds.open(session, self.world_id)
        let_go(session, world)
        world_session = self._read(session, world)
        world_session.commitments = commitments_by_person(session, world_session.world)
        log_look(session, self.world_id, world_session.world.now)
        return world_session

    def _read(self, session: Session, world: WorldView) -> WorldSession:
        missing = self._deps.conversation.models_missing
        if self._session is not None and refresh(session, world, self._session, models_missing=missing):
            return self._session
        self._deps.engine.begin_anew(world.id)
        return load(session, self._worlds, world.id, models_missing=missing)

    async def drop_calls(self) -> None:
        """Let go of what is asked of models."""
        if await self.calls.keep():
            await self._database.settle()


def _fail(message: _Message, error: BaseException) -> None:
    if message.answer is not None and not message.answer.done():
        message.answer.set_exception(error)


def interrupted(until: WorldTime, error: OperationalError) -> RunInterrupted:
    """What is told to who waits for a run whose store has failed."""
    reason = Phrase("answers.no_room") if is_full(error) else " ".join(str(error.orig).split())
    return RunInterrupted(until=iso(until), reason=reason)
