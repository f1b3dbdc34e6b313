"""Owns the checks of ids across files: each declared once, each reference to something there, each NPC with one post."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import PurePosixPath

from service.cast.problem import ContentProblem, hint, key_path, problem, quote
from service.cast.sketch import MAPS_FILE, MapSketch, MapsSketch, Named, PersonSketch, Post, Reference
from world.time import MINUTES_PER_HOUR


def check_references(
    world: MapsSketch,
    npcs: tuple[PersonSketch, ...],
    characters: tuple[PersonSketch, ...],
    *,
    npcs_known: bool = True,
) -> Iterator[ContentProblem]:
    """Every id declared twice or referred to and not there, and every routine out of order.

    Not `npcs_known`: the directory of the NPCs could not be read, so that any NPC may be there.
    """
    yield from declared_once("map", "マップ", _map_ids(world))
    yield from declared_once("node", "ノード", (node for area in world.maps for node in area.nodes))
    yield from declared_once("facility", "施設", _facility_ids(world))
    yield from declared_once("person", "人物", _person_ids((*npcs, *characters)))
    for area in world.maps:
        yield from _places_of(area, world)
    yield from _posts(world, npcs, characters, npcs_known=npcs_known)
    for person in characters:
        yield from _home(person, world)
        yield from _routine(person, world)
        if npcs_known:
            yield from _acquaintances(person, npcs)


def _map_ids(world: MapsSketch) -> Iterator[Named]:
    for area in world.maps:
        if area.id is not None:
            yield Named(file=MAPS_FILE, key=("maps", area.index, "id"), id=area.id)


def _facility_ids(world: MapsSketch) -> Iterator[Named]:
    for area in world.maps:
        for place in area.facilities:
            if place.id:
                yield Named(file=MAPS_FILE, key=(*place.key, "id"), id=place.id)


def _person_ids(people: Iterable[PersonSketch]) -> Iterator[Named]:
    for person in people:
        if person.id is not None:
            yield Named(file=person.file, key=("id",), id=person.id)


def declared_once(kind_en: str, kind_ja: str, declared: Iterable[Named]) -> Iterator[ContentProblem]:
    """Every id that is declared a second time; the two texts name what is declared."""
    first: dict[str, Named] = {}
    for named in declared:
        known = first.setdefault(named.id, named)
        if known is named:
            continue
        there = key_path(known.key) if known.file == named.file else known.file
        yield problem(
            named.file,
            named.key,
            f"the {kind_en} id {quote(named.id)} is already taken by {there}; expected an id of its own",
            f"{kind_ja}id {quote(named.id)} は {there} で使われています。別のidを付けてください",
        )


def _places_of(area: MapSketch, world: MapsSketch) -> Iterator[ContentProblem]:
    for edge in area.edges:
        yield from _node_of(edge.start, area, world)
        yield from _node_of(edge.goal, area, world)
        if edge.start.id is not None and edge.start.id == edge.goal.id:
            yield problem(
                MAPS_FILE,
                edge.key,
                f"the edge leads from {quote(edge.start.id)} to itself; expected two different nodes",
                f"{quote(edge.start.id)} から自分自身への道です。異なる2つのノードを書いてください",
            )
    for way in area.exits:
        yield from _node_of(way.start, area, world)
        yield from _node_elsewhere(way.goal, area, world)
    for place in area.facilities:
        for node in place.nodes:
            yield from _node_of(node, area, world)


def _node_of(ref: Reference, area: MapSketch, world: MapsSketch) -> Iterator[ContentProblem]:
    """The reference must name a node of this map."""
    if ref.id is None or ref.id in area.node_ids or ref.id in area.maybe_nodes or "nodes" in area.unclear:
        return
    other = next((m for m in world.maps if ref.id in m.node_ids), None)
    if other is not None:
        yield problem(
            MAPS_FILE,
            ref.key,
            f"node {quote(ref.id)} is on the map {quote(other.label)}; expected one of this map's node ids "
            '(ways to other maps go under "exits")',
            f"ノード {quote(ref.id)} はマップ {quote(other.label)} にあります。"
            'このマップのノードidを書いてください(別のマップへの道は "exits" に書きます)',
        )
        return
    guess_en, guess_ja = hint(ref.id, area.node_ids)
    yield problem(
        MAPS_FILE,
        ref.key,
        f"unknown node {quote(ref.id)}; expected one of the map's node ids{guess_en}",
        f"ノード {quote(ref.id)} はありません。このマップのノードidを書いてください{guess_ja}",
    )


def _node_elsewhere(ref: Reference, area: MapSketch, world: MapsSketch) -> Iterator[ContentProblem]:
    """The reference must name a node of another map."""
    if ref.id is None:
        return
    if ref.id in area.node_ids:
        yield problem(
            MAPS_FILE,
            ref.key,
            f"node {quote(ref.id)} is on this map; an exit is expected to lead to another map (ways within a map go "
            'under "edges")',
            f"ノード {quote(ref.id)} はこのマップにあります。exits には別のマップのノードidを書いてください"
            '(マップの中の道は "edges" に書きます)',
        )
        return
    others = [m for m in world.maps if m is not area]
    if _somewhere(ref.id, world):
        return
    guess_en, guess_ja = hint(ref.id, (node for m in others for node in m.node_ids))
    yield problem(
        MAPS_FILE,
        ref.key,
        f"unknown node {quote(ref.id)}; expected a node id of another map{guess_en}",
        f"ノード {quote(ref.id)} はありません。別のマップのノードidを書いてください{guess_ja}",
    )


def _somewhere(node_id: str, world: MapsSketch) -> bool:
    """Whether some map has the node, or may have it."""
    return not world.clear or any(
        node_id in m.node_ids or node_id in m.maybe_nodes or "nodes" in m.unclear for m in world.maps
    )


def _posts(
    world: MapsSketch, npcs: tuple[PersonSketch, ...], characters: tuple[PersonSketch, ...], *, npcs_known: bool
) -> Iterator[ContentProblem]:
    npc_ids = [npc.id for npc in npcs if npc.id is not None]
    character_ids = {character.id for character in characters}
    posts = [(area, post) for area in world.maps for post in area.posts]
    nameless = {PurePosixPath(npc.file).stem for npc in npcs if npc.id is None}
    # A file whose id cannot be read may be any NPC, most likely the one it is named after.
    unsure = not npcs_known or bool(nameless - {post.npc.id for _, post in posts})
    posted: dict[str, Post] = {}
    holders: dict[str, str] = {}
    for area, post in posts:
        npc, node = post.npc.id, post.node.id
        yield from _node_of(post.node, area, world)
        if npc is None:
            continue
        if npc in posted:
            first = key_path(posted[npc].key)
            yield problem(
                MAPS_FILE,
                post.npc.key,
                f"NPC {quote(npc)} already has its post at {first}; expected one post for each NPC",
                f"NPC {quote(npc)} の立ち位置は {first} にもあります。1人に1つだけ書いてください",
            )
            continue
        posted[npc] = post
        if npc not in npc_ids and npc not in nameless and not unsure:
            yield _stranger(post.npc, npc, npc_ids, is_character=npc in character_ids)
        if node is not None and node in holders:
            yield problem(
                MAPS_FILE,
                post.node.key,
                f"NPC {quote(holders[node])} already stands on node {quote(node)}; expected a node for each NPC alone",
                f"ノード {quote(node)} には NPC {quote(holders[node])} が立っています。NPCごとに別のノードを書いてください",
            )
        if node is not None:
            holders.setdefault(node, npc)
    yield from _without_post(world, npcs, posts=[post for _, post in posts])


def _stranger(ref: Reference, npc: str, npc_ids: list[str], *, is_character: bool) -> ContentProblem:
    if is_character:
        return problem(
            MAPS_FILE,
            ref.key,
            f"{quote(npc)} is a character; expected the id of an NPC, for characters have no post",
            f"{quote(npc)} はキャラクターです。立ち位置を持つのはNPCだけなので、NPCのidを書いてください",
        )
    guess_en, guess_ja = hint(npc, npc_ids)
    return problem(
        MAPS_FILE,
        ref.key,
        f"unknown NPC {quote(npc)}; expected the id of a file in npcs/{guess_en}",
        f"NPC {quote(npc)} はいません。npcs/ にあるファイルのidを書いてください{guess_ja}",
    )


def _without_post(world: MapsSketch, npcs: tuple[PersonSketch, ...], *, posts: list[Post]) -> Iterator[ContentProblem]:
    if not world.clear or any("npcs" in area.unclear for area in world.maps):
        return
    nameless = [post for post in posts if post.npc.id is None]
    maybe = {post.npc.id for post in posts}.union(*(post.guesses for post in nameless))
    if not all(post.guesses & {npc.id for npc in npcs} for post in nameless):
        return  # a post of nobody may be anybody's
    for npc in npcs:
        if npc.id is not None and npc.id not in maybe:
            yield problem(
                npc.file,
                ("id",),
                f"NPC {quote(npc.id)} has no post; expected an entry "
                f'{{"npcId": {quote(npc.id)}, "spawnNodeId": …}} under "npcs" of a map in {MAPS_FILE}',
                f"NPC {quote(npc.id)} の立ち位置がありません。{MAPS_FILE} のどれかのマップの npcs に "
                f'{{"npcId": {quote(npc.id)}, "spawnNodeId": …}} を書いてください',
            )


def _home(person: PersonSketch, world: MapsSketch) -> Iterator[ContentProblem]:
    if person.home is None:
        return
    holder = next((p.npc.id or "?" for area in world.maps for p in area.posts if p.node.id == person.home), None)
    if holder is not None:
        yield problem(
            person.file,
            ("home",),
            f"node {quote(person.home)} is closed, for NPC {quote(holder)} stands on it; expected an open node",
            f"ノード {quote(person.home)} には NPC {quote(holder)} が立っていて入れません。空いているノードを書いてください",
        )
    elif not _somewhere(person.home, world):
        guess_en, guess_ja = hint(person.home, (node for area in world.maps for node in area.node_ids))
        yield problem(
            person.file,
            ("home",),
            f"unknown node {quote(person.home)}; expected a node id of {MAPS_FILE}{guess_en}",
            f"ノード {quote(person.home)} はありません。{MAPS_FILE} のノードidを書いてください{guess_ja}",
        )


def _acquaintances(person: PersonSketch, npcs: tuple[PersonSketch, ...]) -> Iterator[ContentProblem]:
    ids = [npc.id for npc in npcs]
    if None in ids:  # one of them could not be read, and may be the one meant
        return
    for ref in person.knows:
        if ref.id not in ids:
            guess_en, guess_ja = hint(ref.id or "", (npc_id for npc_id in ids if npc_id))
            yield problem(
                person.file,
                ref.key,
                f"unknown NPC {quote(ref.id or '')}; expected the id of an NPC{guess_en}",
                f"NPC {quote(ref.id or '')} はありません。NPCのidを書いてください{guess_ja}",
            )


def _routine(person: PersonSketch, world: MapsSketch) -> Iterator[ContentProblem]:
    for (before_key, before), (key, starts) in pairwise(person.starts):
        if starts <= before:
            there, earlier, found = key_path(before_key), _clock(before), _clock(starts)
            yield problem(
                person.file,
                key,
                f"found {found} after {earlier} at {there}; expected a later time, for a routine goes through the day "
                "in order",
                f"{there} の {earlier} の後に {found} と書かれています。1日の順に、より遅い時刻を書いてください",
            )
    known = [place.id for area in world.maps for place in area.facilities]
    if not world.clear or "" in known or any("facilities" in area.unclear for area in world.maps):
        return
    for ref in person.facilities:
        if ref.id is not None and ref.id not in known:
            guess_en, guess_ja = hint(ref.id, known)
            yield problem(
                person.file,
                ref.key,
                f"unknown facility {quote(ref.id)}; expected a facility id of {MAPS_FILE}{guess_en}",
                f"施設 {quote(ref.id)} はありません。{MAPS_FILE} の施設idを書いてください{guess_ja}",
            )


def _clock(minutes: int) -> str:
    return f'"{minutes // MINUTES_PER_HOUR:02d}:{minutes % MINUTES_PER_HOUR:02d}"'
