"""Owns what of a world does not change while it lives: its map, ways, distances, needs and actions, and its rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from world.actions import ActionDef, Catalogue
from world.distance import DistanceFields, Distances, Routes
from world.errors import TalkTooShort
from world.places import Facility, WorldMap


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """`talk_min`: minutes a talk takes at least. `retry`: minutes of waiting when what was chosen is not to be had.
    `table`: most people in one talk; 2: nobody joins.
    """

    talk_min: int = 3
    retry: int = 5
    table: int = 4


@dataclass(frozen=True)
class Setting:
    """Everything fixed.

    Raises:
        TalkTooShort: two who can talk stand farther apart than the shortest talk lasts.
    """

    world_map: WorldMap
    catalogue: Catalogue
    rules: Rules = Rules()

    def __post_init__(self) -> None:
        if self.rules.talk_min < self.distances.longest_talk_walk:
            raise TalkTooShort(self.rules.talk_min, self.distances.longest_talk_walk)

    @cached_property
    def _fields(self) -> DistanceFields:
        return DistanceFields(self.world_map)

    @cached_property
    def routes(self) -> Routes:
        """The ways over the map."""
        return Routes(self.world_map, self._fields)

    @cached_property
    def distances(self) -> Distances:
        """How near things are on the map."""
        return Distances(self.world_map, self._fields)

    @cached_property
    def facilities_for(self) -> Mapping[str, tuple[Facility, ...]]:
        """For each action by its id the facilities with one of its tags, sorted by id."""
        facilities = [facility for _, facility in sorted(self.world_map.facilities.items())]
        return {a.id: tuple(one for one in facilities if one.tags & a.tags) for a in self.catalogue.actions}

    @cached_property
    def seated(self) -> Mapping[str, tuple[ActionDef, ...]]:
        """For each facility the actions done there that need a seat, in the author's order."""
        return {
            facility_id: tuple(a for a in self.catalogue.actions if a.seats is not None and a.tags & facility.tags)
            for facility_id, facility in self.world_map.facilities.items()
        }

    @cached_property
    def gates(self) -> Mapping[str, tuple[str, ...]]:
        """For each map the open nodes of other maps that an exit leads to, sorted."""
        found: dict[str, set[str]] = {}
        for edge in self.world_map.edges:
            for here, there in ((edge.a, edge.b), (edge.b, edge.a)):
                map_id = self.world_map.node(here).map_id
                if map_id != self.world_map.node(there).map_id and there not in self.world_map.closed_nodes:
                    found.setdefault(map_id, set()).add(there)
        return {map_id: tuple(sorted(nodes)) for map_id, nodes in found.items()}
