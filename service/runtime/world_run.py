"""Owns a span of a world's time while it is lived: who answers what is asked in it, what is decided, and how that is
written.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine, TurnOutcome
from service.conversation.prompt import Goal
from service.conversation.scenes import join
from service.conversation.start import Start, engage, start_talk
from service.conversation.transcript import end
from service.decision.choose import Chosen, choose
from service.decision.routine import by_appointments, by_routine
from service.decision.situation import DecisionDependencies
from service.errors import WrongPhase
from service.memory.episodes import overhear
from service.memory.mind import due_reflections
from service.runtime.jobs import Jobs
from service.runtime.publish import keep_basis, publish
from service.runtime.world_clock import advance_clock
from service.runtime.world_session import WorldSession, save
from service.store.jobs import JobKind, enqueue
from service.store.perception import LATER_MINUTES
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationKey, ConversationRow, JobKey, WorldRow
from service.store.usage import Purpose, count
from service.usage import Usage
from world.actions import Reason, Refusal
from world.causality import Causality
from world.events import Event, EventKind
from world.life import TalkState
from world.perception import Snapshot, overheard
from world.scheduler import Ask, Call, Scheduler
from world.simulation import Simulation
from world.time import WorldTime, day_of, iso

AHEAD_MINUTES = 20
"""World minutes that the quickest may live ahead of the slowest. A run that is interrupted has at most so much to catch
up.
"""


@dataclass(frozen=True, kw_only=True)
class WorldDependencies:
    """Who answers the calls: shared by all worlds of a process. By `causality` somebody waits for another.
    `ahead_minutes`: of a world, AHEAD_MINUTES, and in a guess more. `beside`: around a run that waits for models.
    `posed`: until a call of the world has its answer, or waits for a model (None: they are asked all at once).
    """

    conversation: ConversationDependencies
    decision: DecisionDependencies
    engine: Engine
    jobs: Jobs
    causality: Callable[[Simulation], Causality] = Causality
    ahead_minutes: Callable[[str], int] = lambda _: AHEAD_MINUTES
    beside: Callable[[Any], AbstractAsyncContextManager[None]] = nullcontext
    posed: Callable[[str, asyncio.Task[Any]], Awaitable[None]] | None = None

    @property
    def slots(self) -> int:
        """Model calls that may be out at once."""
        return self.conversation.settings.llm.max_concurrency

    async def decide(self, world_session: WorldSession, snapshot: Snapshot) -> Chosen:
        """What the character chooses that perceives `snapshot`."""
        agent_state = world_session.agent_state(snapshot.person_id)
        promised = world_session.commitments.get(snapshot.person_id, ())
        sketched = world_session.is_sketched([snapshot.person_id], snapshot.node_id, snapshot.time)
        world = world_session.world.at(snapshot.time)
        return await choose(self.decision, world, snapshot, agent_state, promised, sketched=sketched)

    async def talk_on(self, world_session: WorldSession, call: Call, at: WorldTime | None) -> TurnOutcome | None:
        """Speak the turn at `at` (None: when the answer comes) and answer its outcome, or close the talk and answer
        None. After a closing those who took part know what was promised, and the graph has what they remember.
        """
        key = world_session.key_of(str(call.talk_id))
        if call.ask is Ask.TURN:
            talk = world_session.core.talks[str(call.talk_id)]
            node_id = world_session.core.people[talk.person_id].node_id
            sketched = world_session.is_sketched(talk.present, node_id, call.time)
            return await self.engine.turn(key, call.index, at, sketched=sketched)
        await self.engine.close(key)

        def work(session: Session) -> tuple[str, ...]:
            people = session.get_one(ConversationRow, key).person_ids
            world_session.promise_again(session, *people)
            world_session.reflecting |= due_reflections(session, key.world_id)
            return people

        for person_id in await self.conversation.database.read(work):
            await self.jobs.submit(JobKey(key.world_id, JobKind.DELIVERY, person_id))
        return None

    async def end_dropped(self, world_session: WorldSession) -> None:
        """Conversations whose people or places the author has taken away end, and are remembered as far as they
        went.
        """
        for conversation_id in world_session.dropped:
            key = ConversationKey(world_session.world.id, conversation_id)

            def work(session: Session, key: ConversationKey = key) -> None:
                with suppress(WrongPhase):  # it had ended before
                    end(session, self.conversation.worlds, *key, EndReason.CONTENT_CHANGED)

            await self.conversation.database.write(work)
            await self.engine.close(key)
        world_session.dropped = ()


class WorldRun:
    """A living world from its clock up to, and not including, `until`; used once, by the world's actor.

    It answers by itself what needs no model. Of the rest a strategy (`pace.py`) takes the questions from `ahead`, and
    brings answers.
    """

    def __init__(
        self,
        deps: WorldDependencies,
        world_session: WorldSession,
        until: WorldTime,
        *,
        horizon: WorldTime | None = None,
    ) -> None:
        """`horizon`: nobody lives farther for now (`Scheduler.extend`); None: than `until`."""
        self.world_session = world_session
        self.begins = world_session.world.now
        self.until = until
        core = world_session.core
        self.ahead = Scheduler(core, until=horizon or until, causality=deps.causality(core))
        self.settled = self.begins
        """Everything before this minute has happened and is in the log."""
        self.row: WorldRow | None = None
        """The world's, as of the last write."""
        self._deps = deps
        self._chosen: dict[tuple[str, WorldTime], Chosen] = {}
        self._spent: list[tuple[WorldTime, Purpose, Usage]] = []

    @property
    def reached(self) -> WorldTime:
        """Nothing has been decided or said at this minute or later."""
        return max(self.world_session.reached, self.ahead.reached)

    def answer(self, call: Call) -> bool:
        """Answer the question where no model is needed: for characters that live by routine or are in a client's hands.
        Answers whether it could.
        """
        world_session, person_id = self.world_session, call.person_id
        if call.ask is not Ask.DECISION or not world_session.core.people[person_id].is_scripted:
            return False
        if world_session.how[person_id] == "client":
            self.ahead.decided(call, world_session.standing(person_id))
            return True
        profile, snapshot = world_session.world.cast.characters.get(person_id), self.ahead.snapshot(call)
        setting, promised = world_session.core.setting, world_session.commitments.get(person_id, ())
        if profile is None:
            option, wake_at = by_appointments(setting, snapshot, promised)
        else:
            option, wake_at = by_routine(setting, profile, snapshot, promised=promised)
        self._chosen[person_id, call.time] = Chosen(option=option, by="routine")
        self.ahead.decided(call, option, wake_at=wake_at)
        return True

    def take(self, call: Call, answer: Chosen | TurnOutcome | None) -> None:
        """The character does what it chose; or a turn was spoken, perhaps the last one; or the talk is closed and
        remembered: None.
        """
        if answer is None:
            self.ahead.closed(call)
        elif isinstance(answer, Chosen):
            self.world_session.agent_states[call.person_id] = answer.agent_state
            self._chosen[call.person_id, call.time] = answer
            self.spend_on(call.time, answer)
            self.ahead.decided(call, answer.option, wake_at=answer.wake_at)
        else:
            self.ahead.turned(call, last=answer.is_over, left=answer.left)

    def spend_on(self, t: WorldTime, chosen: Chosen) -> None:
        """Count what a decision at `t` has cost, whatever comes of it."""
        self.spend(t, chosen.usage)
        if chosen.checked is not None:
            self.spend(t, chosen.checked.usage, "quality")

    def spend(self, t: WorldTime, usage: Usage, purpose: Purpose = "decision") -> None:
        """Count calls made for a decision at `t`, whatever came of them."""
        if usage.calls:
            self._spent.append((t, purpose, usage))

    async def write(self, *, last: bool = False) -> None:
        """What happened since the last time, in one transaction; then the clock goes on as far as all is settled.

        `last`: everything before `until` has happened.
        """
        events = self.ahead.unsettled()
        self._remember_failures(events)
        settled = self._settles(last=last)
        if not events and settled == self.settled and not self.world_session.core.changed_people:
            return
        revision, settled = await self._deps.conversation.database.write(lambda s: self._store(s, events, last=last))
        self.world_session.saved(revision)
        self.world_session.world, self.world_session.core.now = self.world_session.world.at(settled), settled
        self.settled = settled
        self._chosen.clear()
        self._spent.clear()

    def _settles(self, *, last: bool) -> WorldTime:
        """How far everything is settled. A turn that is late, because the clock did not wait for it, does not hold the
        clock back; a reflection that is not made yet does, a minute before its result counts.
        """
        if last:
            return self.until
        frontier = self.world_session.core.frontier
        until = self.world_session.before_known(self.until)
        return max(self.settled, until if frontier is None else min(frontier, until))

    def _remember_failures(self, events: tuple[Event, ...]) -> None:
        for event in events:
            if event.kind is EventKind.FAILED:
                agent_state = self.world_session.agent_state(event.person_id)
                failed: dict[str, Any] = {**event.data, "reason": Reason(str(event.data["reason"]))}
                self.world_session.agent_states[event.person_id] = replace(agent_state, failed=Refusal(**failed))

    def _store(self, session: Session, events: tuple[Event, ...], *, last: bool) -> tuple[int, WorldTime]:
        world_session, world = self.world_session, self.world_session.world
        self.row = session.get_one(WorldRow, world.id, with_for_update=True)
        publish(session, world_session, events, self._chosen)
        settled = self._settles(last=last)
        keep_basis(session, world.id, self._chosen, keep_prompts=self._deps.conversation.settings.keep_prompts)
        for talk in world_session.core.talks.values():
            if talk.id not in world_session.stored:
                self._begin(session, talk)
            self._seat(session, talk, talk.joined[world_session.stored.get(talk.id, 0) :])
        self._overhear(session, settled)
        for t, purpose, usage in self._spent:
            day = day_of(t, day_starts=world.settings.day_starts_minutes)
            count(session, world.id, day, purpose, usage)
        if settled > self.settled:
            advance_clock(session, world, settled)
            if world.settings.daily_snapshots and world.at(settled).day > world.day:
                enqueue(session, JobKey(world.id, JobKind.SNAPSHOT, f"day-{iso(settled)[:10]}"))
        world_session.reached = self.reached
        revision = save(session, world_session)
        return revision, settled

    def _begin(self, session: Session, talk: TalkState) -> None:
        agent_state = self.world_session.agent_state(talk.person_id)
        goal = None
        if agent_state.goal and agent_state.success_criteria:
            goal = Goal(goal=agent_state.goal, success_criteria=agent_state.success_criteria)
        deps = self._deps.conversation
        start_talk(
            session,
            self.world_session.world.at(talk.start),
            talk,
            Start(
                opener_id=talk.person_id,
                partner_id=talk.partner_id,
                goal=goal,
                max_turns=deps.settings.max_turns,
                conversation_id=self.world_session.conversation_id(talk),
            ),
            self.world_session.core.people[talk.person_id].node_id,
            deps.models.names(),
        )

    def _seat(self, session: Session, talk: TalkState, joined: Sequence[tuple[str, int]]) -> None:
        """They take part from those turns on."""
        for person_id, turn in joined:
            row = session.get_one(ConversationRow, self.world_session.key_of(talk.id))
            if row.phase == Phase.RUNNING:  # else it came too late, where the clock does not wait
                world = self.world_session.world.at(WorldTime(talk.start + turn))
                joined_now = join(session, row, world, person_id)
                joined_now.goal = self.world_session.agent_state(person_id).goal or ""
                engage(session, joined_now)

    def _overhear(self, session: Session, settled: WorldTime) -> None:
        """Write down who overheard the talks that ended between the last settled minute and `settled`."""
        core, world = self.world_session.core, self.world_session.world
        over = [talk for talk in core.talks.values() if talk.closed and self.settled <= talk.end < settled]
        heard = [(person_id, talk, turns) for talk in over for person_id, turns in overheard(core, talk).items()]
        for person_id, talk, turns in sorted(heard, key=itemgetter(0)):  # memories are locked in one order
            if person_id not in world.cast.players:
                known_at = WorldTime(talk.end + LATER_MINUTES)
                overhear(session, world, self.world_session.key_of(talk.id), person_id, turns, known_at)
