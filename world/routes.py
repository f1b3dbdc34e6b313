"""Owns ways over the open map: who can walk where, along which nodes, in how many minutes. NPC posts are closed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise

import networkx as nx

from world.errors import Unreachable
from world.places import WorldMap

Field = Mapping[str, tuple[int, str]]
"""For every node that can reach a destination: minutes still to walk, and the next node (itself on arrival)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A way: the nodes in order, and how many minutes after departure each is reached (0 for the first).

    Raises:
        ValueError: no node, not one offset a node, or offsets that do not grow from 0.
    """

    nodes: tuple[str, ...]
    offsets: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.nodes or len(self.nodes) != len(self.offsets) or self.offsets[0] != 0:
            raise ValueError(f"a path has one offset a node, from 0 on: {self.nodes}, {self.offsets}")
        if any(later <= earlier for earlier, later in pairwise(self.offsets)):
            raise ValueError(f"every step of a path takes a minute or more: {self.offsets}")

    @property
    def minutes(self) -> int:
        """Minutes from the first node to the last."""
        return self.offsets[-1]


class Routes:
    """Shortest ways over the open nodes of one map. Of ways equally long, each step takes the smallest node id.

    One reverse search per destination, kept for good: a walk to a known destination only follows it. The cache is
    an unbounded dict, for there are no more destinations than nodes, posts and node sets of facilities; each costs
    one entry a node. Safe for concurrent readers: two that ask first may both search, with the same result.
    """

    def __init__(self, world_map: WorldMap) -> None:
        self._map = world_map
        self._steps: dict[str, tuple[tuple[str, int], ...]] = {
            node: tuple((other, edge["minutes"]) for other, edge in ways.items())
            for node, ways in world_map.open_graph.adjacency()
        }
        self._fields: dict[frozenset[str], Field] = {}

    def minutes(self, start: str, goal: str) -> int:
        """Minutes to walk from one node to the other.

        Raises:
            Unreachable: no open way; also when either end is closed, even if both are the same.
            UnknownPlace: a node the map does not have.
        """
        field = self._field(frozenset((goal,)))
        if start not in field:
            raise self._unreachable(start, goal)
        return field[start][0]

    def path(self, start: str, goal: str) -> Path:
        """The shortest way from one node to the other.

        Raises:
            Unreachable: no open way; also when either end is closed, even if both are the same.
            UnknownPlace: a node the map does not have.
        """
        return self._path(start, frozenset((goal,)), goal)

    def path_to_any(self, start: str, goals: Collection[str]) -> Path:
        """The shortest way to the nearest of several nodes; closed ones among them are passed over.

        Raises:
            Unreachable: no open way to any; its `goal` lists them all, sorted.
            UnknownPlace: a node the map does not have.
            ValueError: no goals.
        """
        if not goals:
            raise ValueError("path_to_any needs at least one goal")
        return self._path(start, frozenset(goals), ", ".join(sorted(set(goals))))

    def path_beside(self, start: str, post_node: str) -> Path:
        """The shortest way to where somebody on `post_node` can be talked to: one node and 0 minutes if already there.

        Raises:
            Unreachable: no open way to a neighbour of `post_node`.
            UnknownPlace: a node the map does not have.
        """
        self._map.node(post_node)
        # The node itself is a goal too: when it is open, two people on it stand beside each other (WorldMap.next_to).
        return self._path(start, frozenset((post_node, *self._map.beside(post_node))), post_node)

    def reachable(self, start: str) -> frozenset[str]:
        """Every node that can be walked to from `start`, itself included; nothing from a closed node.

        Raises:
            UnknownPlace: a node the map does not have.
        """
        self._map.node(start)
        return self._regions.get(start, frozenset())

    @cached_property
    def _regions(self) -> Mapping[str, frozenset[str]]:
        regions = map(frozenset, nx.connected_components(self._map.open_graph))
        return {node: region for region in regions for node in region}

    def _path(self, start: str, goals: frozenset[str], named: str) -> Path:
        field = self._field(goals)
        if start not in field:
            raise self._unreachable(start, named)
        left, ahead = field[start]
        total = left
        nodes, offsets = [start], [0]
        while left:
            nodes.append(ahead)
            left, ahead = field[ahead]
            offsets.append(total - left)
        return Path(nodes=tuple(nodes), offsets=tuple(offsets))

    def _unreachable(self, start: str, goal: str) -> Unreachable:
        self._map.node(start)
        return Unreachable(start, goal)

    def _field(self, goals: frozenset[str]) -> Field:
        field = self._fields.get(goals)
        if field is None:
            for goal in goals:
                self._map.node(goal)
            field = self._fields[goals] = self._search(goals)
        return field

    def _search(self, goals: frozenset[str]) -> Field:
        """Dijkstra from the goals outwards; ways are the same length in both directions."""
        field = {goal: (0, goal) for goal in goals if goal in self._steps}
        heap = sorted((0, goal) for goal in field)
        done: set[str] = set()
        while heap:
            minutes, node = heappop(heap)
            if node in done:
                continue
            done.add(node)
            for other, step in self._steps[node]:
                through = (minutes + step, node)
                known = field.get(other)
                # Comparing (minutes, next node) is the tie break: the smallest next node wins.
                if known is None or through < known:
                    field[other] = through
                    if known is None or through[0] < known[0]:
                        heappush(heap, (through[0], other))
        return field
