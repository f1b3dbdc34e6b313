"""Owns the reading of a map of Tiled's, by pytiled-parser: .tmx and .tmj with their tilesets. Of its objects points are
nodes, polylines edges and rectangles facilities; where it has no points, or no line between them, nodes are thinned out
of the tiles one can walk on.
"""

import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx
from pytiled_parser import Layer, LayerGroup, ObjectLayer, OrderedPair, TileLayer, UnknownFormat, parse_map
from pytiled_parser import TiledMap as ParsedMap
from pytiled_parser.properties import Properties
from pytiled_parser.tiled_object import Point, Polyline, Rectangle, TiledObject

from service.public.files import MOST_BYTES, Key, Unreadable, is_slug, read_bytes
from studio.exchange.clean import plain
from studio.exchange.draft import Notes, id_of, refusing

FIRST_DAY = "2026-04-01T07:00"
"""When a world begins whose map does not say it."""
MOST_CELLS = 250_000
"""Tiles of a map whose nodes are made of them."""
MADE_NODES = 60
"""About so many nodes are thinned out of the tiles."""
_NPC = "npc"
_BLOCKS = ("blocked", "collides", "collision", "solid")
"""Properties of a layer or a tile, and layers' names, that say that nobody walks there."""
_Tile = tuple[int, int]
"""Column and row."""
_FLIPPED = 0xE0000000
"""Bits of a tile's number that say how it is turned."""
_BROKEN = (
    ArithmeticError,
    AttributeError,
    AssertionError,
    LookupError,
    OSError,
    ParseError,
    RecursionError,
    TypeError,
    UnknownFormat,
    ValueError,
    zlib.error,
)
"""What the parser raises on a file that is no map, or whose tileset is not there: it does not check what it reads."""


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """An object with its place in the file, and where it lies on the map, in pixels."""

    key: Key
    one: TiledObject
    x: float
    y: float

    @property
    def category(self) -> str:
        """Its class."""
        return self.one.class_.strip()

    def said(self, name: str) -> str:
        """The value of its property as a text; "" where there is none."""
        return _said(self.one.properties, name)


@dataclass(kw_only=True)
class TiledMap(Notes):
    """A map as maps.json has it in `values`; `head` are the keys of a world that begins with it."""

    head: dict[str, Any]
    values: dict[str, Any]


def read_tiled(path: Path) -> TiledMap:
    """The map that the file holds.

    Raises:
        ImportRefused: it is none, or a tileset that it names is not there.
    """
    with refusing(path.name):
        read_bytes(path, MOST_BYTES)
        try:
            area = parse_map(path, "utf-8-sig")
            objects = [*_objects(area.layers, ("layers",), 0.0, 0.0)]
            if not all(math.isfinite(one.x + one.y + sum(one.one.size)) for one in objects) or min(area.tile_size) < 1:
                raise ValueError("a number that is none")
        except _BROKEN as exc:
            reason = " ".join(f"{type(exc).__name__}: {exc}".split())[:200]
            raise Unreadable("exchange.no_tiled", reason=reason) from exc
        return _Reading(path.name, area, objects).read()


