"""Owns where people of a world work and stand: at a facility of that name, where such an action is possible, or at a
place of the kind that such works need; further NPCs on nodes that nobody has to cross, and that are nobody's home.
Pure.
"""

import re
from collections.abc import Iterable, Iterator

import networkx as nx

from service.public.files import Content, Facility, Where, WorldMap
from service.public.words import Language, languages
from studio.generate.people.parts import Work, found, parts

_BUSY = 3
"""A node where so many ways meet is left open."""
_MOST = 0.25
"""The part of the open nodes that may be closed."""
_HOME = "home"


def open_posts(world: Content) -> list[str]:
    """Nodes that may be closed all at once: everybody still gets everywhere. The most remote first."""
    world_map = world.cast(world.default_language).world_map
    graph = world_map.open_graph.copy()
    kept = {one.home for one in world.cast(world.default_language).characters.values()}
    kept |= {node for place in world_map.facilities.values() if _HOME in place.tags for node in place.node_ids}
    most = int(len(graph) * _MOST)
    chosen: list[str] = []
    for node in sorted(graph, key=lambda node: (graph.degree(node), node)):
        if len(chosen) < most and node not in kept and graph.degree(node) < _BUSY and _may_go(graph, node, world_map):
            graph.remove_node(node)
            chosen.append(node)
            kept |= _last_neighbours(world_map, chosen, graph)
    return chosen


def _may_go(graph: "nx.Graph[str]", node: str, world_map: WorldMap) -> bool:
    """Whether the rest stays whole, and every facility has a node."""
    rest = graph.subgraph(set(graph) - {node})
    if not rest or not nx.is_connected(rest) or not any(graph.neighbors(node)):
        return False
    places = [place for place in world_map.facilities.values() if node in place.node_ids]
    return all(any(other in rest for other in place.node_ids) for place in places)


def _last_neighbours(world_map: WorldMap, chosen: list[str], graph: "nx.Graph[str]") -> set[str]:
    """Nodes from which alone somebody at a post can be talked to."""
    closed = [*world_map.closed_nodes, *chosen]
    beside = [[node for node in world_map.graph.neighbors(post) if node in graph] for post in closed]
    return {nodes[0] for nodes in beside if len(nodes) == 1}


PAID = "work"
"""The tag of facilities where people earn something."""


def known_works(world: Content, language: Language) -> list[str]:
    """The works of the parts that this world has a place for, and those that need none, by their names."""
    there = parts(language).works.values()
    return [work.name for work in there if work.anywhere or workplaces(work.name, world)]


def workplaces(work: str, world: Content) -> list[Facility]:
    """Where the work may be done, the best first; nothing: nowhere in particular."""
    wanted = work.strip().casefold()
    named = [place for place in facilities(world) if wanted in {name.casefold() for name in _names(place, world)}]
    if named or not work:
        return named
    actions = [one for language in languages() for one in world.cast(language).catalogue.actions]
    tags = {
        tag
        for action in actions
        if action.where is Where.FACILITY and wanted in (action.id.casefold(), action.name.casefold())
        for tag in action.tags
    }
    if tags:
        return [place for place in facilities(world) if place.tags & tags]
    work_id = found("works", work)
    return places_of(parts(world.default_language).works[work_id], world) if work_id else []


def places_of(work: Work, world: Content) -> list[Facility]:
    """Where such works are done: in places that are called so, else in places of that kind."""
    places = [place for place in facilities(world) if _HOME not in place.tags]
    by_name = [place for place in places if any(_says(text, work.places) for text in _names(place, world))]
    return by_name or [place for place in places if not place.tags.isdisjoint(work.tags)]


def paid_places(world: Content) -> list[Facility]:
    """Where anybody may earn something."""
    return [place for place in facilities(world) if PAID in place.tags]


def facilities(world: Content, language: Language | None = None) -> list[Facility]:
    """All places of the world, by their ids; with their names in that language (None: the game's own)."""
    places = world.cast(language or world.default_language).world_map.facilities
    return [places[place_id] for place_id in sorted(places)]


def _names(place: Facility, world: Content) -> Iterator[str]:
    yield place.id
    yield from (world.cast(language).world_map.facilities[place.id].name for language in languages())


def _says(text: str, words: Iterable[str]) -> bool:
    """Whether one of the words is in the text: a whole one, where it is written with spaces between words."""
    told = text.casefold()
    apart = set(re.split(r"[^a-z]+", told))
    return any(word in apart if word.isascii() else word in told for word in words)
