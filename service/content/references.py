"""The checks across files that could be read: each id declared once, each one named is there, each NPC has one post;
one connected world, no node walled in by NPCs, no NPC or facility out of reach.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import networkx as nx

from service.content.fields import ContentModel, ContentProblem, Key, hint, ids_named, key_path, listed, problem, quote
from service.content.files import MAPS_FILE
from service.content.lore import LoreFile
from service.content.maps import MapEntry, MapsFile, world_map
from service.content.persons import CharacterFile, NpcFile, PersonFile
from world.time import MINUTES_PER_HOUR

Npcs = Mapping[str, NpcFile]
"""NPCs by their files."""
Characters = Mapping[str, CharacterFile]
"""Characters by their files."""
People = Mapping[str, PersonFile]
"""Everybody by their files."""


def unknown(file: str, key: Key, sentence: str, word: str, known: Iterable[str]) -> ContentProblem:
    """The word was written where an id was expected, and is none of the known ones."""
    return problem(file, key, sentence, id=quote(word), hint=hint(word, known))


def unknown_in(
    file: str, key: Key, sentence: str, words: Iterable[str], known: Collection[str]
) -> Iterator[ContentProblem]:
    """Each of the words that is none of those known."""
    for i, word in enumerate(words):
        if word not in known:
            yield unknown(file, (*key, i), sentence, word, known)


def named_once(file: str, name: str, people: Sequence[str], *inside: str) -> Iterator[ContentProblem]:
    """Each of the people in the list of that name who was named before; `inside`: its id's key."""
    for i, person_id in enumerate(people):
        if (first := people.index(person_id)) != i:
            there = f"{name}[{first}]"
            yield problem(file, (name, i, *inside), "content.known_twice", id=quote(person_id), there=there)


def check_ids(files: Mapping[str, ContentModel], known: Mapping[str, Collection[str]]) -> Iterator[ContentProblem]:
    """Every id in the files that is none of those of its kind, and a person that names itself. What is known of no kind
    is not checked.
    """
    for file, one in files.items():
        own = one.id if isinstance(one, PersonFile) else None
        for mark, key, named in ids_named(one):
            if mark.kind == "person" and named == own:
                yield problem(file, key, "content.knows_itself", id=quote(named))
            elif mark.kind in known and named not in known[mark.kind]:
                yield unknown(file, key, f"content.unknown_{mark.kind}", named, known[mark.kind])


def declared_once(ids: Iterable[tuple[str, Key, str]]) -> Iterator[ContentProblem]:
    """Every id (file, key, id) that is declared a second time."""
    first: dict[str, tuple[str, Key]] = {}
    for file, key, name in ids:
        there, its_key = first.setdefault(name, (file, key))
        if (there, its_key) != (file, key):
            yield problem(
                file, key, "content.id_taken", id=quote(name), there=key_path(its_key) if there == file else there
            )


def check_people(people: People) -> Iterator[ContentProblem]:
    """Every id that two people share, every routine out of order, and whoever a character knows twice."""
    yield from declared_once((file, ("id",), person.id) for file, person in people.items())
    for file, character in ((file, person) for file, person in people.items() if isinstance(person, CharacterFile)):
        yield from named_once(file, "knows", character.knows)
        for i, (before, block) in enumerate(pairwise(character.routine)):
            if block.starts <= before.starts:
                times = {"found": _clock(block.starts), "earlier": _clock(before.starts)}
                yield problem(
                    file, ("routine", i + 1, "starts"), "content.routine_order", **times, there=f"routine[{i}].starts"
                )


def _clock(minutes: int) -> str:
    return f'"{minutes // MINUTES_PER_HOUR:02d}:{minutes % MINUTES_PER_HOUR:02d}"'


def entries(maps: MapsFile, name: str) -> Iterator[tuple[Key, Any]]:
    """The entries of every map's list of that name, with their keys."""
    for i, area in enumerate(maps.maps):
        for j, entry in enumerate(getattr(area, name)):
            yield ("maps", i, name, j), entry


