"""Owns how near things are in walking minutes: what is in sight of a node, who can talk, how far to either."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property

from world.distance_fields import FAR as FAR
from world.distance_fields import DistanceFields
from world.distance_fields import Row as Row
from world.errors import WorldError
from world.places import WorldMap


class TalkTooShort(WorldError):
    """The shortest talk is over before the longest walk between two who can talk: running ahead would not be safe."""

    def __init__(self, talk_min: int, walk_minutes: int) -> None:
        super().__init__(
            f"a talk takes at least {talk_min} minutes, but two who can talk may stand {walk_minutes} minutes apart; "
            f"set the shortest talk to {walk_minutes} or more"
        )
        self.talk_min = talk_min
        self.walk_minutes = walk_minutes


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
