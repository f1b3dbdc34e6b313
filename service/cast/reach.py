"""Owns the checks of who can get where: one connected world, no node walled in by NPCs, no NPC or facility out of reach."""

from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx

from service.cast.problem import ContentProblem, Key, problem, quote
from service.cast.sketch import MAPS_FILE, MapsSketch, Way
from world.places import Edge, Node, WorldMap

_SHOWN_NODES = 8


@dataclass(frozen=True, kw_only=True)
class _Ground:
    """The sketched maps as one graph. `doubtful` maps have ways that could not be made out: nobody can say there
    what is connected until these are mended.
    """

    world: WorldMap
    keys: dict[str, Key]
    order: dict[str, int]
    holders: dict[str, str]
    doubtful: frozenset[str]

    def is_doubtful(self, nodes: set[str]) -> bool:
        return any(self.world.nodes[node].map_id in self.doubtful for node in nodes)

    def parts(self, graph: "nx.Graph[str]") -> list[set[str]]:
        """The graph's connected parts, the largest first, else as in the file."""
        return sorted(nx.connected_components(graph), key=lambda part: (-len(part), self._first(part)))

    def _first(self, part: set[str]) -> int:
        return min(self.order[node] for node in part)

    def sorted(self, nodes: set[str]) -> list[str]:
        return sorted(nodes, key=self.order.__getitem__)


def check_reach(sketch: MapsSketch) -> Iterator[ContentProblem]:
    """Every part of the maps that walkers cannot reach, and every NPC and facility nobody can come to."""
    if not sketch.clear:
        return
    ground = _ground(sketch)
    lost: set[str] = set()
    for part in ground.parts(ground.world.graph)[1:]:
        if not ground.is_doubtful(part):
            lost |= part
            yield _unconnected(part, ground)
    walled_in: set[str] = set()
    for whole in ground.parts(ground.world.graph):
        open_nodes = ground.world.open_graph.subgraph(whole - ground.world.closed_nodes)
        for region in ground.parts(open_nodes)[1:]:
            if not ground.is_doubtful(region):
                walled_in |= region
                yield _walled_in(region, ground)
    yield from _lonely_npcs(sketch, ground, lost)
    yield from _locked_facilities(sketch, ground, walled_in)


def _ground(sketch: MapsSketch) -> _Ground:
    nodes: dict[str, Node] = {}
    keys: dict[str, Key] = {}
    for area in sketch.maps:
        for named in area.nodes:
            nodes.setdefault(named.id, Node(id=named.id, map_id=str(area.index), x=0, y=0))
            keys.setdefault(named.id, named.key[:-1])
    doubtful = {str(area.index) for area in sketch.maps if "edges" in area.unclear}
    if any(area.unclear & {"nodes", "exits"} for area in sketch.maps):
        doubtful |= {str(area.index) for area in sketch.maps}
    edges = []
    for area in sketch.maps:
        for way in (*area.edges, *area.exits):
            edge = _edge(way, nodes)
            if edge is not None:
                edges.append(edge)
            elif way.start.id is None or way.start.id != way.goal.id:
                doubtful |= {str(m.index) for m in sketch.maps if m is area or way in area.exits}
    posts = [post for area in sketch.maps for post in area.posts]
    holders = {post.node.id: post.npc.id or "?" for post in posts if post.node.id is not None and post.node.id in nodes}
    return _Ground(
        world=WorldMap(nodes=nodes, edges=tuple(edges), posts={node: node for node in holders}),
        keys=keys,
        order={node: i for i, node in enumerate(nodes)},
        holders=holders,
        doubtful=frozenset(doubtful),
    )


def _edge(way: Way, nodes: dict[str, Node]) -> Edge | None:
    a, b = way.start.id, way.goal.id
    return Edge(a=a, b=b, minutes=1) if a in nodes and b in nodes and a and b and a != b else None


def _names(nodes: list[str]) -> str:
    shown = ", ".join(quote(node) for node in nodes[:_SHOWN_NODES])
    return shown + (f", … ({len(nodes)})" if len(nodes) > _SHOWN_NODES else "")


def _unconnected(part: set[str], ground: _Ground) -> ContentProblem:
    nodes = ground.sorted(part)
    return problem(
        MAPS_FILE,
        ground.keys[nodes[0]],
        f"no edge or exit leads from {_names(nodes)} to the rest of the world; expected all maps to be connected",
        f"{_names(nodes)} から世界の他の場所へ続く道がありません。edges か exits でつないでください",
    )


def _walled_in(region: set[str], ground: _Ground) -> ContentProblem:
    nodes = ground.sorted(region)
    walls = {n for node in region for n in ground.world.graph.neighbors(node)} & ground.world.closed_nodes
    posts = [(ground.holders[node], node) for node in ground.sorted(walls)]
    en = ", ".join(f"{quote(npc)} on {quote(node)}" for npc, node in posts)
    ja = "、".join(f"{quote(node)} の {quote(npc)}" for npc, node in posts)
    return problem(
        MAPS_FILE,
        ground.keys[nodes[0]],
        f"{_names(nodes)} cannot be reached: enclosed by the posts of the NPCs {en}; expected a way that no NPC stands "
        "on",
        f"{_names(nodes)} に行けません。NPCの立ち位置({ja})にふさがれています。NPCの立っていない道をつないでください",
    )


def _lonely_npcs(sketch: MapsSketch, ground: _Ground, lost: set[str]) -> Iterator[ContentProblem]:
    for area in sketch.maps:
        for post in area.posts:
            node = post.node.id
            if node is None or node not in ground.keys or node in lost or ground.is_doubtful({node}):
                continue
            if not ground.world.beside(node):
                npc = quote(post.npc.id or "?")
                yield problem(
                    MAPS_FILE,
                    post.node.key,
                    f"nobody could talk to NPC {npc}: node {quote(node)} has no open neighbour; expected an edge to a "
                    "node without an NPC",
                    f"NPC {npc} に話しかけられる場所がありません。ノード {quote(node)} を、"
                    "NPCの立っていないノードと edges でつないでください",
                )


def _locked_facilities(sketch: MapsSketch, ground: _Ground, walled_in: set[str]) -> Iterator[ContentProblem]:
    for area in sketch.maps:
        for place in area.facilities:
            nodes = [ref.id for ref in place.nodes if ref.id is not None and ref.id in ground.keys]
            if not nodes or len(nodes) < len(place.nodes):
                continue
            if all(node in ground.holders or node in walled_in for node in nodes):
                yield problem(
                    MAPS_FILE,
                    (*place.key, "nodes"),
                    f"nobody can enter {quote(place.id)}: {_names(nodes)} closed or cut off by NPCs; expected at least "
                    "one node walkers can reach",
                    f"施設 {quote(place.id)} に誰も入れません。{_names(nodes)} はNPCにふさがれています。"
                    "歩いて行けるノードを1つ以上書いてください",
                )
