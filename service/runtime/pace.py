"""Owns the two paces at which a living world comes from its clock to a later time.

At pace exact what `world.scheduler` allows to be asked is asked, bounded, the most lagging first; answers are taken in
any order, written in batches, and told when the clock has passed them. The story is the same as minute by minute
(docs/decisions/0007, 0008).

At pace realtime the world lives on at once, whoever thinks or speaks. Decisions and turns take effect when their
answers arrive. Until then who thinks stands, and nobody can speak to it; a talk goes on in silence. An answer that the
world has overtaken is void: the character is asked again.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from service.decision.choose import Chosen
from service.memory.reflections import ReflectionKey
from service.runtime.carried import Reflections
from service.runtime.model_calls import Calls, Decisions, Thought, out
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
                await self._window.write()
                self._is_halted |= self._window.is_called_off
                if self._window.is_wanted:
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
        question = (
            snapshot,
            world_session.agent_state(call.person_id),
            world_session.commitments.get(call.person_id, ()),
            world_session.world.at(call.time).circumstances,
        )
        return await self._decisions.ask(call.id, question, lambda: self._deps.decide(world_session, snapshot))

    def _take(self) -> None:
        """What has come by now."""
        for task in [task for task in self._tasks if task.done()]:
            del self._tasks[task]
            task.result()()


def _horizon(world_session: WorldSession, settled: WorldTime, until: WorldTime) -> WorldTime:
    return max(settled, world_session.before_known(min(WorldTime(settled + AHEAD_MINUTES), until)))


class RealtimeStep:
    """One step from the world's clock to `until`; used once, by the holder of the world's lock.

    Everybody is there in the end: nobody's next moment lies before `until`. So the world can be ticked, or changed,
    at any time between two pieces.
    """

    def __init__(self, deps: WorldDependencies, world_session: WorldSession, calls: Calls, until: WorldTime) -> None:
        self._deps = deps
        self._world_session = world_session
        self._calls = calls
        self._until = until
        self._window = RunWindow(deps, world_session, until)
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
                await self._window.write()
            elif not self._extend_talk():
                break
        await self._window.write(last=True)
        for person_id, thought in self._held.items():
            thought.version = self._world_session.core.people[person_id].version
            self._calls.thoughts[person_id] = thought
        await self._drop_before_joined()
        self._ask()

    def _release(self) -> None:
        """Void what was asked of somebody to whom something else has happened since."""
        people, t = self._world_session.core.people, self._world_session.world.now
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
            self._window.spend_on(t, thought.task.result())
        elif thought.task.cancel():
            self._window.spend(t, Usage(calls=1, estimated=True), 1)

    async def _take(self) -> bool:
        """Let happen what can happen. Answers True where there is so much that it should be written first."""
        for _ in range(BATCH):
            call = self._window.ahead.take()
            if call is None:
                return False
            if call.ask is not Ask.DECISION:
                self._talk_on(call)
            elif not self._window.answer(call):
                self._decide(call)
        return True

    def _decide(self, call: Call) -> None:
        """The character does what it has chosen, if it has and still can; else it stands and thinks."""
        snapshot = self._window.ahead.snapshot(call)
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
        stands = Option(action_id=HOLD, node_id=snapshot.node_id, minutes=self._until - call.time)
        self._window.ahead.decided(call, stands)

    def _answered(self, call: Call, snapshot: Snapshot, chosen: Chosen) -> bool:
        option = still_possible(self._world_session.core.setting, snapshot, chosen.option)
        if option is not None:
            self._window.decided(call, replace(chosen, option=option))
            return True
        self._window.spend_on(call.time, chosen)
        agent_state, plan = self._world_session.agent_state(call.person_id), chosen.agent_state
        self._world_session.agent_states[call.person_id] = replace(
            agent_state, plan=plan.plan, plan_day=plan.plan_day, revisions=plan.revisions
        )
        return False

    def _talk_on(self, call: Call) -> None:
        """What was said, or remembered, takes effect now, if it has arrived; else it is asked, or waited for."""
        task = self._calls.talks.get(call.id)
        if task is None or not task.done():
            self._late.append(call)
            return
        del self._calls.talks[call.id], self._calls.tables[call.id]
        self._window.talked(call, task.result())

    def _extend_talk(self) -> bool:
        """Talks of which a word, or what is remembered, is missing last until the clock; False: there were none."""
        late = [talk for talk in self._world_session.core.talks.values() if not talk.closed and talk.end < self._until]
        for talk in late:
            self._window.ahead.changed(self._world_session.core.extend_talk(talk.id, self._until))
        return bool(late)

    async def _drop_before_joined(self) -> None:
        """Cancel turns of talks that somebody has joined meanwhile: they are asked anew, with the newcomer in the
        prompt.
        """
        calls = self._calls
        asked = [call for call in self._late if call.id in calls.talks and not calls.talks[call.id].done()]
        joined = [call.id for call in asked if calls.tables[call.id] != self._members(call)]
        await cancel([calls.talks.pop(call_id) for call_id in joined])

    def _members(self, call: Call) -> tuple[str, ...]:
        return self._world_session.core.talks[call.talk_id or ""].members

    def _ask(self) -> None:
        calls, people = self._calls, self._calls.thoughts
        for call_id in calls.talks.keys() - {call.id for call in self._late}:
            calls.talks.pop(call_id).cancel()  # the author has taken the talk out of the game
            del calls.tables[call_id]
        # The most urgent first, then who has waited longest; without a call it is a decision.
        wanted: list[tuple[int, WorldTime, str, Call | None]] = [
            (URGENCY[call.ask], call.time, call.id, call) for call in self._late if call.id not in calls.talks
        ]
        wanted += [(URGENCY[Ask.DECISION], t.since, i, None) for i, t in people.items() if t.task is None]
        wanted.sort(key=itemgetter(0, 1, 2))
        for _, _, asked_id, call in wanted[: max(0, self._deps.slots - calls.in_flight)]:
            if call is None:
                thought = people[asked_id]
                thought.task = out(self._deps.decide(self._world_session, thought.snapshot))
            else:
                calls.tables[asked_id] = self._members(call)
                calls.talks[asked_id] = out(self._deps.talk_on(self._world_session, call, None))


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
