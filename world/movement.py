"""Owns where everybody is at a world time: stays and walks, positions on the map, who stands next to whom."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, lt
from typing import Self

from world.places import WorldMap
from world.routes import Path
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
    progress: float = 0.0

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
        """Only what of it was reached by `t`, which is no earlier than its start: who stops there is on the last
        node.
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
    """The ids, sorted, of who stands next to the person; somebody who walks is next to nobody. One pass over all.

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
