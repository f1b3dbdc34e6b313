"""Owns the two strategies by which a living world comes from its clock to a later time.

At pace exact what `world.scheduler` allows to be asked is asked, bounded, the most lagging first; answers are taken in
any order, written in batches, and told when the clock has passed them. The story is the same as minute by minute
(docs/decisions/0007, 0008).

At pace realtime the world lives on at once, whoever thinks or speaks. Decisions and turns take effect when their
answers arrive. Until then who thinks stands, and nobody can speak to it; a talk goes on in silence. An answer that the
world has overtaken is void: the character is asked again.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from service.decision.choose import Chosen
from service.memory.mind import ReflectionKey
from service.runtime.tasks import cancel
from service.runtime.world_clock import is_called_off
from service.runtime.world_run import WorldDependencies, WorldRun
from service.runtime.world_session import WorldSession
from service.usage import Usage
from world.actions import GO, HOLD, WAIT, Option
from world.life import LifeState
from world.perception import Snapshot
from world.possible import possible
from world.scheduler import URGENCY, Ask, Call, decision_id
from world.setting import Setting
from world.time import WorldTime

BATCH = 1000
"""Decisions without a model call after which what happened is written."""


@dataclass(kw_only=True)
class Thought:
    """A character that has stood and thought since `since`. `snapshot` is what its model was asked with, or will be.
    `version` is the character's, as long as nothing happens to it.
    """

    since: WorldTime
    snapshot: Snapshot
    version: int = 0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A model call. `question` is all that its answer depends on."""

    question: object
    task: asyncio.Task[Any]


