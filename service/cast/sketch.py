"""Owns what can be made out in content files whose form may be wrong: ids, places and references, each with its key.

The checks across files look at sketches, not at parsed files, so that one bad number hides no other error; and a
sketch knows what it could not make out, so that one error is not reported as many.
"""

from collections.abc import Iterator, KeysView
from dataclasses import dataclass
from functools import cached_property

from service.cast.files import FacilityEntry, MapEntry, RoutineEntry, clock_minutes, number_up_to
from service.cast.problem import Key
from service.cast.read import Document

MAPS_FILE = "maps.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A node, facility or person that declares its id."""

    file: str
    key: Key
    id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """An id written where something declared elsewhere is meant; None: not a text, or not there."""

    key: Key
    id: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """An edge or exit."""

    key: Key
    start: Reference
    goal: Reference


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A facility with the nodes it names. `tags` is None where they could not be made out."""

    key: Key
    id: str
    nodes: tuple[Reference, ...]
    tags: frozenset[str] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Post:
    """An NPC's post on its map. `guesses`: all texts in the entry, one of which may be the id meant."""

    key: Key
    npc: Reference
    node: Reference
    guesses: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A routine block's action and where it is put: at a facility, or, if none is written, `at_home`."""

    action: Reference
    facility: Reference
    at_home: bool


@dataclass(frozen=True, kw_only=True)
class MapSketch:
    """One map. `unclear` holds the keys of its lists that could not be read as lists of mappings.

    `maybe_nodes` are texts in nodes without an id, one of which may be the id meant.
    """

    index: int
    id: str | None
    nodes: tuple[Named, ...]
    maybe_nodes: frozenset[str]
    edges: tuple[Way, ...]
    exits: tuple[Way, ...]
    facilities: tuple[Place, ...]
    posts: tuple[Post, ...]
    unclear: frozenset[str]

    @cached_property
    def node_ids(self) -> KeysView[str]:
        """In the order of the file."""
        return dict.fromkeys(node.id for node in self.nodes).keys()

    @property
    def label(self) -> str:
        """Its id, else its place in the file."""
        return self.id or f"maps[{self.index}]"


@dataclass(frozen=True, kw_only=True)
class MapsSketch:
    """maps.json. Not `clear`: some map could not be made out at all."""

    maps: tuple[MapSketch, ...]
    clear: bool


@dataclass(frozen=True, kw_only=True)
class PersonSketch:
    """A file of an NPC or a character; `id` is None where it could not be read. `starts`: the routine's readable times."""

    file: str
    id: str | None
    home: str | None
    facilities: tuple[Reference, ...]
    starts: tuple[tuple[Key, int], ...]
    knows: tuple[Reference, ...] = ()
    plans: tuple[Plan, ...] = ()
    needs: tuple[tuple[Reference, float | None], ...] = ()


def sketch_maps(document: Document) -> MapsSketch:
    """What can be made out in maps.json."""
    root = document.data if isinstance(document.data, dict) else {}
    entries = root.get("maps")
    if not isinstance(entries, list):
        return MapsSketch(maps=(), clear=False)
    maps = tuple(_map(i, entry) for i, entry in enumerate(entries) if isinstance(entry, dict))
    return MapsSketch(maps=maps, clear=bool(maps) and len(maps) == len(entries))


def sketch_person(document: Document) -> PersonSketch:
    """What can be made out in a person's file."""
    root = document.data if isinstance(document.data, dict) else {}
    blocks = list(mappings(root.get("routine"), ("routine",)))
    starts = ((*key, "starts") for key, _ in blocks)
    minutes = (clock_minutes(text(block, "starts") or "") for _, block in blocks)
    return PersonSketch(
        file=document.file,
        id=text(root, "id"),
        home=text(root, "home"),
        facilities=tuple(_reference(block, key, "facility") for key, block in blocks),
        starts=tuple((key, minute) for key, minute in zip(starts, minutes, strict=True) if minute is not None),
        knows=tuple(_listed(root, "knows")),
        plans=tuple(_plan(key, block) for key, block in blocks),
        needs=tuple(_levels(root.get("needs"))),
    )


