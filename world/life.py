"""Owns a character's life as a value: what it does from when to when, where on the map, what it waits for, and the talk
it is in.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter, lt
from typing import Self

from world.actions import Option
from world.distance import Path
from world.needs import Levels
from world.places import WorldMap
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """On `node_id`, or on the way from it `toward` the next node, of which `progress` (0 up to 1) is done.

    Raises:
        ValueError: progress outside 0..1, or progress towards nowhere.
    """

    node_id: str
    """the node it is on, or left last"""
    toward: str | None = None
    """the next node of its way; null: it stands"""
    progress: float = 0.0
    """how much of the way to `toward` is done, 0 up to 1"""

    def __post_init__(self) -> None:
        if not 0 <= self.progress < 1 or (self.progress and self.toward is None):
            raise ValueError(f"progress {self.progress} from {self.node_id!r} toward {self.toward!r}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A piece of somebody's life on the map: the nodes of `path`, each reached at its world time in `times`.

    A walk has several nodes, a stay has one. It holds until the person's next segment starts: who has arrived stays.

    Raises:
        ValueError: no node, not one time a node, or times that do not grow.
    """

    path: tuple[str, ...]
    """the nodes of the way, from where it stands"""
    times: tuple[WorldTime, ...]

    def __post_init__(self) -> None:
        if not self.path or len(self.path) != len(self.times):
            raise ValueError(f"a segment has one time a node: {self.path}, {self.times}")
        if not all(map(lt, self.times, self.times[1:])):
            raise ValueError(f"every step of a walk takes a minute or more: {self.times}")

    @classmethod
    def stay(cls, node_id: str, since: WorldTime) -> Self:
        """On one node from `since` on."""
        return cls(path=(node_id,), times=(since,))

    @classmethod
    def walk(cls, path: Path, departs: WorldTime) -> Self:
        """Along the path without a pause; a path of one node is a stay."""
        return cls(path=path.nodes, times=tuple(WorldTime(departs + offset) for offset in path.offsets))

    @property
    def start(self) -> WorldTime:
        """When it begins: the departure of a walk."""
        return self.times[0]

    @property
    def arrival(self) -> WorldTime:
        """When the last node is reached; of a stay, when it begins."""
        return self.times[-1]

    def until(self, t: WorldTime) -> Self:
        """The part of it that was reached by `t`, which is no earlier than its start: a walker that stops is on the
        last node.
        """
        reached = bisect_right(self.times, t)
        return self if reached == len(self.path) else type(self)(path=self.path[:reached], times=self.times[:reached])

    def cut(self, t: WorldTime) -> Self:
        """What follows when the person stops at `t`: a stay from `t` on, at the last node reached by then."""
        return self.stay(node_at(self, t), t)


def position_at(segment: Segment, t: WorldTime) -> Position:
    """Where the segment has the person at `t`: on the first node before it starts, on the last after it arrives."""
    reached = _reached(segment, t)
    node_id = segment.path[reached]
    if not walking_at(segment, t):
        return Position(node_id=node_id)
    since, until = segment.times[reached], segment.times[reached + 1]
    return Position(node_id=node_id, toward=segment.path[reached + 1], progress=(t - since) / (until - since))


def node_at(segment: Segment, t: WorldTime) -> str:
    """The last node reached at or before `t`; before the start, the first node."""
    return segment.path[_reached(segment, t)]


def walking_at(segment: Segment, t: WorldTime) -> bool:
    """Whether the person is on the way: from the minute of departure until before the arrival."""
    return segment.start <= t < segment.arrival


def latest(segments: Sequence[Segment], t: WorldTime) -> Segment:
    """The segment that holds at `t`, of one person's segments sorted by start; before all of them, the first.

    Of segments that start together the last one holds.

    Raises:
        ValueError: no segments.
    """
    if not segments:
        raise ValueError("a person without a segment is nowhere")
    return segments[max(0, bisect_right(segments, t, key=attrgetter("start")) - 1)]


def neighbours(world_map: WorldMap, positions: Mapping[str, Position], person_id: str) -> tuple[str, ...]:
    """The ids, sorted, of people next to the person; a walker is next to nobody. One pass over all.

    Raises:
        KeyError: the person has no position.
        UnknownPlace: the person stands on a node the map does not have.
    """
    here = positions[person_id]
    if here.toward is not None:
        return ()
    world_map.node(here.node_id)
    near = {here.node_id, *world_map.graph.neighbors(here.node_id)}
    return tuple(
        sorted(
            other_id
            for other_id, other in positions.items()
            if other.toward is None and other.node_id in near and other_id != person_id
        )
    )


def _reached(segment: Segment, t: WorldTime) -> int:
    return max(0, bisect_right(segment.times, t) - 1)


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


class LifeState(StrEnum):
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
    state: LifeState = LifeState.DECIDES
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


@dataclass(frozen=True, kw_only=True, slots=True)
class TalkState:
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
        """Those who are there just before the turn of minute `t` is spoken, however many turns were spoken since."""
        return self.hears(min(self.turns, t - self.start))

    def over_before(self, t: WorldTime) -> bool:
        """Whether its last turn was spoken before `t`."""
        return self.over and self.turns <= t - self.start

    def members_before(self, t: WorldTime) -> tuple[str, ...]:
        """All who were in it before `t`, also if they have left."""
        since = dict(self.joined)
        return tuple(i for i in self.members if self.start + since.get(i, -1) < t)

    def seen(self, t: WorldTime) -> tuple[str, ...]:
        """The members that the snapshot of `t` shows: one that joins at `t` is not seen yet, one that leaves at `t` no
        more.
        """
        until = {person_id: self.leaving(turn) for person_id, turn in self.left}
        return tuple(i for i in self.members_before(t) if t < until.get(i, t + 1))

    def leaving(self, turn: int) -> WorldTime:
        """When a member goes that does not hear that turn any more: no earlier than any talk may end."""
        return WorldTime(self.start + max(self.shortest, turn))

    def takes(self, person_id: str, t: WorldTime) -> bool:
        """Whether that member of it talks at `t`; asked only where the gates have made sure that this is known."""
        until = next((self.leaving(turn) for i, turn in self.left if i == person_id), self.end)
        return self.start <= t < until