class _Reading:
    """One map being read."""

    def __init__(self, file: str, area: ParsedMap, objects: list[_Placed]) -> None:
        stem = file.partition(".")[0]
        self._area, self._objects, self._said = area, objects, partial(_said, area.properties)
        name = _text(self._said("name")) or stem
        self._reach = max(area.tile_size) / 2
        self._nodes: dict[str, _Placed] = {}
        self._cells: dict[tuple[int, int], list[tuple[str, _Placed]]] = {}
        self._map = TiledMap(
            file=file,
            head={
                "name": name,
                "language": self._said("language") or "en",
                "startTime": self._said("startTime") or FIRST_DAY,
            },
            values={"id": self._said("id") or id_of(stem), "name": name},
        )

    def read(self) -> TiledMap:
        """Everything, in the order of maps.json."""
        found, values = self._map, self._map.values
        own = [placed for placed in self._objects if isinstance(placed.one, Point)]
        has_ways = any(isinstance(placed.one, Polyline) for placed in self._objects)
        if not own or (len(own) > 1 and not has_ways):
            taken = {(placed.x, placed.y) for placed in own}  # the lines there end at the author's point
            thinned = [
                one for one in _thinned(self._area) if isinstance(one.one, Polyline) or (one.x, one.y) not in taken
            ]
            made = [placed for placed in thinned if isinstance(placed.one, Point)]
            self._objects += [*thinned, *(_joined(point, made) for point in own if made)]
            found.note(("layers",), "thinned", count=len(made))
        values["nodes"] = [self._node(placed) for placed in self._objects if isinstance(placed.one, Point)]
        values["edges"] = self._edges()
        exits = [self._exit(node_id, placed) for node_id, placed in self._nodes.items() if placed.said("exit")]
        values |= _filled({"exits": exits})
        values["facilities"] = [place for placed in self._objects for place in self._facilities(placed)]
        values["npcs"] = [
            {"npcId": npc_id, "spawnNodeId": node_id}
            for node_id, placed in self._nodes.items()
            if (npc_id := _npc_of(placed))
        ]
        for placed in self._objects:
            if not isinstance(placed.one, (Point, Polyline, Rectangle)):
                found.note(placed.key, "other_shape")
        return found

    def _node(self, placed: _Placed) -> dict[str, Any]:
        one, npc_id = placed.one, _npc_of(placed)
        name = "" if npc_id and placed.category == _NPC else _text(one.name)
        wanted = placed.said("id") or (id_of(name) if name else npc_id and f"post_{npc_id}") or f"n{one.id}"
        node_id = wanted if wanted not in self._nodes else f"{wanted}_{one.id}"
        self._nodes[node_id] = placed
        self._cells.setdefault(self._cell(placed.x, placed.y), []).append((node_id, placed))
        return _filled({"id": node_id, "x": _rounded(placed.x), "y": _rounded(placed.y), "name": name})

    def _edges(self) -> list[dict[str, Any]]:
        """Between the nodes that a polyline touches with its corners, one after the other."""
        scale = self._scale()
        shortest: dict[tuple[str, str], float] = {}
        for placed in (one for one in self._objects if isinstance(one.one, Polyline)):
            corners = [(placed.x + x, placed.y + y) for x, y in getattr(placed.one, "points", ())]
            for (start, goal), pixels in self._ways(placed, corners):
                pair = (start, goal) if (goal, start) not in shortest else (goal, start)
                shortest[pair] = min(pixels, shortest.get(pair, math.inf))
        return [
            {"from": start, "to": goal, "minutes": max(1, round(pixels / scale))}
            for (start, goal), pixels in shortest.items()
        ]

    def _ways(self, placed: _Placed, corners: list[tuple[float, float]]) -> Iterator[tuple[tuple[str, str], float]]:
        last: str | None = None
        pixels = 0.0
        for number, corner in enumerate(corners):
            pixels += math.dist(corners[number - 1], corner) if number else 0
            node_id = self._node_at(corner)
            if node_id is None:
                if number in (0, len(corners) - 1):
                    self._map.note((*placed.key, "polyline", number), "ends_nowhere", pixels=_rounded(self._reach))
                continue
            if last is not None and last != node_id:
                yield (last, node_id), pixels
            last, pixels = node_id, 0.0

    def _node_at(self, corner: tuple[float, float]) -> str | None:
        column, row = self._cell(*corner)
        around = (self._cells.get((column + dx, row + dy), ()) for dx in (-1, 0, 1) for dy in (-1, 0, 1))
        near = [(math.dist(corner, (one.x, one.y)), node_id) for cell in around for node_id, one in cell]
        distance, node_id = min(near, key=lambda one: one[0], default=(math.inf, None))
        return node_id if distance <= self._reach else None

    def _cell(self, x: float, y: float) -> tuple[int, int]:
        """Squares as wide as a corner reaches: what is near it lies in its own, or in the next."""
        return math.floor(x / self._reach), math.floor(y / self._reach)

    def _scale(self) -> float:
        """Pixels that are walked in a minute: the map says it, or a tile takes a minute."""
        said = _number(self._said("pixelsPerMinute"))
        if said is None or said <= 0:
            self._map.note((), "scale", pixels=_rounded(self._area.tile_size.width))
            return self._area.tile_size.width
        return said

    def _exit(self, node_id: str, placed: _Placed) -> dict[str, Any]:
        minutes = max(1, round(_number(placed.said("exitMinutes")) or 1))
        return {"from": node_id, "to": placed.said("exit"), "minutes": minutes}

    def _facilities(self, placed: _Placed) -> Iterator[dict[str, Any]]:
        """The rectangle with the nodes that lie in it."""
        one = placed.one
        if not isinstance(one, Rectangle) or not all(one.size):
            return
        if one.rotation:
            self._map.note(placed.key, "rotated")
        within = [
            node_id
            for node_id, node in self._nodes.items()
            if placed.x <= node.x <= placed.x + one.size.width and placed.y <= node.y <= placed.y + one.size.height
        ]
        if not within:
            self._map.note(placed.key, "empty_place")
            return
        name = _text(one.name) or f"place_{one.id}"
        tags = _parts(placed.said("tags")) or ([placed.category] if is_slug(placed.category) else [])
        place_id, hours = placed.said("id") or id_of(name), _parts(placed.said("hours"))
        yield _filled({"id": place_id, "name": name, "nodes": within, "tags": tags, "hours": hours})


def _objects(layers: Iterable[Layer], key: Key, x: float, y: float) -> Iterator[_Placed]:
    """Every object of every layer, those of groups too."""
    for i, layer in enumerate(layers):
        dx, dy = x + layer.offset.x, y + layer.offset.y
        if isinstance(layer, ObjectLayer):
            for j, one in enumerate(layer.tiled_objects):
                at = one.coordinates
                yield _Placed(key=(*key, i, "objects", j), one=one, x=at.x + dx, y=at.y + dy)
        elif isinstance(layer, LayerGroup):
            yield from _objects(layer.layers or (), (*key, i, "layers"), dx, dy)


