"""The checks across files that could be read: each id declared once, each one named is there, each NPC has one post;
one connected world, no node walled in by NPCs, no NPC or facility out of reach; levels of needs lie within bounds, and
somebody can do each action, where it is planned.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import networkx as nx

from service.content.actions import ActionEntry, ActionsFile, ArgumentEntry, NeedEntry
from service.content.fields import ContentModel, ContentProblem, Key, hint, ids_named, key_path, listed, problem, quote
from service.content.files import ACTIONS_FILE, MAPS_FILE
from service.content.lore import LoreFile
from service.content.maps import FacilityEntry, MapEntry, MapsFile, world_map
from service.content.persons import CharacterFile, NpcFile, PersonFile
from world.actions import Where
from world.time import clock

Characters = Mapping[str, CharacterFile]
"""Characters by their files."""


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


def check_people(people: Mapping[str, PersonFile]) -> Iterator[ContentProblem]:
    """Every id that two people share, every routine out of order, and whoever a character knows twice."""
    yield from declared_once((file, ("id",), person.id) for file, person in people.items())
    for file, character in ((file, person) for file, person in people.items() if isinstance(person, CharacterFile)):
        yield from named_once(file, "knows", character.knows)
        for i, (before, block) in enumerate(pairwise(character.routine)):
            if block.starts <= before.starts:
                times = {"found": quote(clock(block.starts)), "earlier": quote(clock(before.starts))}
                yield problem(
                    file, ("routine", i + 1, "starts"), "content.routine_order", **times, there=f"routine[{i}].starts"
                )


def entries(maps: MapsFile, name: str) -> Iterator[tuple[Key, Any]]:
    """The entries of every map's list of that name, with their keys."""
    return (
        (("maps", i, name, j), entry) for i, area in enumerate(maps.maps) for j, entry in enumerate(getattr(area, name))
    )


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
    yield from ((("exits", j, "from"), way.start) for j, way in enumerate(area.exits))
    for j, place in enumerate(area.facilities):
        yield from ((("facilities", j, "nodes", k), node) for k, node in enumerate(place.nodes))
    yield from ((("npcs", j, "spawnNodeId"), post.spawn_node_id) for j, post in enumerate(area.npcs))


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


def check_npcs(npcs: Mapping[str, NpcFile], characters: Characters, maps: MapsFile) -> Iterator[ContentProblem]:
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
    world = world_map(maps, "en")
    keys = {node.id: key for key, node in entries(maps, "nodes")}
    order = {node: number for number, node in enumerate(keys)}
    holders = {node: npc for npc, node in world.posts.items()}

    def parts(graph: "nx.Graph[str]") -> list[list[str]]:
        """The graph's connected parts, the largest first, else as in the file; each as in the file."""
        found = (sorted(part, key=order.__getitem__) for part in nx.connected_components(graph))
        return sorted(found, key=lambda part: (-len(part), order[part[0]]))

    wholes = parts(world.graph)
    for part in wholes[1:]:
        yield problem(MAPS_FILE, keys[part[0]], "content.unconnected", nodes=listed(part))
    walled_in = set[str]()
    for whole in wholes:
        for region in parts(world.open_graph.subgraph(set(whole) - world.closed_nodes))[1:]:
            walled_in.update(region)
            walls = [node for node in holders if any(world.graph.has_edge(node, other) for other in region)]
            walls.sort(key=order.__getitem__)
            npcs = listed([holders[node] for node in walls])
            facts = {"nodes": listed(region), "npcs": npcs, "walls": listed(walls)}
            yield problem(MAPS_FILE, keys[region[0]], "content.walled_in", **facts)
    lost = {node for part in wholes[1:] for node in part}
    for key, post in entries(maps, "npcs"):
        npc, node = post.npc_id, post.spawn_node_id
        if node not in lost and not world.beside(node):
            yield problem(MAPS_FILE, (*key, "spawnNodeId"), "content.lonely_npc", npc=quote(npc), node=quote(node))
    for key, place in entries(maps, "facilities"):
        if walled_in.union(holders).issuperset(place.nodes):
            facts = {"facility": quote(place.id), "nodes": listed(place.nodes)}
            yield problem(MAPS_FILE, (*key, "nodes"), "content.locked_facility", **facts)


def check_actions(actions: ActionsFile) -> Iterator[ContentProblem]:
    """Everything wrong within actions.json that its form does not show."""
    yield from declared_once((ACTIONS_FILE, ("needs", i, "id"), need.id) for i, need in enumerate(actions.needs))
    yield from declared_once((ACTIONS_FILE, ("actions", i, "id"), one.id) for i, one in enumerate(actions.actions))
    needs = {need.id: need for need in actions.needs}
    for i, need in enumerate(actions.needs):
        yield from _within(("needs", i), need)
    for i, action in enumerate(actions.actions):
        yield from _reachable(("actions", i), action, needs)
        yield from _place(("actions", i), action)
    yield from _restored(actions)
    if not any(action.ends_day for action in actions.actions):
        yield problem(ACTIONS_FILE, ("actions",), "content.no_night")


def _bounds(need: NeedEntry) -> dict[str, str]:
    return {"low": f"{need.lowest:.12g}", "high": f"{need.highest:.12g}"}


def _within(key: Key, need: NeedEntry) -> Iterator[ContentProblem]:
    if need.highest <= need.lowest:
        yield problem(ACTIONS_FILE, (*key, "highest"), "content.highest_below_lowest", **_bounds(need))
    yield from _in_bounds(ACTIONS_FILE, (*key, "start"), need.start, need)
    if need.critical is not None:
        yield from _in_bounds(ACTIONS_FILE, (*key, "critical"), need.critical, need)


