"""Owns where further NPCs may stand: on nodes that nobody has to cross, and that are nobody's home. Pure."""

import networkx as nx

from service.content.load import Content
from world.places import WorldMap

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
