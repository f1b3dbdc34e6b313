"""Owns the maps the tests of the world walk on: random ones for hypothesis, and small ones drawn by hand."""

from collections.abc import Mapping

import networkx as nx
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from world.places import Edge, Node, WorldMap, index_nodes

modest = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def draw_map(*ways: tuple[str, str, int], alone: str = "", posts: Mapping[str, str] | None = None) -> WorldMap:
    """A map of the ways given (node, node, minutes) and of nodes that stand alone (one letter each)."""
    ids = dict.fromkeys([*(end for way in ways for end in way[:2]), *alone])
    return WorldMap(
        nodes=index_nodes(Node(id=i, map_id="town", x=0, y=0) for i in ids),
        edges=tuple(Edge(a=a, b=b, minutes=minutes) for a, b, minutes in ways),
        posts=posts or {},
    )


@st.composite
def random_maps(draw: st.DrawFn) -> WorldMap:
    """Up to ten nodes, connected or not, parallel edges allowed, some of the nodes closed by an NPC's post."""
    ids = [f"n{i}" for i in range(draw(st.integers(1, 10)))]
    node = st.sampled_from(ids)
    # Few different lengths, so that equally long ways are common.
    ends = st.tuples(node, node).filter(lambda pair: pair[0] != pair[1])
    way = st.builds(lambda pair, m: Edge(a=pair[0], b=pair[1], minutes=m), ends, st.integers(1, 4))
    edges = draw(st.lists(way, max_size=20)) if len(ids) > 1 else []
    posts = draw(st.sets(node, max_size=3))
    return WorldMap(
        nodes=index_nodes(Node(id=i, map_id="town", x=0, y=0) for i in ids),
        edges=tuple(edges),
        posts={f"npc_{i}": i for i in sorted(posts)},
    )


def open_ways(world_map: WorldMap) -> "nx.Graph[str]":
    """What a walker may use, built from the edges alone: the oracle the routes are held against."""
    closed = set(world_map.posts.values())
    ways: nx.Graph[str] = nx.Graph()
    ways.add_nodes_from(node for node in world_map.nodes if node not in closed)
    for edge in sorted(world_map.edges, key=lambda e: -e.minutes):
        if edge.a not in closed and edge.b not in closed:
            ways.add_edge(edge.a, edge.b, minutes=edge.minutes)
    return ways


def shortest(world_map: WorldMap, start: str) -> dict[str, int]:
    """Minutes from `start` to every node it can reach, as networkx has it; empty from a closed node."""
    ways = open_ways(world_map)
    if start not in ways:
        return {}
    lengths = nx.single_source_dijkstra_path_length(ways, start, weight="minutes")
    return {node: int(minutes) for node, minutes in lengths.items()}
