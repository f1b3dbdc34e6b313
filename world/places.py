"""Owns the map: nodes, edges in minutes, facilities with opening hours, exits between maps, NPC posts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import networkx as nx

from world.errors import UnknownPlace
from world.time import MINUTES_PER_DAY, WorldTime, clock, minute_of_day


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A place a person can stand on; `x` and `y` are drawing units of its map."""

    id: str
    """id of the node"""
    map_id: str
    """id of the map it is on"""
    x: float
    """how far right it is drawn, in the map's own units"""
    y: float
    """how far down it is drawn, in the map's own units"""
    name: str = ""
    """its name in the world's language; may be empty"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """A way between two nodes, walked in `minutes` (1 or more) in either direction.

    An exit, the way from one map to another, is an edge whose ends lie on two maps.
    """

    a: str
    """the node at one end"""
    b: str
    """the node at the other end"""
    minutes: int
    """world minutes it takes to walk it, either way"""

    def __post_init__(self) -> None:
        """Raises: ValueError: it takes less than a minute, or leads nowhere."""
        if self.minutes < 1 or self.a == self.b:
            raise ValueError(f"an edge joins two nodes by a minute or more: {self}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hours:
    """Open from `opens` until before `closes`, minutes of the day; `closes` <= `opens` runs past midnight."""

    opens: int
    closes: int

    @property
    def label(self) -> str:
        """``06:00-22:00``."""
        return f"{clock(self.opens)}-{clock(self.closes)}"

    def contain(self, minute: int) -> bool:
        """Whether the minute of the day (0..1439) lies within."""
        if self.opens < self.closes:
            return self.opens <= minute < self.closes
        return minute >= self.opens or minute < self.closes


ALWAYS_OPEN = (Hours(opens=0, closes=MINUTES_PER_DAY),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Facility:
    """A shop, field or house: what can be done there (`tags`), from which nodes, and when."""

    id: str
    """id of the facility"""
    map_id: str
    """id of the map it is on"""
    name: str
    """its name in the world's language"""
    node_ids: tuple[str, ...]
    """the nodes from which it can be used"""
    description: str = ""
    """what it is and sells, in the world's language; may be empty"""
    tags: frozenset[str] = frozenset()
    hours: tuple[Hours, ...] = ALWAYS_OPEN

    def open_at(self, t: WorldTime) -> bool:
        """Whether it is open at that world time."""
        return any(h.contain(minute_of_day(t)) for h in self.hours)


@dataclass(frozen=True, kw_only=True)
class WorldMap:
    """All maps of a world as one graph. `posts` names the node each NPC stands on: closed to walkers. `bases` names
    the node of each NPC that may leave it: it walks as a character does.

    Raises:
        UnknownPlace: an edge, facility or post names a node that is not there.
    """

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    facilities: Mapping[str, Facility] = field(default_factory=dict)
    posts: Mapping[str, str] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    map_names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ends = {end for edge in self.edges for end in (edge.a, edge.b)}
        places = {node_id for facility in self.facilities.values() for node_id in facility.node_ids}
        for node_id in sorted((ends | places | set(self.npc_nodes.values())) - set(self.nodes)):
            raise UnknownPlace("node", node_id)

    @cached_property
    def npc_nodes(self) -> Mapping[str, str]:
        """The node that is each NPC's own."""
        return {**self.posts, **self.bases}

    @cached_property
    def graph(self) -> "nx.Graph[str]":
        """Every node and edge; edge attribute `minutes`. Of parallel edges the shortest counts."""
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.nodes)
        for edge in self.edges:
            known = graph.get_edge_data(edge.a, edge.b)
            minutes = min(edge.minutes, known["minutes"]) if known else edge.minutes
            graph.add_edge(edge.a, edge.b, minutes=minutes)
        return graph

    @cached_property
    def closed_nodes(self) -> frozenset[str]:
        """The nodes NPCs stand on."""
        return frozenset(self.posts.values())

    @cached_property
    def open_graph(self) -> "nx.Graph[str]":
        """The graph without the closed nodes, copied once."""
        graph = self.graph.copy()
        graph.remove_nodes_from(self.closed_nodes)
        return graph

    def node(self, node_id: str) -> Node:
        """Raises: UnknownPlace."""
        try:
            return self.nodes[node_id]
        except KeyError:
            raise UnknownPlace("node", node_id) from None

    def facility(self, facility_id: str) -> Facility:
        """Raises: UnknownPlace."""
        try:
            return self.facilities[facility_id]
        except KeyError:
            raise UnknownPlace("facility", facility_id) from None

    def next_to(self, a: str, b: str) -> bool:
        """Whether people on the two nodes stand close enough to talk: the same node, or joined by an edge."""
        return a == b or self.graph.has_edge(a, b)

    def beside(self, node_id: str) -> tuple[str, ...]:
        """Open nodes from which a person on `node_id` can be talked to, sorted. Raises: UnknownPlace."""
        self.node(node_id)
        return tuple(sorted(n for n in self.graph.neighbors(node_id) if n not in self.closed_nodes))

    def facilities_at(self, node_id: str) -> tuple[Facility, ...]:
        """Facilities that can be used from this node, sorted by id."""
        return self._facilities_by_node.get(node_id, ())

    def label(self, node_id: str) -> str:
        """What a person would call the node: its name, else its facility's, else its map's, else its id."""
        node = self.node(node_id)
        here = self.facilities_at(node_id)
        return node.name or (here[0].name if here else "") or self.map_names.get(node.map_id, "") or node.id

    @cached_property
    def _facilities_by_node(self) -> Mapping[str, tuple[Facility, ...]]:
        by_node: dict[str, list[Facility]] = {}
        for facility in sorted(self.facilities.values(), key=lambda f: f.id):
            for node_id in facility.node_ids:
                by_node.setdefault(node_id, []).append(facility)
        return {node_id: tuple(found) for node_id, found in by_node.items()}


def index_nodes(nodes: Iterable[Node]) -> dict[str, Node]:
    """Nodes by id."""
    return {node.id: node for node in nodes}
