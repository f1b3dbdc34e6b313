"""Owns a character's life as a value: what it does from when to when, what it waits for, and the talk it is in."""

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum

from world.movement import Position, Segment, position_at
from world.needs import Levels
from world.option import Option
from world.time import WorldTime


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
        return past[max(0, bisect_right(past, t, key=_start) - 1)]

    def before(self, t: WorldTime) -> Activity:
        """The last activity that began before `t`."""
        return self.during(WorldTime(t - 1))

    def position_at(self, t: WorldTime) -> Position:
        """Where on the map, remembered times only."""
        return position_at(self.during(t).segment, t)


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """A conversation from `start` on, a turn a minute, `shortest` minutes at least. `closed`: all is remembered."""

    id: str
    start: WorldTime
    shortest: int
    person_id: str
    partner_id: str
    with_npc: bool
    turns: int = 0
    over: bool = False
    closed: bool = False

    @property
    def end(self) -> WorldTime:
        """When it ends; while it is not over, the earliest time it can end."""
        return WorldTime(self.start + max(self.shortest, self.turns if self.over else self.turns + 1))

    @property
    def speaker_id(self) -> str:
        """Whose turn is next: who began the talk begins."""
        return self.partner_id if self.turns % 2 else self.person_id

    @property
    def characters(self) -> tuple[str, ...]:
        """The characters in it: one or two."""
        return (self.person_id,) if self.with_npc else (self.person_id, self.partner_id)

    def other(self, person_id: str) -> str:
        """With whom that one talks."""
        return self.partner_id if person_id == self.person_id else self.person_id

    def takes(self, t: WorldTime) -> bool:
        """Whether it goes on at `t`; asked only where the gates have made sure that this is known."""
        return self.start <= t < self.end


def _start(activity: Activity) -> WorldTime:
    return activity.start
