"""Owns how many minutes it is from everywhere to a goal, over the open map: one search for each set of goals, kept."""

from array import array
from collections.abc import Iterator, Sequence
from functools import cache

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
