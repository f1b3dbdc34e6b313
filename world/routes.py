"""Owns ways over the open map: who can walk where, along which nodes, in how many minutes. NPC posts are closed."""

from collections.abc import Collection
from dataclasses import dataclass
from operator import lt

from world.distance import FAR, DistanceFields
from world.errors import Unreachable
from world.places import WorldMap


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
        if not all(map(lt, self.offsets, self.offsets[1:])):
            raise ValueError(f"every step of a path takes a minute or more: {self.offsets}")

    @property
    def minutes(self) -> int:
        """Minutes from the first node to the last."""
        return self.offsets[-1]


class Routes:
    """Shortest ways over the open nodes of one map. Of ways equally long, each step takes the smallest node id.

    A walk to a known destination only follows its row (`DistanceFields`). `fields`: to share rows with others.
    """

    def __init__(self, world_map: WorldMap, fields: DistanceFields | None = None) -> None:
        self._map = world_map
        self._fields = fields or DistanceFields(world_map)

    def minutes(self, start: str, goal: str) -> int:
        """Minutes to walk from one node to the other.

        Raises:
            Unreachable: no open way; also when either end is closed, even if both are the same.
            UnknownPlace: a node the map does not have.
        """
        row, node_index = self._fields.row(frozenset((goal,))), self._fields.node_indexes.get(start)
        if node_index is None or row[node_index] == FAR:
            raise self._unreachable(start, goal)
        return row[node_index]

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

    def _path(self, start: str, goals: frozenset[str], named: str) -> Path:
        fields = self._fields
        row, node_index = fields.row(goals), fields.node_indexes.get(start)
        if node_index is None or row[node_index] == FAR:
            raise self._unreachable(start, named)
        total = row[node_index]
        if not total:
            return Path(nodes=(start,), offsets=(0,))
        nodes, offsets = [start], [0]
        for ahead, left in fields.steps(node_index, row):
            nodes.append(fields.ids[ahead])
            offsets.append(total - left)
        return Path(nodes=tuple(nodes), offsets=tuple(offsets))

    def _unreachable(self, start: str, goal: str) -> Unreachable:
        self._map.node(start)
        return Unreachable(start, goal)
