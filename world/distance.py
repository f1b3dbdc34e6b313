"""Owns how near things are in walking minutes, and the ways over the open map: one search for each set of goals, kept.
NPC posts are closed.
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import lt

from world.errors import Unreachable
from world.places import WorldMap

Row = Sequence[int]
"""Walking minutes to the nearest of some goals from every open node, by `DistanceFields.node_indexes`; FAR where no
way leads.
"""

FAR = 1 << 30
"""More minutes than any walk takes."""


class DistanceFields:
    """The rows of one map: 4 bytes a node for each set of goals. They are never dropped, for there are no more sets of
    goals than nodes, posts, facilities and surroundings of nodes. Safe for concurrent readers: two that ask first may
    both search, with the same result.
    """

    def __init__(self, world_map: WorldMap) -> None:
        self._map = world_map
        self.ids = tuple(sorted(world_map.open_graph))
        """The open nodes; a node's place here is its index."""
        self.node_indexes = {node_id: i for i, node_id in enumerate(self.ids)}
        self._steps = tuple(
            tuple(
                sorted(
                    (self.node_indexes[other], int(way["minutes"]))
                    for other, way in world_map.open_graph.adj[node_id].items()
                )
            )
            for node_id in self.ids
        )
        self._longest = max((minutes for steps in self._steps for _, minutes in steps), default=0)
        self.row = cache(self._search_known)
        """To the nearest of some goals; closed ones among them are passed over. Raises: UnknownPlace."""

    def _search_known(self, goals: frozenset[str]) -> Row:
        for goal in goals:
            self._map.node(goal)
        return self.search(goals)

    def steps(self, start: int, row: Row) -> Iterator[tuple[int, int]]:
        """(node index, minutes still to walk) after each step of the shortest way; of equally long ways, the smallest
        next node id wins. Where no way leads nothing comes.
        """
        here, left = start, row[start]
        while 0 < left < FAR:
            for other, minutes in self._steps[here]:
                if row[other] + minutes == left:
                    here, left = other, left - minutes
                    break
            yield here, left

    def search(self, goals: frozenset[str], *, at_most: int = FAR) -> Row:
        """Dijkstra from the goals outwards, a minute at a time: no step is longer than there are rings. Ways are the
        same length in both directions. What is farther than `at_most` is FAR.
        """
        found, steps, rings = [FAR] * len(self.ids), self._steps, [list[int]() for _ in range(self._longest + 1)]
        rings[0] = [self.node_indexes[goal] for goal in goals if goal in self.node_indexes]
        for i in rings[0]:
            found[i] = 0
        so_far, silent, size = 0, 0, len(rings)
        while silent <= self._longest and so_far <= at_most:
            ring = rings[so_far % size]
            silent = 0 if ring else silent + 1
            for i in ring:
                if found[i] == so_far:
                    for other, minutes in steps[i]:
                        through = so_far + minutes
                        if through < found[other]:
                            found[other] = through
                            rings[through % size].append(other)
            ring.clear()
            so_far += 1
        return array("i", found if at_most == FAR else [m if m <= at_most else FAR for m in found])


class Distances:
    """What perception and causality ask of a map. `fields`: to share rows with others.

    In sight is what lies within `sight_minutes`, in the same facility, or next to one; within talking distance is who
    is next to one (`WorldMap.next_to`) and within `sight_minutes`.
    """

    def __init__(self, world_map: WorldMap, fields: DistanceFields | None = None, *, sight_minutes: int = 3) -> None:
        self._map = world_map
        self._sight_minutes = sight_minutes
        self._fields = fields or DistanceFields(world_map)
        self._ids, self._node_indexes = self._fields.ids, self._fields.node_indexes
        self._named: dict[tuple[str, str], Row] = {}
        self.in_sight = cache(self._look_around)
        """The nodes a person on a node perceives (P(u)), itself included, with the minutes to walk there."""
        self.in_talk = cache(self._near_enough)
        """The nodes in sight from which a person on a node can be talked to, itself included."""
        self.npcs_in_sight = cache(self._npcs_around)
        """The NPCs a person on a node perceives, sorted."""

    def node_index(self, node_id: str) -> int:
        """The index of an open node in every row. Raises: KeyError."""
        return self._node_indexes[node_id]

    def npcs_beside(self, node_id: str) -> tuple[str, ...]:
        """The NPCs to whom one speaks from the node, sorted."""
        return self._npcs_at.get(node_id, ())

    def to_sight(self, node_id: str) -> Row:
        """Minutes to the nearest node in sight of `node_id`."""
        return self._row("sight", node_id, self.in_sight)

    def to_talk(self, node_id: str) -> Row:
        """Minutes to the nearest node from which a person on `node_id` can be talked to."""
        return self._row("talk", node_id, self.in_talk)

    def to_npc(self, npc_id: str) -> Row:
        """Minutes to the nearest node beside the NPC."""
        return self._row("npc", npc_id, self._beside.__getitem__)

    def to_npcs_in_sight(self, node_id: str) -> Row:
        """Minutes to the nearest node beside any NPC that is in sight of `node_id`."""
        return self._row("npcs", node_id, self._beside_npcs_in_sight)

    def to_facility(self, facility_id: str) -> Row:
        """Minutes to the nearest node of the facility."""
        return self._row("facility", facility_id, lambda i: self._map.facility(i).node_ids)

    @cached_property
    def longest_talk_walk(self) -> int:
        """The most minutes that two characters who can talk stand apart."""
        return max((self.in_sight(a)[b] for a in self._ids for b in self.in_talk(a)), default=0)

    @cached_property
    def _npcs_at(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for npc_id, beside in self._beside.items():
            for node_id in beside:
                found[node_id] = (*found.get(node_id, ()), npc_id)
        return found

    @cached_property
    def _beside(self) -> Mapping[str, tuple[str, ...]]:
        return {npc_id: self._map.beside(node_id) for npc_id, node_id in sorted(self._map.posts.items())}

    def _near_enough(self, node_id: str) -> frozenset[str]:
        sight = self.in_sight(node_id)
        beside = {node_id, *self._map.beside(node_id)}
        return frozenset(n for n in beside if sight.get(n, FAR) <= self._sight_minutes)

    def _npcs_around(self, node_id: str) -> tuple[str, ...]:
        sight = self.in_sight(node_id)
        return tuple(npc_id for npc_id, beside in self._beside.items() if any(n in sight for n in beside))

    def _look_around(self, node_id: str) -> Mapping[str, int]:
        wanted = {n for f in self._map.facilities_at(node_id) for n in f.node_ids} | set(self._map.beside(node_id))
        minutes = self._fields.search(frozenset((node_id,)), at_most=self._sight_minutes)
        near = {self._ids[i]: m for i, m in enumerate(minutes) if m <= self._sight_minutes}
        far = [n for n in wanted if n in self._node_indexes and n not in near]
        if far:
            minutes = self._fields.row(frozenset((node_id,)))
            near |= {n: minutes[self._node_indexes[n]] for n in far if minutes[self._node_indexes[n]] < FAR}
        return dict(sorted(near.items()))

    def _beside_npcs_in_sight(self, node_id: str) -> set[str]:
        return {n for npc_id in self.npcs_in_sight(node_id) for n in self._beside[npc_id]}

    def _row(self, what: str, key: str, goals_of: Callable[[str], Iterable[str]]) -> Row:
        row = self._named.get((what, key))
        if row is None:
            row = self._named[what, key] = self._fields.row(frozenset(goals_of(key)))
        return row


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
