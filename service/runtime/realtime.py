"""Owns a piece of a clock that does not wait: the world lives on to a given time at once, whoever thinks or speaks.

Decisions and turns take effect when their answers arrive. Until then who thinks stands, and nobody can speak to it; a
talk goes on in silence. An answer that the world has overtaken is void: the character is asked again.
"""

from dataclasses import dataclass, replace

from service.decision.choose import Chosen
from service.runtime.dependencies import WorldDependencies
from service.runtime.model_calls import Calls, Thought, out
from service.runtime.run_window import BATCH, RunWindow
from service.runtime.tasks import cancel
from service.runtime.world_session import WorldSession
from service.usage import Usage
from world.actions import GO, HOLD, WAIT, Option
from world.perceive import Snapshot
from world.possible import possible
from world.scheduler import URGENCY, Ask, Call
from world.setting import Setting
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """A call to be asked: the most urgent first, then who has waited longest. `call` None: a decision of `id`."""

    urgency: int
    since: WorldTime
    id: str
    call: Call | None = None


class RealtimeStep:
    """One piece, from the world's clock to `until`; used once, by whoever holds the world's lock.

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
        """Let go of what is being said where somebody has joined meanwhile: it is asked anew, by who knows of it."""
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
        wanted = [
            _Wanted(urgency=URGENCY[call.ask], since=call.time, id=call.id, call=call)
            for call in self._late
            if call.id not in calls.talks
        ]
        decision = URGENCY[Ask.DECISION]
        wanted += [_Wanted(urgency=decision, since=t.since, id=i) for i, t in people.items() if t.task is None]
        wanted.sort(key=lambda one: (one.urgency, one.since, one.id))
        for one in wanted[: max(0, self._deps.slots - calls.in_flight)]:
            if one.call is None:
                thought = people[one.id]
                thought.task = out(self._deps.decide(self._world_session, thought.snapshot))
            else:
                calls.tables[one.id] = self._members(one.call)
                calls.talks[one.id] = out(self._deps.talk_on(self._world_session, one.call, None))


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