def _restored(actions: ActionsFile) -> Iterator[ContentProblem]:
    """A need that becomes critical and that nothing raises stays critical for ever."""
    effects = (*(action.effects for action in actions.actions), actions.talk.effects_per_hour)
    raised = {need_id for effect in effects for need_id, change in effect.items() if change > 0}
    for i, need in enumerate(actions.needs):
        falls = need.critical is not None and need.lowest <= need.critical and need.drift_per_hour <= 0
        if falls and need.id not in raised:
            yield problem(ACTIONS_FILE, ("needs", i, "critical"), "content.never_restored", need=quote(need.id))


def _in_bounds(file: str, key: Key, level: float, need: NeedEntry) -> Iterator[ContentProblem]:
    if need.lowest < need.highest and not need.lowest <= level <= need.highest:
        yield problem(file, key, "content.out_of_bounds", level=f"{level:.12g}", need=quote(need.id), **_bounds(need))


def _reachable(key: Key, action: ActionEntry, needs: Mapping[str, NeedEntry]) -> Iterator[ContentProblem]:
    """What the action asks of a need has to lie within the need's bounds."""
    asked = [("requires", need_id, wanted.at_least, wanted.at_most) for need_id, wanted in action.requires.items()]
    asked += [("cost", need_id, price, float("inf")) for need_id, price in action.cost.items()]
    for name, need_id, least, most in asked:
        need = needs.get(need_id)
        if need and need.lowest < need.highest and max(least, need.lowest) > min(most, need.highest):
            yield problem(
                ACTIONS_FILE, (*key, name, need_id), "content.out_of_reach", need=quote(need_id), **_bounds(need)
            )


def _place(key: Key, action: ActionEntry) -> Iterator[ContentProblem]:
    if action.where is Where.FACILITY and not action.tags:
        yield problem(ACTIONS_FILE, (*key, "tags"), "content.no_tags")
    for name in ("tags", "seats"):
        if action.where is not Where.FACILITY and getattr(action, name):
            yield problem(ACTIONS_FILE, (*key, name), "content.not_in_facility", name=name, where=quote(action.where))


def check_tags(actions: ActionsFile, maps: MapsFile) -> Iterator[ContentProblem]:
    """Every action whose tags no facility has."""
    carried = sorted({tag for _, place in entries(maps, "facilities") for tag in place.tags})
    for i, action in enumerate(actions.actions):
        if action.where is Where.FACILITY and action.tags and set(action.tags).isdisjoint(carried):
            facts = {"tags": listed(action.tags), "known": listed(carried), "hint": hint(action.tags[0], carried)}
            yield problem(ACTIONS_FILE, ("actions", i, "tags"), "content.tags_of_no_facility", **facts)


def check_game_actions(actions: ActionsFile) -> Iterator[ContentProblem]:
    """Every game action that is declared twice or cannot be asked for."""
    asked = actions.game_actions
    yield from declared_once((ACTIONS_FILE, ("gameActions", i, "id"), one.id) for i, one in enumerate(asked))
    for i, one in enumerate(asked):
        key, arguments = ("gameActions", i), one.arguments
        at = (*key, "arguments", "required")
        yield from unknown_in(ACTIONS_FILE, at, "content.unknown_argument", arguments.required, arguments.properties)
        for name, argument in arguments.properties.items():
            yield from _possible((*key, "arguments", "properties", name), argument)
        if one.await_result and not one.confirm:
            yield problem(ACTIONS_FILE, (*key, "awaitResult"), "content.awaits_nothing")


def _possible(key: Key, argument: ArgumentEntry) -> Iterator[ContentProblem]:
    """An argument that nothing fits, or a bound that says nothing of its type."""
    if argument.enum and argument.type != "string":
        yield problem(ACTIONS_FILE, (*key, "enum"), "content.enum_of_texts")
    low, high = argument.minimum, argument.maximum
    if low is not None and high is not None and low > high:
        facts = {"low": f"{low:.12g}", "high": f"{high:.12g}"}
        yield problem(ACTIONS_FILE, (*key, "maximum"), "content.no_number_fits", **facts)


def check_plans(characters: Characters, actions: ActionsFile, maps: MapsFile | None) -> Iterator[ContentProblem]:
    """Every level of a character's need that is out of bounds, and every action that its place is not for."""
    needs = {need.id: need for need in actions.needs}
    known = {action.id for action in actions.actions}
    places = {place.id: place for _, place in entries(maps, "facilities")} if maps else {}
    for file, character in characters.items():
        for need_id, level in character.needs.items():
            if need_id in needs:
                yield from _in_bounds(file, ("needs", need_id), level, needs[need_id])
        for i, block in enumerate(character.routine):
            if block.action_id in known and (block.facility_id is None or block.facility_id in places):
                place = places[block.facility_id] if block.facility_id is not None else None
                possible = [action.id for action in actions.actions if _fits(action, place, character)]
                if block.action_id not in possible:
                    yield _wrong_place(file, ("routine", i, "action"), block.action_id, place, possible)


def _fits(action: ActionEntry, place: FacilityEntry | None, character: CharacterFile) -> bool:
    """Whether the character can do it at that facility (None: at home)."""
    if action.where is Where.FACILITY:
        return place is not None and not set(place.tags).isdisjoint(action.tags)
    return action.where is Where.ANYWHERE or place is None or character.home in place.nodes


def _wrong_place(
    file: str, key: Key, action_id: str, place: FacilityEntry | None, possible: list[str]
) -> ContentProblem:
    facts = {"action": quote(action_id), "possible": listed(possible)}
    if place is None:
        return problem(file, key, "content.not_possible_at_home", **facts)
    return problem(file, key, "content.not_possible_there", facility=quote(place.id), **facts)
