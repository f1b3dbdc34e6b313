"""Owns the two paces at which a living world comes from its clock to a later time.

At pace exact what `world.scheduler` allows to be asked is asked, bounded, the most lagging first; answers are taken in
any order, written in batches, and told when the clock has passed them. The story is the same as minute by minute
(docs/decisions/0007, 0008).

At pace realtime the world lives on at once, whoever thinks or speaks. Decisions and turns take effect when their
answers arrive. Until then who thinks stands, and nobody can speak to it; a talk goes on in silence. An answer that the
world has overtaken is void: the character is asked again.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any, TypeVar

from service.conversation.engine import TurnOutcome
from service.decision.choose import Chosen
from service.memory.mind import ReflectionKey
from service.runtime.run_window import BATCH, RunWindow, WorldDependencies
from service.runtime.tasks import cancel
from service.runtime.world_session import WorldSession
from service.usage import Usage
from world.actions import GO, HOLD, WAIT, Option
from world.life import LifeState
from world.perception import Snapshot
from world.possible import possible
from world.scheduler import URGENCY, Ask, Call, decision_id
from world.setting import Setting
from world.time import WorldTime

T = TypeVar("T")

AHEAD_MINUTES = 20
"""World minutes that the quickest may live ahead of the slowest. A run that is interrupted has at most so much to catch
up.
"""


@dataclass(kw_only=True)
class Thought:
    """A character that has stood and thought since `since`. `snapshot` is what its model was asked with, or will be.
    `version` is the character's, as long as nothing happens to it. `task` None: its model is not asked yet.
    """

    since: WorldTime
    snapshot: Snapshot
    version: int
    task: asyncio.Task[Chosen] | None = None


@dataclass(kw_only=True)
class Calls:
    """The open calls of one world: thoughts by character id, and talks by the id of the question
    (`world.scheduler.Call.id`), each with the members that its talk had when it was asked. A talk's answer is its
    outcome (None: of a closing).
    """

    thoughts: dict[str, Thought] = field(default_factory=dict)
    talks: dict[str, tuple[tuple[str, ...], asyncio.Task[TurnOutcome | None]]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Nothing is asked, and no answer waits to be taken."""
        return not self.thoughts and not self.talks

    @property
    def in_flight(self) -> int:
        """Calls asked and not answered."""
        return sum(not task.done() for task in self._tasks())

    async def drop(self) -> None:
        """Let go of all of them."""
        tasks = self._tasks()
        self.thoughts.clear()
        self.talks.clear()
        await cancel(tasks)

    def _tasks(self) -> list[asyncio.Task[Any]]:
        thinking = (thought.task for thought in self.thoughts.values() if thought.task is not None)
        return [*thinking, *(task for _, task in self.talks.values())]


class Decisions:
    """The decisions of one world that models think over. They go on while the world stands for a command: a character
    that is asked the same afterwards gets that answer, and nobody pays twice.
    """

    def __init__(self) -> None:
        self._asked: dict[str, tuple[object, asyncio.Task[Chosen]]] = {}

    @property
    def is_empty(self) -> bool:
        """Nothing is asked."""
        return not self._asked

    async def ask(self, call_id: str, question: object, asking: Callable[[], Coroutine[Any, Any, Chosen]]) -> Chosen:
        """The answer: of a call that is out already, if it has the same question (all that the answer depends on), else
        of one that `asking` makes. A caller that is cancelled here does not cancel the call.
        """
        known = self._asked.get(call_id)
        if known is None or known[0] != question:
            if known is not None:
                known[1].cancel()
            known = self._asked[call_id] = question, out(asking())
        try:
            return await asyncio.shield(known[1])
        finally:
            if known[1].done():
                self._asked.pop(call_id, None)

    async def keep(self, call_ids: Collection[str]) -> None:
        """Let go of all but these."""
        await cancel([self._asked.pop(call_id)[1] for call_id in self._asked.keys() - set(call_ids)])

    async def drop(self) -> None:
        """Let go of all of them."""
        await self.keep(())


