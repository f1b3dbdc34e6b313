"""Owns the bookkeeping of running ahead: which questions may be asked now, in which order, and which ones an answer
makes possible.

Pure: it says which calls to models may be made, and takes their answers in any order. The story comes out the same.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from heapq import heapify, heappop, heappush

from world.actions import Option
from world.causality import Causality
from world.errors import OutOfTurn
from world.events import Change, Event, canonical
from world.life import State
from world.perceive import Snapshot
from world.simulation import Simulation
from world.time import WorldTime


class Ask(StrEnum):
    """What a call asks for."""

    DECISION = "decision"
    """What `person_id` does at `time`."""
    TURN = "turn"
    """What is said in turn `index` of `talk_id`, and whether it was the last."""
    CLOSING = "closing"
    """What is remembered of `talk_id`."""


URGENCY = {Ask.CLOSING: 0, Ask.TURN: 1, Ask.DECISION: 2}
"""Of questions that hold up the same world time, the smallest is asked first."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A question that may be asked now. `priority`: the world time it holds up, smaller is more urgent.

    `id` is the same in every run of the same story. `person_id`: who decides, or who began the talk.
    """

    ask: Ask
    person_id: str
    time: WorldTime
    priority: WorldTime
    talk_id: str | None = None
    index: int = 0

    @cached_property
    def id(self) -> str:
        """Names the question within the story."""
        if self.talk_id is None:
            return decision_id(self.person_id, self.time)
        return f"{self.ask}:{self.talk_id}:{self.index}"


def decision_id(person_id: str, time: WorldTime) -> str:
    """Names the question what somebody does at that time."""
    return f"{Ask.DECISION}:{person_id}:{time}"


class Scheduler:
    """Drives one world out of order up to, and not including, `until`.

    `take` what may be asked, most urgent first; hand each answer to `decided`, `turned` or `closed`, in any order.
    Only one thread at a time may use it. After a stop it starts again from the world alone: what was asked and not
    answered is asked again.
    """

    def __init__(self, world: Simulation, *, until: WorldTime, causality: Causality | None = None) -> None:
        self.world = world
        self.causality = causality or Causality(world)
        self.until = until
        self.reached = WorldTime(0)
        """At this minute and later nothing was decided, claimed or said here."""
        self._asked: dict[str, Call] = {}
        self._known: set[str] = set()
        self._ready: list[tuple[WorldTime, int, str, Call]] = []
        self._waiting: dict[str, list[tuple[str, int]]] = {}
        self._talks_waiting: dict[str, set[str]] = {}
        self._held: dict[str, list[str]] = {}
        self._beyond: tuple[set[str], set[str]] = set(), set()
        """Whose next decision or claim, and whose next turn, comes at `until` or later: people, and talks."""
        self._unsettled: list[Event] = []
        for talk in sorted(world.talks.values(), key=lambda talk: (talk.start, talk.id)):
            if not talk.closed:
                self._next_in_talk(talk.id)
        self._move_on(sorted(world.people))

    def take(self) -> Call | None:
        """The most urgent question that may be asked now; None: wait for an answer, or all is done."""
        while self._ready:
            call = heappop(self._ready)[-1]
            self._known.discard(call.id)
            if call.ask is not Ask.DECISION or self._decides(call):
                self._asked[call.id] = call
                return call
        return None

    def _decides(self, call: Call) -> bool:
        """Whether the question is still the character's: somebody may have stopped it since."""
        person = self.world.people[call.person_id]
        return person.state is State.DECIDES and person.ready == call.time

    def snapshot(self, call: Call) -> Snapshot:
        """What the one who decides perceives. Raises: OutOfTurn: the call is not open."""
        self._open(call)
        return self.world.perceive(call.person_id)

    def decided(
        self,
        call: Call,
        option: Option,
        *,
        wake_at: WorldTime | None = None,
    ) -> None:
        """The answer to a decision, as `Simulation.decide` takes it. Raises: OutOfTurn: it is not open; Unreachable: no
        way leads there.
        """
        self._open(call)
        change = self.world.decide(call.person_id, option, wake_at=wake_at)
        self._reach(call.time)
        del self._asked[call.id]
        self._happened(change)

    def turned(self, call: Call, *, last: bool, left: str | None = None) -> None:
        """The answer to a turn, as `Simulation.turn` takes it. Raises: OutOfTurn: it is not open."""
        talk_id = self._talk_of(call)
        change = self.world.turn(talk_id, last=last, left=left)
        self._reach(call.time)
        del self._asked[call.id]
        self._next_in_talk(talk_id)
        self._happened(change)

    def closed(self, call: Call) -> None:
        """What is remembered has been written. Raises: OutOfTurn: the call is not open."""
        talk_id = self._talk_of(call)
        partner_id = self.world.talks[talk_id].partner_id
        change = self.world.close(talk_id)
        del self._asked[call.id]
        for held in self._held.pop(partner_id, ()):
            self._next_in_talk(held)
        self._happened(change)

    def changed(self, change: Change) -> None:
        """Somebody else changed the world (`interrupt`, `stop`, `amend`, `extend_talk`): questions to whom it touched
        are void, their answers will be refused; events that do not happen now are not released.
        """
        for call_id, call in list(self._asked.items()):
            if call.ask is Ask.DECISION and call.person_id in change.touched:
                del self._asked[call_id]
        if change.since is not None:
            self._unsettled = [event for event in self._unsettled if not change.voids(event)]
        self._happened(change)

    def extend(self, until: WorldTime) -> None:
        """Go on to a later time. Raises: ValueError: it is earlier."""
        if until < self.until:
            raise ValueError(f"the world already runs to {self.until}, not {until}")
        self.until = until
        (people, talks), self._beyond = self._beyond, (set(), set())
        for talk_id in sorted(talks):
            self._next_in_talk(talk_id)
        self._move_on(sorted(people))

    def retreat(self, until: WorldTime) -> frozenset[str]:
        """Go no farther than an earlier time. Answers the ids of the questions about that time or later: they are void,
        their answers will be refused.

        Raises:
            ValueError: it is later, or something has already happened at that time or after it.
        """
        if not self.reached <= until <= self.until:
            raise ValueError(
                f"the world runs to {self.until} and has come to {self.reached}: it cannot stop at {until}"
            )
        self.until = until
        asked = [call for call in self._asked.values() if self._is_beyond(call)]
        ready = [entry[-1] for entry in self._ready if self._is_beyond(entry[-1])]
        for call in asked:
            del self._asked[call.id]
        self._known -= {call.id for call in ready}
        self._ready = [entry for entry in self._ready if not self._is_beyond(entry[-1])]
        heapify(self._ready)
        people, talks = self._beyond
        for call in (*asked, *ready):
            if call.talk_id is None:
                people.add(call.person_id)
            else:
                talks.add(call.talk_id)
        return frozenset(call.id for call in asked)

    def _is_beyond(self, call: Call) -> bool:
        return call.ask is not Ask.CLOSING and call.time >= self.until

    def _reach(self, t: WorldTime) -> None:
        self.reached = max(self.reached, WorldTime(t + 1))

    def unsettled(self) -> tuple[Event, ...]:
        """The events worked out since this was last asked, final or not, in canonical order."""
        taken, self._unsettled = canonical(self._unsettled), []
        return taken

    def _happened(self, change: Change) -> None:
        self._unsettled += change.events
        self._move_on(change.touched)

    def _move_on(self, people: Iterable[str]) -> None:
        """Try those who changed, and those who waited for them; a claim that succeeds changes others in turn."""
        todo = deque((person_id, -1, "") for person_id in people)
        while todo:
            person_id, version, blocker = todo.popleft()
            if version < 0:
                todo.extend((waiter, v, person_id) for waiter, v in self._waiting.pop(person_id, ()))
                for talk_id in sorted(self._talks_waiting.pop(person_id, ())):
                    self._next_in_talk(talk_id)
            elif version != self.world.people[person_id].version:
                continue
            change = self._try(person_id, blocker)
            if change is not None:
                self._unsettled += change.events
                todo.extend((touched, -1, "") for touched in change.touched)
                if change.talk_id is not None:
                    self._next_in_talk(change.talk_id)

    def _try(self, person_id: str, changed: str) -> Change | None:
        person = self.world.people[person_id]
        if person.state not in (State.DECIDES, State.CLAIMS):
            return None
        if person.ready >= self.until:
            self._beyond[0].add(person_id)
            return None
        decides = person.state is State.DECIDES
        if decides and changed and self.causality.still_blocks(changed, person):
            blocker: str | None = changed
        else:
            blocker = self.causality.to_decide(person) if decides else self.causality.to_claim(person)
        if blocker is not None:
            self._waiting.setdefault(blocker, []).append((person_id, person.version))
            return None
        if not decides:
            self._reach(person.ready)
            return self.world.claim(person_id)
        self._may_ask(Call(ask=Ask.DECISION, person_id=person_id, time=person.ready, priority=person.ready))
        return None

    def _next_in_talk(self, talk_id: str) -> None:
        talk = self.world.talks[talk_id]
        if talk.over:
            self._ask_about(talk_id, Ask.CLOSING)
        elif talk.start + talk.turns >= self.until:
            self._beyond[1].add(talk_id)
        elif talk.with_npc and not talk.turns and self.world.unclosed(talk.partner_id) != talk_id:
            # The NPC speaks with what it remembers of the talk before: that must be written first.
            self._held.setdefault(talk.partner_id, []).append(talk_id)
        elif (blocker := self.causality.to_turn(talk)) is not None:
            self._talks_waiting.setdefault(blocker, set()).add(talk_id)
        else:
            self._ask_about(talk_id, Ask.TURN)

    def _ask_about(self, talk_id: str, ask: Ask) -> None:
        talk = self.world.talks[talk_id]
        t = WorldTime(talk.start + talk.turns)
        self._may_ask(
            Call(ask=ask, person_id=talk.person_id, time=t, priority=talk.end, talk_id=talk_id, index=talk.turns)
        )

    def _may_ask(self, call: Call) -> None:
        if call.id in self._known or call.id in self._asked:
            return
        self._known.add(call.id)
        heappush(self._ready, (call.priority, URGENCY[call.ask], call.id, call))

    def _open(self, call: Call) -> None:
        if call.id not in self._asked:
            raise OutOfTurn(call.id, "is not an open question", "be answered")

    def _talk_of(self, call: Call) -> str:
        self._open(call)
        if call.talk_id is None:
            raise OutOfTurn(call.id, "is a decision", "be answered with a turn")
        return call.talk_id