def check_maps(maps: MapsFile) -> Iterator[ContentProblem]:
    """Every id of maps.json that is declared twice, and every node that is not there, or on the wrong map."""
    yield from declared_once((MAPS_FILE, ("maps", i, "id"), area.id) for i, area in enumerate(maps.maps))
    for name in ("nodes", "facilities"):
        yield from declared_once((MAPS_FILE, (*key, "id"), entry.id) for key, entry in entries(maps, name))
    for i, area in enumerate(maps.maps):
        here = {node.id for node in area.nodes}
        elsewhere = {node.id: other.id for other in maps.maps if other is not area for node in other.nodes}
        for key, node in _nodes_here(area):
            if node in here:
                continue
            at = ("maps", i, *key)
            if node in elsewhere:
                yield problem(
                    MAPS_FILE, at, "content.node_on_other_map", node=quote(node), other=quote(elsewhere[node])
                )
            else:
                yield unknown(MAPS_FILE, at, "content.unknown_node_here", node, here)
        for j, way in enumerate(area.exits):
            at = ("maps", i, "exits", j, "to")
            if way.goal in here:
                yield problem(MAPS_FILE, at, "content.node_on_this_map", node=quote(way.goal))
            elif way.goal not in elsewhere:
                yield unknown(MAPS_FILE, at, "content.unknown_node_elsewhere", way.goal, elsewhere)
        for j, edge in enumerate(area.edges):
            if edge.start == edge.goal:
                yield problem(MAPS_FILE, ("maps", i, "edges", j), "content.edge_to_itself", node=quote(edge.start))


def _nodes_here(area: MapEntry) -> Iterator[tuple[Key, str]]:
    """Every id that has to be of a node of this map, with its key within the map."""
    for j, edge in enumerate(area.edges):
        yield ("edges", j, "from"), edge.start
        yield ("edges", j, "to"), edge.goal
    for j, way in enumerate(area.exits):
        yield ("exits", j, "from"), way.start
    for j, place in enumerate(area.facilities):
        for k, node in enumerate(place.nodes):
            yield ("facilities", j, "nodes", k), node
    for j, post in enumerate(area.npcs):
        yield ("npcs", j, "spawnNodeId"), post.spawn_node_id


def check_posts(maps: MapsFile) -> Iterator[ContentProblem]:
    """Every NPC with two posts, and every node with two NPCs."""
    posts: dict[str, Key] = {}
    holders: dict[str, str] = {}
    for key, post in entries(maps, "npcs"):
        npc, node = post.npc_id, post.spawn_node_id
        if npc in posts:
            there = key_path(posts[npc])
            yield problem(MAPS_FILE, (*key, "npcId"), "content.two_posts", npc=quote(npc), there=there)
        elif node in holders:
            facts = {"npc": quote(holders[node]), "node": quote(node)}
            yield problem(MAPS_FILE, (*key, "spawnNodeId"), "content.two_npcs_on_node", **facts)
        posts.setdefault(npc, key)
        holders.setdefault(node, npc)


def check_npcs(npcs: Npcs, characters: Characters, maps: MapsFile) -> Iterator[ContentProblem]:
    """Every post of nobody, and every NPC without a post. `npcs` are all there are."""
    ids = {npc.id for npc in npcs.values()}
    walkers = {character.id for character in characters.values()}
    posted = {post.npc_id: (*key, "npcId") for key, post in entries(maps, "npcs")}
    for npc_id, key in posted.items():
        if npc_id in walkers - ids:
            yield problem(MAPS_FILE, key, "content.post_of_character", npc=quote(npc_id))
        elif npc_id not in ids:
            yield unknown(MAPS_FILE, key, "content.unknown_npc", npc_id, ids)
    for file, npc in npcs.items():
        if npc.id not in posted:
            yield problem(file, ("id",), "content.no_post", npc=quote(npc.id))


def check_lore(files: Mapping[str, LoreFile]) -> Iterator[ContentProblem]:
    """Every id of lore and name of a group that is taken."""
    yield from declared_once((file, ("groups", name), name) for file, lore in files.items() for name in lore.groups)
    yield from declared_once(
        (file, ("entries", i, "id"), entry.id) for file, lore in files.items() for i, entry in enumerate(lore.entries)
    )


def check_homes(characters: Characters, maps: MapsFile) -> Iterator[ContentProblem]:
    """Every home on an NPC's node."""
    holders = {post.spawn_node_id: post.npc_id for _, post in entries(maps, "npcs")}
    for file, character in characters.items():
        if holder := holders.get(character.home):
            yield problem(file, ("home",), "content.home_closed", node=quote(character.home), npc=quote(holder))


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