class OpenCalls(dict[str, Asked]):
    """The model calls of one world, by the id of what is asked. They go on while the world stands: who is asked the
    same afterwards gets that answer, and nobody pays twice.

    `thoughts`: who thinks while the clock does not wait, by character id; their calls bear the same ids.
    """

    def __init__(self) -> None:
        super().__init__()
        self.thoughts: dict[str, Thought] = {}

    @property
    def in_flight(self) -> int:
        """Calls asked and not answered."""
        return sum(not asked.task.done() for asked in self.values())

    async def ask(self, call_id: str, question: object, asking: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Have the question asked, unless it is out already; another one under that id is let go of."""
        if call_id in self and self[call_id].question != question:
            await self.drop([call_id])
        if call_id not in self:
            task = asyncio.create_task(asking())
            # What it raises is raised where the answer is taken, and nowhere if nobody takes it.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self[call_id] = Asked(question=question, task=task)

    def is_answered(self, call_id: str) -> bool:
        """Whether an answer waits to be taken."""
        return call_id in self and self[call_id].task.done()

    def answer(self, call_id: str) -> Any:
        """The answer, which waits no more. Raises: Exception: what the call raised."""
        return self.pop(call_id).task.result()

    async def drop(self, call_ids: Iterable[str]) -> bool:
        """Let go of these; answers whether there were any."""
        dropped = [self.pop(call_id).task for call_id in call_ids if call_id in self]
        await cancel(dropped)
        return bool(dropped)

    async def keep(self, call_ids: Collection[str] = ()) -> bool:
        """Let go of all but these, and of thoughts; answers whether there were other calls."""
        self.thoughts.clear()
        return await self.drop(self.keys() - set(call_ids))

    async def drop_decisions(self) -> None:
        """Let go of what somebody is asked to decide while the clock waits for it."""
        await self.drop([call_id for call_id in self if call_id.startswith(f"{Ask.DECISION}:")])


class ExactRun(WorldRun):
    """A run whose clock waits for the models."""

    def __init__(
        self, deps: WorldDependencies, world_session: WorldSession, until: WorldTime, calls: OpenCalls
    ) -> None:
        """Of `calls` a run before, which was interrupted for a command, has asked some."""
        super().__init__(
            deps, world_session, until, horizon=_horizon(deps, world_session, world_session.world.now, until)
        )
        self._calls = calls
        self._backlog: list[tuple[WorldTime, int, str, Call]] = []
        self._asked: dict[str, Call] = {}
        self._made: dict[ReflectionKey, asyncio.Task[None]] = {}
        self._interrupted = asyncio.Event()
        self._is_halted = False

    @property
    def in_flight(self) -> int:
        """Model calls asked and not answered."""
        return len(self._asked)

    def interrupt(self) -> None:
        """Go no farther than to the earliest minute that nobody has come to: there the world can be changed. Decisions
        of later minutes stay asked; a character that is asked the same after the change gets that answer.
        """
        self._interrupted.set()

    def halt(self) -> None:
        """End now, at the last minute that is settled. Some may have lived ahead of that minute."""
        self._is_halted = True
        self._interrupted.set()

    async def run(self) -> None:
        """Return when everything before `until` has happened and is written, or when the run was halted.

        Raises:
            Exception: what a store or a bug raised; the living world is then ahead of the store and must be read anew.
        """
        try:
            people = self.world_session.core.people.values()
            if await self._calls.keep({decision_id(i.id, i.ready) for i in people if i.state is LifeState.DECIDES}):
                await self._deps.conversation.database.settle()
            while not self._is_halted:
                if self._interrupted.is_set():
                    await self._draw_in()
                answered = self._answer_without_models()
                await self.write()
                if self.row is not None:
                    self._is_halted |= is_called_off(self.row, self.until)
                    if self.row.is_wanted:
                        self.interrupt()
                reflecting = self._reflect()
                went_on = self._go_on()
                await self._ask_models()
                if self._asked and answered < BATCH and not self._is_halted:
                    await self._next_of(self._calls[call_id].task for call_id in self._asked)
                    self._take()
                elif not self._asked and not answered and not went_on:
                    if not reflecting or self._is_halted:
                        break
                    await self._next_of(reflecting)
            await self._release(list(self._asked))
            await self.write(last=not self._is_halted)
        finally:
            await self._release(list(self._asked))

    async def _draw_in(self) -> None:
        """Come to a stop soon. Turns that are being spoken are waited for, for they may be stored at any moment."""
        self._interrupted.clear()
        speaking = [call.time + 1 for call in self._asked.values() if call.ask is Ask.TURN]
        until = WorldTime(max(self.reached, self.settled, *speaking))
        if until >= self.until:
            return
        self.until = until
        void = self.ahead.retreat(min(until, self.ahead.until))
        self._backlog = [entry for entry in self._backlog if entry[-1].id not in void]
        heapify(self._backlog)
        await self._release(void & self._asked.keys())

    async def _release(self, call_ids: Iterable[str]) -> None:
        """Wait for these no longer; only decisions stay asked."""
        released = [self._asked.pop(call_id) for call_id in call_ids]
        await self._calls.drop(call.id for call in released if call.ask is not Ask.DECISION)

    def _go_on(self) -> bool:
        """Let the quickest live farther, where the slowest have caught up. Answers whether they may."""
        horizon = _horizon(self._deps, self.world_session, self.settled, self.until)
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
        answered, most = 0, BATCH if self._deps.posed is None else 1
        while answered < BATCH and len(self._backlog) < most and (call := self.ahead.take()) is not None:
            if self.answer(call):
                answered += 1
            else:
                heappush(self._backlog, (call.priority, URGENCY[call.ask], call.id, call))
        return answered

    async def _ask_models(self) -> None:
        while self._backlog and len(self._asked) < self._deps.slots:
            call = heappop(self._backlog)[-1]
            self._asked[call.id] = call
            await self._calls.ask(call.id, *self._question(call))
            if self._deps.posed is not None:  # what comes of an answer that is known is seen by who is asked next
                await self._deps.posed(self.world_session.world.id, self._calls[call.id].task)
                if self._calls.is_answered(call.id):
                    return
                self._answer_without_models()

    def _question(self, call: Call) -> tuple[object, Callable[[], Coroutine[Any, Any, Any]]]:
        """All that the answer depends on (None: the call's id says it), and how it is asked."""
        world_session = self.world_session
        if call.ask is not Ask.DECISION:
            at = max(call.time, self.begins)  # it is late where the clock did not wait for it before
            return None, partial(self._deps.talk_on, world_session, call, at)
        snapshot = self.ahead.snapshot(call)
        question = (
            snapshot,
            world_session.agent_state(call.person_id),
            world_session.commitments.get(call.person_id, ()),
            world_session.world.at(call.time).circumstances,
        )
        return question, partial(self._deps.decide, world_session, snapshot)

    def _take(self) -> None:
        """Take the answers that have arrived."""
        for call in [call for call in self._asked.values() if self._calls.is_answered(call.id)]:
            del self._asked[call.id]
            self.take(call, self._calls.answer(call.id))


def _horizon(deps: WorldDependencies, world_session: WorldSession, settled: WorldTime, until: WorldTime) -> WorldTime:
    return max(
        settled, world_session.before_known(min(WorldTime(settled + deps.ahead_minutes(world_session.world.id)), until))
    )


class RealtimeRun(WorldRun):
    """One step whose clock waits for nobody.

    Everybody is there in the end: nobody's next moment lies before `until`. So the world can be ticked, or changed,
    at any time between two steps.
    """

    def __init__(
        self, deps: WorldDependencies, world_session: WorldSession, until: WorldTime, calls: OpenCalls
    ) -> None:
        super().__init__(deps, world_session, until)
        self._calls = calls
        self._thinks: dict[str, Thought] = {}
        self._late: list[Call] = []

    async def run(self) -> None:
        """Live to `until`, write it, and ask what there is to be asked.

        Raises:
            Exception: what a store or a bug raised; the living world is then ahead of the store and must be read anew.
        """
        self._release()
        while True:
            if self._take():
                await self.write()
            elif not self._extend_talk():
                break
        await self.write(last=True)
        for person_id, thought in self._thinks.items():
            thought.version = self.world_session.core.people[person_id].version
            self._calls.thoughts[person_id] = thought
        await self._ask()

    def _release(self) -> None:
        """Drop the calls for characters to whom something else has happened since they were asked."""
        people, t, thoughts = self.world_session.core.people, self.world_session.world.now, self._calls.thoughts
        for person_id, thought in list(thoughts.items()):
            person = people.get(person_id)
            if person is None or person.is_scripted or person.version != thought.version:
                del thoughts[person_id]
                self._void(self._calls.pop(person_id, None), t)

    def _void(self, asked: Asked | None, t: WorldTime) -> None:
        """Drop its answer; only what it cost is counted."""
        if asked is not None and asked.task.cancel():
            self.spend(t, Usage(calls=1, failures=1, estimated=True))
        elif asked is not None and asked.task.exception() is None:
            self.spend_on(t, asked.task.result())

    def _take(self) -> bool:
        """Answer and take what needs no waiting. True: there is so much that it should be written first."""
        for _ in range(BATCH):
            call = self.ahead.take()
            if call is None:
                return False
            if call.ask is Ask.DECISION:
                if not self.answer(call):
                    self._decide(call)
            elif self._calls.is_answered(call.id):
                self.take(call, self._calls.answer(call.id))
            else:
                self._late.append(call)
        return True

    def _decide(self, call: Call) -> None:
        """The character does what it has chosen, if it has and still can; else it stands and thinks."""
        snapshot, thought = self.ahead.snapshot(call), self._calls.thoughts.get(call.person_id)
        if thought is not None:
            # It still knows what it did before it began to think.
            snapshot = replace(snapshot, ended=thought.snapshot.ended, because=thought.snapshot.because)
        is_answered = self._calls.is_answered(call.person_id)
        if is_answered and self._does(call, snapshot, self._calls.answer(call.person_id)):
            del self._calls.thoughts[call.person_id]
            return
        if thought is None:
            thought = Thought(since=call.time, snapshot=snapshot)
        elif call.person_id not in self._calls:
            thought.snapshot = snapshot
        self._thinks[call.person_id] = thought
        stands = Option(action_id=HOLD, node_id=snapshot.node_id, minutes=self.until - call.time)
        self.ahead.decided(call, stands)

    def _does(self, call: Call, snapshot: Snapshot, chosen: Chosen) -> bool:
        """Whether the character can still do what it has chosen, and does; of its plans it knows anyway."""
        option = still_possible(self.world_session.core.setting, snapshot, chosen.option)
        if option is not None:
            self.take(call, replace(chosen, option=option))
            return True
        self.spend_on(call.time, chosen)
        agent_state, plan = self.world_session.agent_state(call.person_id), chosen.agent_state
        self.world_session.agent_states[call.person_id] = replace(
            agent_state, plan=plan.plan, plan_day=plan.plan_day, revisions=plan.revisions
        )
        return False

    def _extend_talk(self) -> bool:
        """Talks of which a word, or what is remembered, is missing last until the clock; False: there were none."""
        late = [talk for talk in self.world_session.core.talks.values() if not talk.closed and talk.end < self.until]
        for talk in late:
            self.ahead.changed(self.world_session.core.extend_talk(talk.id, self.until))
        return bool(late)

    async def _ask(self) -> None:
        """Ask, the most urgent first, then who has waited longest. A turn of a talk that somebody has joined meanwhile
        is asked anew, with the newcomer in the prompt; one of a talk that the author has taken out of the game is let
        go.
        """
        calls, session, talks = self._calls, self.world_session, self.world_session.core.talks
        members = {call.id: talks[call.talk_id or ""].members for call in self._late}
        void = [i for i in calls if i not in calls.thoughts and not calls.is_answered(i)]
        await calls.drop(i for i in void if calls[i].question != members.get(i))
        wanted: list[tuple[int, WorldTime, str, Callable[[], Coroutine[Any, Any, object]]]] = [
            (URGENCY[call.ask], call.time, call.id, partial(self._deps.talk_on, session, call, None))
            for call in self._late
        ]
        wanted += [
            (URGENCY[Ask.DECISION], one.since, i, partial(self._deps.decide, session, one.snapshot))
            for i, one in calls.thoughts.items()
        ]
        wanted = sorted((one for one in wanted if one[2] not in calls), key=itemgetter(0, 1, 2))
        for _, _, call_id, asking in wanted[: max(0, self._deps.slots - calls.in_flight)]:
            await calls.ask(call_id, members.get(call_id), asking)


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
