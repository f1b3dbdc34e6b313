"""The check of who can get where: one connected world, no node walled in by NPCs, no NPC or facility out of reach."""

from collections.abc import Iterator

import networkx as nx

from service.content.files import MAPS_FILE
from service.content.maps import MapsFile, world_map
from service.content.problem import ContentProblem, listed, problem, quote
from service.content.references import entries


def check_connectivity(maps: MapsFile) -> Iterator[ContentProblem]:
    """Every part of the maps that walkers cannot reach, and every NPC and facility nobody can come to.

    Raises:
        UnknownPlace, ValueError: as `world_map`; `check_maps` has to find nothing before.
    """
    yield from _MapGraph(maps).problems()


class _MapGraph:
    """The maps as one graph, with each node's place in the file."""

    def __init__(self, maps: MapsFile) -> None:
        self._maps = maps
        self._world = world_map(maps, "en")
        self._keys = {node.id: key for key, node in entries(maps, "nodes")}
        self._order = {node: number for number, node in enumerate(self._keys)}
        self._holders = {node: npc for npc, node in self._world.posts.items()}

    def problems(self) -> Iterator[ContentProblem]:
        lost: set[str] = set()
        walled_in: set[str] = set()
        wholes = self._parts(self._world.graph)
        for part in wholes[1:]:
            lost |= part
            yield self._unconnected(part)
        for whole in wholes:
            for region in self._parts(self._world.open_graph.subgraph(whole - self._world.closed_nodes))[1:]:
                walled_in |= region
                yield self._walled_in(region)
        yield from self._lonely_npcs(lost)
        yield from self._locked_facilities(walled_in)

    def _parts(self, graph: "nx.Graph[str]") -> list[set[str]]:
        """The graph's connected parts, the largest first, else as in the file."""
        return sorted(
            nx.connected_components(graph), key=lambda part: (-len(part), min(map(self._order.__getitem__, part)))
        )

    def _sorted(self, nodes: set[str]) -> list[str]:
        return sorted(nodes, key=self._order.__getitem__)

    def _unconnected(self, part: set[str]) -> ContentProblem:
        nodes = self._sorted(part)
        return problem(MAPS_FILE, self._keys[nodes[0]], "content.unconnected", nodes=listed(nodes))

    def _walled_in(self, region: set[str]) -> ContentProblem:
        nodes = self._sorted(region)
        walls = self._sorted({n for node in region for n in self._world.graph.neighbors(node)} & set(self._holders))
        npcs = [self._holders[node] for node in walls]
        facts = {"nodes": listed(nodes), "npcs": listed(npcs), "walls": listed(walls)}
        return problem(MAPS_FILE, self._keys[nodes[0]], "content.walled_in", **facts)

    def _lonely_npcs(self, lost: set[str]) -> Iterator[ContentProblem]:
        for key, post in entries(self._maps, "npcs"):
            npc, node = post.npc_id, post.spawn_node_id
            if node not in lost and not self._world.beside(node):
                yield problem(MAPS_FILE, (*key, "spawnNodeId"), "content.lonely_npc", npc=quote(npc), node=quote(node))

    def _locked_facilities(self, walled_in: set[str]) -> Iterator[ContentProblem]:
        for key, place in entries(self._maps, "facilities"):
            if walled_in.union(self._holders).issuperset(place.nodes):
                facts = {"facility": quote(place.id), "nodes": listed(place.nodes)}
                yield problem(MAPS_FILE, (*key, "nodes"), "content.locked_facility", **facts)