def out(asking: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Ask in the background. What it raises is raised where the answer is taken, and nowhere if nobody takes it."""
    task = asyncio.create_task(asking)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


class ExactRun(RunWindow):
    """Drives one world; used for one run. Whoever holds the world's lock may use it."""

    def __init__(
        self,
        deps: WorldDependencies,
        world_session: WorldSession,
        until: WorldTime,
        *,
        decisions: Decisions | None = None,
    ) -> None:
        """`decisions` are still being made: a run that was interrupted for a command has asked for them."""
        super().__init__(deps, world_session, until, horizon=_horizon(world_session, world_session.world.now, until))
        self._decisions = decisions or Decisions()
        self._backlog: list[tuple[WorldTime, int, str, Call]] = []
        self._tasks: dict[asyncio.Task[Callable[[], None]], Call] = {}
        self._made: dict[ReflectionKey, asyncio.Task[None]] = {}
        self._interrupted = asyncio.Event()
        self._is_halted = False

    @property
    def in_flight(self) -> int:
        """Model calls asked and not answered."""
        return len(self._tasks)

    def interrupt(self) -> None:
        """Go no farther than to the earliest minute that nobody has come to: there the world can be changed. Decisions
        of later minutes stay asked; a character that is asked the same after the change gets that answer.
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
            people = self.world_session.core.people.values()
            await self._decisions.keep({decision_id(i.id, i.ready) for i in people if i.state is LifeState.DECIDES})
            while not self._is_halted:
                if self._interrupted.is_set():
                    await self._draw_in()
                answered = self._answer_without_models()
                await self.write()
                self._is_halted |= self.is_called_off
                if self.is_wanted:
                    self.interrupt()
                reflecting = self._reflect()
                went_on = self._go_on()
                self._ask_models()
                if self._tasks and answered < BATCH and not self._is_halted:
                    await self._next_of(self._tasks)
                    self._take()
                elif not self._tasks and not answered and not went_on:
                    if not reflecting or self._is_halted:
                        break
                    await self._next_of(reflecting)
            await self._release(list(self._tasks))
            await self.write(last=not self._is_halted)
        finally:
            await self._release(list(self._tasks))

    async def _draw_in(self) -> None:
        """Come to a stop soon. Turns that are being spoken are waited for, for they may be stored at any moment."""
        self._interrupted.clear()
        speaking = [call.time + 1 for call in self._tasks.values() if call.ask is Ask.TURN]
        until = WorldTime(max(self.reached, self.settled, *speaking))
        if until >= self.until:
            return
        void = self.retreat(until)
        self._backlog = [entry for entry in self._backlog if entry[-1].id not in void]
        heapify(self._backlog)
        await self._release([task for task, call in self._tasks.items() if call.id in void])

    async def _release(self, tasks: list[asyncio.Task[Callable[[], None]]]) -> None:
        for task in tasks:
            del self._tasks[task]
        await cancel(tasks)

    def _go_on(self) -> bool:
        """Let the quickest live farther, where the slowest have caught up. Answers whether they may."""
        horizon = _horizon(self.world_session, self.settled, self.until)
        if horizon <= self.ahead.until:
            return False
        self.ahead.extend(horizon)
        return True

    async def _next_of(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Return when one of them is done, or the run is interrupted."""
        interrupted = asyncio.create_task(self._interrupted.wait())
        try:
            await asyncio.wait({*tasks, interrupted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            interrupted.cancel()

    def _reflect(self) -> list[asyncio.Task[None]]:
        """Start the reflections that are due, and answer those that the run waits for before it can end. Nobody else
        waits for one before the minute in which its result counts.
        """
        reflecting = self.world_session.reflecting
        for key in reflecting.keys() - self._made.keys():
            self._made[key] = asyncio.create_task(self._deps.jobs.submit(key.job))
        for key in [key for key, task in self._made.items() if task.done()]:
            if not (task := self._made.pop(key)).cancelled():
                task.result()
            reflecting.pop(key, None)
        return [task for key, task in self._made.items() if reflecting[key] <= self.until]

    def _answer_without_models(self) -> int:
        """Everything that needs no model call; what needs one is put into the backlog. Answers how many decided."""
        answered = 0
        while answered < BATCH and (call := self.ahead.take()) is not None:
            if self.answer(call):
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
            return lambda: self.decided(call, chosen)
        at = max(call.time, self.begins)  # it is late where the clock did not wait for it before
        spoken = await self._deps.talk_on(self.world_session, call, at)
        return lambda: self.talked(call, spoken)

    async def _decide(self, call: Call) -> Chosen:
        world_session, snapshot = self.world_session, self.ahead.snapshot(call)
        question = (
            snapshot,
            world_session.agent_state(call.person_id),
            world_session.commitments.get(call.person_id, ()),
            world_session.world.at(call.time).circumstances,
        )
        return await self._decisions.ask(call.id, question, lambda: self._deps.decide(world_session, snapshot))

    def _take(self) -> None:
        """Take the answers that have arrived."""
        for task in [task for task in self._tasks if task.done()]:
            del self._tasks[task]
            task.result()()


def _horizon(world_session: WorldSession, settled: WorldTime, until: WorldTime) -> WorldTime:
    return max(settled, world_session.before_known(min(WorldTime(settled + AHEAD_MINUTES), until)))


class RealtimeStep(RunWindow):
    """One step from the world's clock to `until`; used once, by the holder of the world's lock.

    Everybody is there in the end: nobody's next moment lies before `until`. So the world can be ticked, or changed,
    at any time between two pieces.
    """

    def __init__(self, deps: WorldDependencies, world_session: WorldSession, calls: Calls, until: WorldTime) -> None:
        super().__init__(deps, world_session, until)
        self._calls = calls
        self._held: dict[str, Thought] = {}
        self._late: list[Call] = []

    async def run(self) -> None:
        """Live to `until`, write it, and ask what there is to be asked.

        Raises:
            Exception: what a store or a bug raised; the living world is then ahead of the store and must be read anew.
        """
        self._release()
        while True:
            if await self._take():
                await self.write()
            elif not self._extend_talk():
                break
        await self.write(last=True)
        for person_id, thought in self._held.items():
            thought.version = self.world_session.core.people[person_id].version
            self._calls.thoughts[person_id] = thought
        await self._drop_before_joined()
        self._ask()

    def _release(self) -> None:
        """Drop the calls for characters to whom something else has happened since they were asked."""
        people, t = self.world_session.core.people, self.world_session.world.now
        for person_id, thought in list(self._calls.thoughts.items()):
            person = people.get(person_id)
            if person is None or person.is_scripted or person.version != thought.version:
                del self._calls.thoughts[person_id]
                self._void(thought, t)

    def _void(self, thought: Thought, t: WorldTime) -> None:
        """Drop its answer; only what it cost is counted."""
        if thought.task is None:
            return
        if thought.task.done() and not thought.task.cancelled() and thought.task.exception() is None:
            self.spend_on(t, thought.task.result())
        elif thought.task.cancel():
            self.spend(t, Usage(calls=1, estimated=True), 1)

    async def _take(self) -> bool:
        """Answer and take what needs no waiting. True: there is so much that it should be written first."""
        for _ in range(BATCH):
            call = self.ahead.take()
            if call is None:
                return False
            if call.ask is not Ask.DECISION:
                self._talk_on(call)
            elif not self.answer(call):
                self._decide(call)
        return True

    def _decide(self, call: Call) -> None:
        """The character does what it has chosen, if it has and still can; else it stands and thinks."""
        snapshot = self.ahead.snapshot(call)
        thought = self._calls.thoughts.get(call.person_id)
        if thought is not None:
            # It still knows what it did before it began to think.
            snapshot = replace(snapshot, ended=thought.snapshot.ended, because=thought.snapshot.because)
        if thought is not None and thought.task is not None and thought.task.done():
            asked, thought.task = thought.task, None
            if self._answered(call, snapshot, asked.result()):
                del self._calls.thoughts[call.person_id]
                return
        if thought is None:
            thought = Thought(since=call.time, snapshot=snapshot, version=0)
        elif thought.task is None:
            thought.snapshot = snapshot
        self._held[call.person_id] = thought
        stands = Option(action_id=HOLD, node_id=snapshot.node_id, minutes=self.until - call.time)
        self.ahead.decided(call, stands)

    def _answered(self, call: Call, snapshot: Snapshot, chosen: Chosen) -> bool:
        option = still_possible(self.world_session.core.setting, snapshot, chosen.option)
        if option is not None:
            self.decided(call, replace(chosen, option=option))
            return True
        self.spend_on(call.time, chosen)
        agent_state, plan = self.world_session.agent_state(call.person_id), chosen.agent_state
        self.world_session.agent_states[call.person_id] = replace(
            agent_state, plan=plan.plan, plan_day=plan.plan_day, revisions=plan.revisions
        )
        return False

    def _talk_on(self, call: Call) -> None:
        """What was said, or remembered, takes effect now, if it has arrived; else it is asked, or waited for."""
        _, task = self._calls.talks.get(call.id, ((), None))
        if task is None or not task.done():
            self._late.append(call)
            return
        del self._calls.talks[call.id]
        self.talked(call, task.result())

    def _extend_talk(self) -> bool:
        """Talks of which a word, or what is remembered, is missing last until the clock; False: there were none."""
        late = [talk for talk in self.world_session.core.talks.values() if not talk.closed and talk.end < self.until]
        for talk in late:
            self.ahead.changed(self.world_session.core.extend_talk(talk.id, self.until))
        return bool(late)

    async def _drop_before_joined(self) -> None:
        """Cancel turns of talks that somebody has joined meanwhile: they are asked anew, with the newcomer in the
        prompt.
        """
        talks = self._calls.talks
        asked = [(call, *talks[call.id]) for call in self._late if call.id in talks]
        joined = [call.id for call, were, task in asked if not task.done() and were != self._members(call)]
        await cancel([talks.pop(call_id)[1] for call_id in joined])

    def _members(self, call: Call) -> tuple[str, ...]:
        return self.world_session.core.talks[call.talk_id or ""].members

    def _ask(self) -> None:
        calls, people = self._calls, self._calls.thoughts
        for call_id in calls.talks.keys() - {call.id for call in self._late}:
            calls.talks.pop(call_id)[1].cancel()  # the author has taken the talk out of the game
        # The most urgent first, then who has waited longest; without a call it is a decision.
        wanted: list[tuple[int, WorldTime, str, Call | None]] = [
            (URGENCY[call.ask], call.time, call.id, call) for call in self._late if call.id not in calls.talks
        ]
        wanted += [(URGENCY[Ask.DECISION], t.since, i, None) for i, t in people.items() if t.task is None]
        wanted.sort(key=itemgetter(0, 1, 2))
        for _, _, asked_id, call in wanted[: max(0, self._deps.slots - calls.in_flight)]:
            if call is None:
                thought = people[asked_id]
                thought.task = out(self._deps.decide(self.world_session, thought.snapshot))
            else:
                calls.talks[asked_id] = self._members(call), out(self._deps.talk_on(self.world_session, call, None))


def still_possible(setting: Setting, snapshot: Snapshot, chosen: Option) -> Option | None:
    """What was chosen a while ago as it can be done by now, from where the character stands; None: not any more."""
    if chosen.action_id == WAIT:
        return chosen
    for option in possible(setting, snapshot, nearest=None).options:
        same = (option.action_id, option.facility_id, option.target_id)
        if same == (chosen.action_id, chosen.facility_id, chosen.target_id) and (
            chosen.action_id != GO or option.node_id == chosen.node_id
        ):
            return option if not chosen.minutes else replace(option, minutes=min(chosen.minutes, option.minutes))
    return None