def _map(index: int, entry: dict[object, object]) -> MapSketch:
    top: Key = ("maps", index)
    lists = {name: list(mappings(entry.get(name), (*top, name))) for name in _LISTS}
    nodes = lists["nodes"]
    return MapSketch(
        index=index,
        id=text(entry, "id"),
        nodes=tuple(_named(key, node_id) for key, node in nodes if (node_id := text(node, "id")) is not None),
        maybe_nodes=frozenset(word for _, node in nodes if text(node, "id") is None for word in _texts(node)),
        edges=tuple(_way(key, edge) for key, edge in lists["edges"]),
        exits=tuple(_way(key, way) for key, way in lists["exits"]),
        facilities=tuple(_place(key, place) for key, place in lists["facilities"]),
        posts=tuple(_post(key, post) for key, post in lists["npcs"]),
        unclear=frozenset(name for name in _LISTS if _unclear(entry, name)),
    )


_LISTS = ("nodes", "edges", "exits", "facilities", "npcs")
_MAP_KEYS, _PLACE_KEYS, _BLOCK_KEYS = (
    {field.alias for field in model.model_fields.values()} for model in (MapEntry, FacilityEntry, RoutineEntry)
)


def _unclear(entry: dict[object, object], name: str) -> bool:
    if name not in entry:  # left out on purpose, or written under a misspelt key
        return MapEntry.model_fields[name].is_required() or not entry.keys() <= _MAP_KEYS
    items = entry[name]
    if not isinstance(items, list) or (name == "nodes" and not items):
        return True
    return not all(isinstance(item, dict) for item in items)


def mappings(items: object, key: Key) -> Iterator[tuple[Key, dict[object, object]]]:
    """The mappings of a list, each with its place."""
    for i, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            yield (*key, i), item


def text(entry: dict[object, object], name: str) -> str | None:
    """The text under a key; None: no text, or not there."""
    value = entry.get(name)
    return value if isinstance(value, str) else None


def _texts(entry: dict[object, object]) -> Iterator[str]:
    """Every text or number in an entry, as text: ``{"ide": "v1"}`` and ``{"id": 1}`` still tell the id meant."""
    return (str(value) for value in entry.values() if isinstance(value, str | int))


def _reference(entry: dict[object, object], key: Key, name: str) -> Reference:
    return Reference(key=(*key, name), id=text(entry, name))


def _listed(entry: dict[object, object], name: str) -> Iterator[Reference]:
    """The texts of a list of references."""
    items = entry.get(name)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, str):
            yield Reference(key=(name, index), id=item)


def _plan(key: Key, block: dict[object, object]) -> Plan:
    known = block.keys() <= _BLOCK_KEYS  # else the facility may be what was misspelt
    return Plan(
        action=_reference(block, key, "action"),
        facility=_reference(block, key, "facility"),
        at_home=known and block.get("facility") is None,
    )


def _levels(needs: object) -> Iterator[tuple[Reference, float | None]]:
    for name, level in needs.items() if isinstance(needs, dict) else ():
        if isinstance(name, str):
            readable = isinstance(level, int | float) and number_up_to(level)
            yield Reference(key=("needs", name), id=name), float(level) if readable else None


def _named(key: Key, name: str) -> Named:
    return Named(file=MAPS_FILE, key=(*key, "id"), id=name)


def _way(key: Key, entry: dict[object, object]) -> Way:
    return Way(key=key, start=_reference(entry, key, "from"), goal=_reference(entry, key, "to"))


def _place(key: Key, entry: dict[object, object]) -> Place:
    nodes, tags = entry.get("nodes"), entry.get("tags", [] if entry.keys() <= _PLACE_KEYS else None)
    return Place(
        key=key,
        id=text(entry, "id") or "",
        nodes=tuple(
            Reference(key=(*key, "nodes", i), id=node if isinstance(node, str) else None)
            for i, node in enumerate(nodes if isinstance(nodes, list) else [])
        ),
        tags=frozenset(tags) if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) else None,
    )


def _post(key: Key, entry: dict[object, object]) -> Post:
    return Post(
        key=key,
        npc=_reference(entry, key, "npcId"),
        node=_reference(entry, key, "spawnNodeId"),
        guesses=frozenset(_texts(entry)),
    )
