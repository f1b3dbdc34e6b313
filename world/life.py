"""Owns a character's life as a value: what it does from when to when, what it waits for, and the talk it is in."""

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter

from world.movement import Position, Segment, position_at
from world.needs import Levels
from world.option import Option
from world.time import WorldTime

_START = attrgetter("start")


class Because(StrEnum):
    """Why an activity ended, and so why its character decides."""

    DONE = "done"
    CUT = "cut"
    """Somebody spoke to it."""
    NEED = "need"
    """A need became critical."""
    ALARM = "alarm"
    """A time the character had set itself: a promise, the next block of its day."""
    ROUSED = "roused"
    """An author, a client or the running clock stopped it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Activity:
    """What a character does from `start` until before `end`, on the map along `segment`.

    An open talk ends at `end` or later. `seat` (facility id, action id) is held from start to end, and on through a
    talk that cuts the activity. `decided_at` is when the character, or who spoke to it, decided on it.
    """

    action_id: str
    start: WorldTime
    end: WorldTime
    segment: Segment
    levels: Levels
    decided_at: WorldTime
    interruptible: bool = False
    facility_id: str | None = None
    seat: tuple[str, str] | None = None
    talk_id: str | None = None
    because: Because = Because.DONE

    @property
    def node_id(self) -> str:
        """Where it ends: of a walk, its goal."""
        return self.segment.path[-1]

    def seen_at(self, t: WorldTime) -> bool:
        """Whether the snapshot of `t` shows it: what begins at `t` is not yet seen, what is cut at `t` still is."""
        return self.start < t and (t < self.end or (t == self.end and self.because is Because.CUT))

    def approachable(self, t: WorldTime) -> bool:
        """Whether somebody may speak to the character at `t`."""
        return self.interruptible and self.start < t < self.end


class State(StrEnum):
    """What happens when a character's `ready` time has come, and what may follow."""

    DECIDES = "decides"
    """It decides."""
    CLAIMS = "claims"
    """It takes what it chose, if that is still there: a seat, somebody to talk to."""
    TALKS = "talks"
    """Nothing yet: its talk ends then or later."""
    CLOSES = "closes"
    """Nothing yet: its talk ends then, and what it remembers of it is being written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """A character. `past` is what it has done and is committed to, oldest first; at `ready` nothing is decided yet.

    `decided_at` is when it last decided.

    `version` grows with every change: an answer to a question asked of an older version is stale. `is_scripted`
    characters decide by their own needs, the hour and the map alone (a routine): they perceive nothing, and need
    nobody's leave.
    """

    id: str
    home: str
    ready: WorldTime
    past: tuple[Activity, ...]
    state: State = State.DECIDES
    claim: Option | None = None
    decided_at: WorldTime
    alarm: WorldTime | None = None
    version: int = 0
    is_scripted: bool = False

    @property
    def last(self) -> Activity:
        """What it is committed to last."""
        return self.past[-1]

    @property
    def node_id(self) -> str:
        """Where it is at `ready`."""
        return self.past[-1].segment.path[-1]

    def during(self, t: WorldTime) -> Activity:
        """The activity that began at or before `t`; before all that is remembered, the first."""
        past = self.past
        if past[-1].start <= t:
            return past[-1]
        return past[max(0, bisect_right(past, t, key=_START) - 1)]

    def before(self, t: WorldTime) -> Activity:
        """The last activity that began before `t`."""
        return self.during(WorldTime(t - 1))

    def position_at(self, t: WorldTime) -> Position:
        """Where on the map, remembered times only."""
        return position_at(self.during(t).segment, t)


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """A conversation from `start` on, a turn a minute, `shortest` minutes at least. `closed`: all is remembered.

    `joined` are those who came to it later, and `left` those who went before it was over, each with the first turn that
    it hears, or does not hear any more.
    """

    id: str
    start: WorldTime
    shortest: int
    person_id: str
    partner_id: str
    with_npc: bool
    turns: int = 0
    over: bool = False
    closed: bool = False
    joined: tuple[tuple[str, int], ...] = ()
    left: tuple[tuple[str, int], ...] = ()

    @property
    def end(self) -> WorldTime:
        """When it ends; while it is not over, the earliest time it can end."""
        return WorldTime(self.start + max(self.shortest, self.turns if self.over else self.turns + 1))

    @property
    def members(self) -> tuple[str, ...]:
        """All who ever were in it, in the order of their seats."""
        return (self.person_id, self.partner_id, *(person_id for person_id, _ in self.joined))

    @property
    def present(self) -> tuple[str, ...]:
        """Those who are in it now, or were to its end."""
        gone = {person_id for person_id, _ in self.left}
        return tuple(person_id for person_id in self.members if person_id not in gone)

    @property
    def characters(self) -> tuple[str, ...]:
        """The characters who are in it now, or were to its end: an NPC is none."""
        return tuple(i for i in self.present if not (self.with_npc and i == self.partner_id))

    def hears(self, turn: int) -> tuple[str, ...]:
        """Those who were there when the turn was spoken."""
        since, until = dict(self.joined), dict(self.left)
        return tuple(i for i in self.members if since.get(i, 0) <= turn and turn < until.get(i, turn + 1))

    def there_before(self, t: WorldTime) -> tuple[str, ...]:
        """Those who are there when the turn of minute `t` is about to be spoken, whatever has been spoken since."""
        return self.hears(min(self.turns, t - self.start))

    def over_before(self, t: WorldTime) -> bool:
        """Whether its last turn was spoken before `t`."""
        return self.over and self.turns <= t - self.start

    def members_before(self, t: WorldTime) -> tuple[str, ...]:
        """All who were in it before `t`, whether they are still or not."""
        since = dict(self.joined)
        return tuple(i for i in self.members if self.start + since.get(i, -1) < t)

    def seen(self, t: WorldTime) -> tuple[str, ...]:
        """Those whom the snapshot of `t` shows in it: who joins at `t` is not yet seen, who leaves at `t` not any
        more.
        """
        until = {person_id: self.leaving(turn) for person_id, turn in self.left}
        return tuple(i for i in self.members_before(t) if t < until.get(i, t + 1))

    def leaving(self, turn: int) -> WorldTime:
        """When somebody goes who does not hear that turn any more: no earlier than any talk may end."""
        return WorldTime(self.start + max(self.shortest, turn))

    def takes(self, person_id: str, t: WorldTime) -> bool:
        """Whether that member of it talks at `t`; asked only where the gates have made sure that this is known."""
        until = next((self.leaving(turn) for i, turn in self.left if i == person_id), self.end)
        return self.start <= t < until
