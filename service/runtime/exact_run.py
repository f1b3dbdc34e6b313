"""Owns one run of a living world from its clock to a later time: model calls in flight, bounded, the most lagging
first.

What `world.scheduler` allows to be asked is asked; answers are taken in any order, written in batches, and told when
the clock has passed them. The story is the same as minute by minute (docs/decisions/0007, 0008).
"""

import asyncio
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Any

from service.decision.choose import Chosen
from service.memory.reflections import ReflectionKey
from service.runtime.dependencies import WorldDependencies
from service.runtime.model_calls import Decisions, Question
from service.runtime.reflections import Reflections
from service.runtime.run_window import BATCH, RunWindow
from service.runtime.tasks import cancel
from service.runtime.world_session import WorldSession
from world.causality import Causality
from world.life import State
from world.scheduler import URGENCY, Ask, Call, decision_id
from world.time import WorldTime

AHEAD_MINUTES = 20
"""World minutes that the quickest may live ahead of the slowest. A run that is interrupted has at most so much to catch
up.
"""


class ExactRun:
    """Drives one world; used for one run. Whoever holds the world's lock may use it."""

    def __init__(
        self,
        deps: WorldDependencies,
        world_session: WorldSession,
        until: WorldTime,
        *,
        reflections: Reflections,
        decisions: Decisions | None = None,
        causality: Causality | None = None,
    ) -> None:
        """`decisions` are still being made: a run that was interrupted for a command has asked for them."""
        self.until = until
        self.world_session = world_session
        self._deps = deps
        self._reflections = reflections
        self._decisions = decisions or Decisions()
        self._window = RunWindow(
            deps,
            world_session,
            until,
            horizon=_horizon(world_session, world_session.world.now, until),
            causality=causality,
        )
        self._backlog: list[tuple[WorldTime, int, str, Call]] = []
        self._tasks: dict[asyncio.Task[Callable[[], None]], Call] = {}
        self._made: dict[ReflectionKey, asyncio.Task[None]] = {}
        self._interrupted = asyncio.Event()
        self._is_halted = False

    @property
    def in_flight(self) -> int:
        """Model calls asked and not answered."""
        return len(self._tasks)

    @property
    def settled(self) -> WorldTime:
        """Everything before this minute has happened and is in the log."""
        return self._window.settled

    def interrupt(self) -> None:
        """Go no farther than to the earliest minute that nobody has come to: there the world can be changed. Decisions
        of later minutes stay asked: whoever is asked the same after the change gets the answer.
        """
        self._interrupted.set()

    def halt(self) -> None:
        """End now, at the last minute that is settled: every call is let go. Some may have lived ahead of that
        minute.
        """
        self._is_halted = True
        self._interrupted.set()

    async def run(self) -> None:
        """Return when everything before `until` has happened and is written, or when the run was halted.

        Raises:
            Exception: what a store or a bug raised; the living world is then ahead of the store and must be read anew.
        """
        try:
            await self._decisions.keep(self._open_decisions())
            while not self._is_halted:
                if self._interrupted.is_set():
                    await self._draw_in()
                answered = self._answer_without_models()
                await self._window.write()
                self._is_halted |= self._window.is_called_off
                if self._window.is_wanted:
                    self.interrupt()
                reflecting = self._reflect()
                went_on = self._go_on()
                self._ask_models()
                if self._tasks and answered < BATCH and not self._is_halted:
                    self._take(await self._next_answers())
                elif not self._tasks and not answered and not went_on:
                    if not reflecting or self._is_halted:
                        break
                    await self._next_of(reflecting)
            await self._release(list(self._tasks))
            await self._window.write(last=not self._is_halted)
        finally:
            await self._release(list(self._tasks))

    async def _draw_in(self) -> None:
        """Come to a stop soon. Turns that are being spoken are waited for, for they may be stored at any moment."""
        self._interrupted.clear()
        speaking = [call.time + 1 for call in self._tasks.values() if call.ask is Ask.TURN]
        until = WorldTime(max(self._window.reached, self.settled, *speaking))
        if until >= self.until:
            return
        self.until = until
        void = self._window.retreat(until)
        self._backlog = [entry for entry in self._backlog if entry[-1].id not in void]
        heapify(self._backlog)
        await self._release([task for task, call in self._tasks.items() if call.id in void])

    async def _release(self, tasks: list[asyncio.Task[Callable[[], None]]]) -> None:
        for task in tasks:
            del self._tasks[task]
        await cancel(tasks)

    def _go_on(self) -> bool:
        """The slowest have come on, and so may the quickest; True: they may."""
        horizon = _horizon(self.world_session, self.settled, self.until)
        if horizon <= self._window.ahead.until:
            return False
        self._window.ahead.extend(horizon)
        return True

    async def _next_answers(self) -> set[asyncio.Task[Callable[[], None]]]:
        """The next answers; none where the run is interrupted before they come."""
        await self._next_of(self._tasks)
        return {task for task in self._tasks if task.done()}

    async def _next_of(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Return when one of them is done, or the run is interrupted."""
        interrupted = asyncio.create_task(self._interrupted.wait())
        try:
            await asyncio.wait({*tasks, interrupted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            interrupted.cancel()

    def _reflect(self) -> list[asyncio.Task[None]]:
        """Have people think over what they lived through; answers what has to be made before the run can end. Nobody
        waits for it but who comes to the minute from which it is known.
        """
        reflecting = self.world_session.reflecting
        for key in reflecting.keys() - self._made.keys():
            self._made[key] = self._reflections.submit(key)
        for key in [key for key, task in self._made.items() if task.done()]:
            if not (task := self._made.pop(key)).cancelled():
                task.result()
            reflecting.pop(key, None)
        return [task for key, task in self._made.items() if reflecting[key] <= self.until]

    def _answer_without_models(self) -> int:
        """Everything that needs no model call; what needs one is put into the backlog. Answers how many decided."""
        answered = 0
        while answered < BATCH and (call := self._window.ahead.take()) is not None:
            if self._window.answer(call):
                answered += 1
            else:
                heappush(self._backlog, (call.priority, URGENCY[call.ask], call.id, call))
        return answered

    def _ask_models(self) -> None:
        while self._backlog and len(self._tasks) < self._deps.slots:
            call = heappop(self._backlog)[-1]
            self._tasks[asyncio.create_task(self._ask(call))] = call

    async def _ask(self, call: Call) -> Callable[[], None]:
        """Ask, and give back how the answer is to be taken."""
        if call.ask is Ask.DECISION:
            chosen = await self._decide(call)
            return lambda: self._window.decided(call, chosen)
        at = max(call.time, self._window.begins)  # it is late where the clock did not wait for it before
        spoken = await self._deps.talk_on(self.world_session, call, at)
        return lambda: self._window.talked(call, spoken)

    async def _decide(self, call: Call) -> Chosen:
        world_session, snapshot = self.world_session, self._window.ahead.snapshot(call)
        question = Question(
            snapshot=snapshot,
            agent_state=world_session.agent_state(call.person_id),
            commitments=world_session.commitments.get(call.person_id, ()),
            circumstances=world_session.world.at(call.time).circumstances,
        )
        return await self._decisions.ask(call.id, question, lambda: self._deps.decide(world_session, snapshot))

    def _open_decisions(self) -> set[str]:
        """The ids of the questions of everybody who decides next."""
        people = self.world_session.core.people.values()
        return {decision_id(person.id, person.ready) for person in people if person.state is State.DECIDES}

    def _take(self, done: set[asyncio.Task[Callable[[], None]]]) -> None:
        for task in done:
            del self._tasks[task]
            task.result()()


def _horizon(world_session: WorldSession, settled: WorldTime, until: WorldTime) -> WorldTime:
    return max(settled, world_session.before_known(min(WorldTime(settled + AHEAD_MINUTES), until)))
