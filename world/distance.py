"""Owns how near things are in walking minutes, and the ways over the open map: one search for each set of goals, kept.
NPC posts are closed.
"""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import lt

from world.errors import Unreachable
from world.places import WorldMap

WalkRow = Sequence[int]
"""Walking minutes to the nearest of some goals from every open node, by `Routes.node_indexes`; FAR: there is none."""

FAR = 1 << 30
"""More minutes than any walk takes."""

SIGHT_MINUTES = 3
"""How far somebody sees, in minutes of walking."""


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

    A walk to a known destination only follows its row. Rows take 4 bytes a node for each set of goals, and are never
    dropped, for there are no more sets of goals than nodes, posts, facilities and surroundings of nodes. Safe for
    concurrent readers: two that ask first may both search, with the same result.
    """

    def __init__(self, world_map: WorldMap) -> None:
        self.world_map = world_map
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

    def _search_known(self, goals: frozenset[str]) -> WalkRow:
        for goal in goals:
            self.world_map.node(goal)
        return self.search(goals)

    def search(self, goals: frozenset[str], *, at_most: int = FAR) -> WalkRow:
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

    def minutes(self, start: str, goal: str) -> int:
        """Minutes to walk from one node to the other.

        Raises:
            Unreachable: no open way; also when either end is closed, even if both are the same.
            UnknownPlace: a node the map does not have.
        """
        row, node_index = self._row_from(start, frozenset((goal,)), goal)
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
        # The node itself is a goal too: when it is open, two people on it stand beside each other (WorldMap.next_to).
        return self._path(start, frozenset((post_node, *self.world_map.beside(post_node))), post_node)

    def _path(self, start: str, goals: frozenset[str], named: str) -> Path:
        row, node_index = self._row_from(start, goals, named)
        nodes, offsets, here, left = [start], [0], node_index, row[node_index]
        while left:
            # Of ways equally long the smallest next node id wins: the steps are sorted.
            here, left = next((i, left - minutes) for i, minutes in self._steps[here] if row[i] + minutes == left)
            nodes.append(self.ids[here])
            offsets.append(row[node_index] - left)
        return Path(nodes=tuple(nodes), offsets=tuple(offsets))

    def _row_from(self, start: str, goals: frozenset[str], named: str) -> tuple[WalkRow, int]:
        """The row to the goals, and the index of the node where the way begins."""
        row, node_index = self.row(goals), self.node_indexes.get(start)
        if node_index is None or row[node_index] == FAR:
            self.world_map.node(start)
            raise Unreachable(start, named)
        return row, node_index


class Distances:
    """What perception and causality ask of a map; `routes` has its rows.

    In sight is what lies within `SIGHT_MINUTES`, in the same facility, or next to one; within talking distance is who
    is next to one (`WorldMap.next_to`) and within `SIGHT_MINUTES`.
    """

    def __init__(self, routes: Routes) -> None:
        self._map = routes.world_map
        self._routes = routes
        self._beside = {npc_id: self._map.beside(node_id) for npc_id, node_id in sorted(self._map.posts.items())}
        self.in_sight = cache(self._look_around)
        """The nodes a person on a node perceives (P(u)), itself included, with the minutes to walk there."""
        self.in_talk = cache(self._near_enough)
        """The nodes in sight from which a person on a node can be talked to, itself included."""
        self.npcs_in_sight = cache(self._npcs_around)
        """The NPCs a person on a node perceives, sorted."""
        self.npcs_beside = cache(lambda node_id: tuple(i for i, beside in self._beside.items() if node_id in beside))
        """The NPCs to whom one speaks from a node, sorted."""
        self.to_sight = cache(lambda node_id: self._row(self.in_sight(node_id)))
        """Minutes to the nearest node in sight of a node."""
        self.to_talk = cache(lambda node_id: self._row(self.in_talk(node_id)))
        """Minutes to the nearest node from which a person on a node can be talked to."""
        self.to_npc = cache(lambda npc_id: self._row(self._beside[npc_id]))
        """Minutes to the nearest node beside an NPC."""
        self.to_npcs_in_sight = cache(self._to_npcs_around)
        """Minutes to the nearest node beside any NPC that is in sight of a node."""
        self.to_facility = cache(lambda facility_id: self._row(self._map.facility(facility_id).node_ids))
        """Minutes to the nearest node of a facility."""

    def node_index(self, node_id: str) -> int:
        """The index of an open node in every row. Raises: KeyError."""
        return self._routes.node_indexes[node_id]

    @cached_property
    def longest_talk_walk(self) -> int:
        """The most minutes that two characters who can talk stand apart."""
        return max((self.in_sight(a)[b] for a in self._routes.ids for b in self.in_talk(a)), default=0)

    def _near_enough(self, node_id: str) -> frozenset[str]:
        sight = self.in_sight(node_id)
        beside = {node_id, *self._map.beside(node_id)}
        return frozenset(n for n in beside if sight.get(n, FAR) <= SIGHT_MINUTES)

    def _npcs_around(self, node_id: str) -> tuple[str, ...]:
        sight = self.in_sight(node_id)
        return tuple(npc_id for npc_id, beside in self._beside.items() if any(n in sight for n in beside))

    def _to_npcs_around(self, node_id: str) -> WalkRow:
        return self._row({n for npc_id in self.npcs_in_sight(node_id) for n in self._beside[npc_id]})

    def _look_around(self, node_id: str) -> Mapping[str, int]:
        ids, indexes = self._routes.ids, self._routes.node_indexes
        minutes = self._routes.search(frozenset((node_id,)), at_most=SIGHT_MINUTES)
        near = {ids[i]: m for i, m in enumerate(minutes) if m <= SIGHT_MINUTES}
        wanted = {n for f in self._map.facilities_at(node_id) for n in f.node_ids} | set(self._map.beside(node_id))
        far = [n for n in wanted if n in indexes and n not in near]
        if far:
            minutes = self._routes.row(frozenset((node_id,)))
            near |= {n: minutes[indexes[n]] for n in far if minutes[indexes[n]] < FAR}
        return dict(sorted(near.items()))

    def _row(self, goals: Iterable[str]) -> WalkRow:
        return self._routes.row(frozenset(goals))
