"""Guesses in virtual time: the core's own day with a guess beside it, as `service/runtime/guess.py` makes them.

A guess has half of the slots; the story is not held up by it. A question is what is perceived, and the person's own
history; an answer counts for an equal question only. A copy is made anew when the story has asked what the guess did
not, and every few seconds. Copying takes no virtual time.
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import count
from typing import Any

from service.llm.foresight import window
from service.runtime.guess import HOLDS_SECONDS
from tests.world.simulation import Chosen, Decider, Latency, Turns, answer
from world.causality import Causality, Guess
from world.errors import OutOfTurn
from world.events import Event, canonical
from world.scheduler import Ask, Call, Scheduler
from world.simulation import Simulation
from world.time import WorldTime


@dataclass(kw_only=True)
class Asked:
    """A question that is out or answered. `guess`: the number of the last guess that came to it."""

    ready: float
    chosen: Chosen | None
    guess: int = 0
    is_told: bool = False


@dataclass(kw_only=True)
class Guessed:
    """What a day with guesses took: virtual seconds, questions in all, and those asked in vain."""

    log: tuple[Event, ...] = ()
    seconds: float = 0.0
    calls: int = 0
    in_vain: int = 0
    copies: int = 0


@dataclass(kw_only=True)
class _Line:
    """A world that is lived: the story's, or a guess."""

    ahead: Scheduler
    histories: dict[str, str]
    ripe: list[tuple[float, int, Call, str]] = field(default_factory=list)
    wanted: list[tuple[Call, str, Chosen | None]] = field(default_factory=list)


class Driver:
    """Lives one day with a guess beside it."""

    def __init__(
        self, *, until: WorldTime, decide: Decider, turns: Turns, latency: Latency, concurrency: int, minutes: int
    ) -> None:
        self._until, self._decide, self._turns = until, decide, turns
        self._latency, self._slots, self._most = latency, concurrency, minutes
        self._window = minutes
        self._asked: dict[str, Asked] = {}
        self._order = count()
        self._guess = 0
        self._is_astray = True
        self._now = 0.0
        self._copied_at = 0.0
        self.result = Guessed()

    def run(self, world: Simulation) -> Guessed:
        """Its figures and its log."""
        story = _Line(ahead=Scheduler(world, until=self._until), histories={})
        guess, events = self._copied(story), list[Event]()
        while True:
            self._come_to(story, is_guess=False)
            if self._is_astray or self._now >= self._copied_at + HOLDS_SECONDS:
                self._copied_at = self._now
                guess = self._copied(story)
            self._live_on(guess)
            if not story.ripe and not story.wanted:
                break
            times = [line.ripe[0][0] for line in (story, guess) if line.ripe]
            busy = [one.ready for one in self._asked.values() if one.ready > self._now]
            self._now = max(self._now, min([*times, *busy]))
            self._take(story)
            events += story.ahead.unsettled()
        self.result.log = canonical(event for event in events if event.time < self._until)
        self.result.seconds = self._now
        self.result.in_vain = sum(not one.is_told for one in self._asked.values())
        return self.result

    def _live_on(self, guess: _Line) -> None:
        """As far as the answers that are known carry. What cannot be has been guessed wrongly."""
        try:
            self._come_to(guess, is_guess=True)
            while self._take(guess):
                self._come_to(guess, is_guess=True)
        except OutOfTurn:
            self._is_astray = True
            guess.ripe.clear()

    def _come_to(self, line: _Line, *, is_guess: bool) -> None:
        if is_guess:
            horizon = WorldTime(min(self._until, (line.ahead.world.frontier or 0) + self._window))
            line.ahead.extend(max(line.ahead.until, horizon))
        while (call := line.ahead.take()) is not None:
            question = self._question(line, call)
            line.wanted.append((call, question, self._answer(line, call)))
            if is_guess and question in self._asked and self._asked[question].ready <= self._now:
                line.wanted.pop()
                self._asked[question].guess = self._guess
                self._answered(line, call, question)
        line.wanted.sort(key=lambda one: one[0].priority)
        waiting, line.wanted = line.wanted, []
        slots = self._slots // 2 if is_guess else self._slots
        flying = sum(ready > self._now for ready, *_ in line.ripe)
        for call, question, chosen in waiting:
            one = self._asked.get(question)
            if one is None:
                if flying >= slots:
                    line.wanted.append((call, question, chosen))
                    continue
                one = self._asked[question] = Asked(ready=self._now + self._latency(call.id), chosen=chosen)
                self.result.calls += 1
                flying += 1
            if is_guess:
                one.guess = self._guess
            else:
                one.is_told = True
            heappush(line.ripe, (max(self._now, one.ready), next(self._order), call, question))

    def _question(self, line: _Line, call: Call) -> str:
        if call.ask is Ask.DECISION:
            whole: Any = line.ahead.snapshot(call), line.histories.get(call.person_id)
        else:
            talk = line.ahead.world.talks[str(call.talk_id)]
            whole = call.id, talk.joined, talk.left, [line.histories.get(one) for one in talk.members]
        return blake2b(repr((call.id, whole)).encode(), digest_size=12).hexdigest()

    def _answer(self, line: _Line, call: Call) -> Chosen | None:
        if call.ask is not Ask.DECISION:
            return None
        return self._decide(line.ahead.world.setting, line.ahead.snapshot(call))

    def _take(self, line: _Line) -> bool:
        taken = False
        while line.ripe and line.ripe[0][0] <= self._now:
            _, _, call, question = heappop(line.ripe)
            self._answered(line, call, question)
            taken = True
        return taken

    def _answered(self, line: _Line, call: Call, question: str) -> None:
        one = self._asked[question]
        self._is_astray |= one.guess < self._guess
        people = [call.person_id]
        if call.ask is Ask.CLOSING:
            people = list(line.ahead.world.talks[str(call.talk_id)].members)
        answer(line.ahead, call, one.chosen, self._turns)
        for person_id in people:
            line.histories[person_id] = question

    def _copied(self, story: _Line) -> _Line:
        """Another guess, from where the story stands: it comes to what the story waits for."""
        told = sum(one.is_told for one in self._asked.values())
        dead = sum(one.guess < self._guess and not one.is_told for one in self._asked.values())
        self._window = window(self._window, self._most, told, dead)
        self._guess, self._is_astray = self._guess + 1, False
        self.result.copies += 1
        world = story.ahead.world
        copy = Simulation(world.setting, world.people.values(), world.talks.values(), now=world.now)
        for _, _, _, question in story.ripe:
            self._asked[question].guess = self._guess
        until = WorldTime(min(self._until, (copy.frontier or 0) + self._window))
        causality: Causality = Guess(copy)
        return _Line(ahead=Scheduler(copy, until=until, causality=causality), histories=dict(story.histories))