def _thinned(area: ParsedMap) -> Iterator[_Placed]:
    """The points and polylines that an author might have drawn over the tiles one can walk on: a point for each part of
    a square of tiles that hangs together, a line between neighbouring parts. Of several islands it is the largest.
    """
    ground = _ground(area)
    beside = [((x, y), other) for x, y in sorted(ground) for other in ((x + 1, y), (x, y + 1)) if other in ground]
    main = max(nx.connected_components(nx.Graph(beside)), key=len, default=set())
    wide = max(1, math.isqrt(len(main) // MADE_NODES))
    beside = [(a, b) for a, b in beside if a in main]
    parts: nx.Graph[_Tile] = nx.Graph()
    parts.add_nodes_from(sorted(main))
    parts.add_edges_from((a, b) for a, b in beside if _square(a, wide) == _square(b, wide))
    part_of, centres = dict[_Tile, int](), list[OrderedPair]()
    for number, part in enumerate(nx.connected_components(parts)):
        middle = (sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part))
        column, row = min(sorted(part), key=lambda tile: math.dist(tile, middle))
        centres.append(OrderedPair((column + 0.5) * area.tile_size.width, (row + 0.5) * area.tile_size.height))
        part_of |= dict.fromkeys(part, number)
    for number, centre in enumerate(centres):
        yield _Placed(key=(), one=Point(id=number, coordinates=centre), x=centre.x, y=centre.y)
    for one, other in sorted({(part_of[a], part_of[b]) for a, b in beside if part_of[a] != part_of[b]}):
        (x, y), goal = centres[one], centres[other]
        corners = [OrderedPair(0, 0), OrderedPair(goal.x - x, goal.y - y)]
        yield _Placed(key=(), one=Polyline(id=0, coordinates=centres[one], points=corners), x=x, y=y)


def _joined(point: _Placed, made: list[_Placed]) -> _Placed:
    """The line from an author's point to the nearest that was made."""
    near = min(made, key=lambda one: math.dist((one.x, one.y), (point.x, point.y)))
    corners = [OrderedPair(0, 0), OrderedPair(near.x - point.x, near.y - point.y)]
    return _Placed(key=(), one=Polyline(id=0, coordinates=point.one.coordinates, points=corners), x=point.x, y=point.y)


def _square(tile: _Tile, wide: int) -> _Tile:
    return tile[0] // wide, tile[1] // wide


def _ground(area: ParsedMap) -> set[_Tile]:
    """Where a tile lies and none that one cannot walk through.

    Raises:
        ImportRefused: there are too many.
    """
    blocking = {
        first + tile.id
        for first, tileset in area.tilesets.items()
        for tile in (tileset.tiles or {}).values()
        if tile.objects or _blocks(tile.properties)
    }
    ground, blocked = set[_Tile](), set[_Tile]()
    for layer in _tile_layers(area.layers):
        is_wall = _blocks(layer.properties) or any(word in layer.name.lower() for word in _BLOCKS)
        for tile, number in _tiles(layer):
            (blocked if is_wall or number & ~_FLIPPED in blocking else ground).add(tile)
    if len(ground) > MOST_CELLS:
        raise Unreadable("exchange.too_many_tiles", most=MOST_CELLS)
    return ground - blocked


def _tile_layers(layers: Iterable[Layer]) -> Iterator[TileLayer]:
    for layer in layers:
        if isinstance(layer, TileLayer):
            yield layer
        elif isinstance(layer, LayerGroup):
            yield from _tile_layers(layer.layers or ())


def _tiles(layer: TileLayer) -> Iterator[tuple[_Tile, int]]:
    """Each tile that lies there, with its number."""
    whole = [(OrderedPair(0, 0), layer.data)] if layer.data else []
    for at, rows in (*whole, *((chunk.coordinates, chunk.data) for chunk in layer.chunks or ())):
        for y, row in enumerate(rows, int(at.y)):
            yield from (((x, y), number) for x, number in enumerate(row, int(at.x)) if number)


def _blocks(properties: Properties | None) -> bool:
    """Whether one of the properties says that nobody walks there."""
    return any(value and name.lower() in _BLOCKS for name, value in (properties or {}).items())


def _said(properties: Properties | None, name: str) -> str:
    return str((properties or {}).get(name, "")).strip()


def _filled(entry: dict[str, Any]) -> dict[str, Any]:
    """The keys that say something."""
    return {name: value for name, value in entry.items() if value not in ("", [])}


def _npc_of(placed: _Placed) -> str:
    """The NPC whose post the point is; "": nobody's."""
    is_post = placed.category == _NPC and placed.one.name.strip()
    return placed.said(_NPC) or (id_of(placed.one.name) if is_post else "")


def _text(raw: str) -> str:
    return " ".join(plain(raw, "").split())


def _parts(said: str) -> list[str]:
    return [part.strip() for part in said.split(",") if part.strip()]


def _number(said: str) -> float | None:
    try:
        number = float(said)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _rounded(pixels: float) -> float:
    return int(pixels) if pixels == int(pixels) else round(pixels, 2)
