"""Owns the reading of a map of Tiled's (JSON, https://doc.mapeditor.org/en/stable/reference/json-map-format/): its
objects, not its tiles. Points are nodes, polylines edges, rectangles facilities; nothing else is opened. Pure.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, JsonValue

from service.public.files import Key, ListOf, is_slug
from studio.exchange.clean import plain
from studio.exchange.draft import Foreign, Notes, id_of, json_of, parsed

FIRST_DAY = "2026-04-01T07:00"
"""When a world begins whose map does not say it."""
_NPC = "npc"
_OTHER_SHAPES = ("ellipse", "polygon", "text", "gid")

Pixels = Annotated[float, Field(allow_inf_nan=False)]


def _listed(value: object) -> object:
    """Tiled before 1.2 writes a mapping."""
    if not isinstance(value, dict):
        return value
    return [{"name": name, "value": one} for name, one in value.items()]


class _Property(Foreign):
    name: str
    value: JsonValue = None


class _Corner(Foreign):
    x: Pixels
    y: Pixels


class _TiledOwner(Foreign):
    """What may carry properties of the author's."""

    properties: Annotated[ListOf[_Property], BeforeValidator(_listed)] = ()

    def said(self, name: str) -> str:
        """The value of the property as a text; "" where there is none."""
        return next((str(one.value).strip() for one in self.properties if one.name == name), "")


class _Object(_TiledOwner):
    x: Pixels
    y: Pixels
    id: int = 0
    name: str = ""
    type: str = ""
    kind: str = Field(default="", alias="class")
    width: Pixels = 0
    height: Pixels = 0
    rotation: Pixels = 0
    point: bool = False
    polyline: ListOf[_Corner] = ()

    @property
    def category(self) -> str:
        """Its class, as Tiled calls it in one version or another."""
        return (self.kind or self.type).strip()


class _Layer(Foreign):
    type: str
    offsetx: Pixels = 0
    offsety: Pixels = 0
    objects: ListOf[_Object] = ()
    layers: ListOf["_Layer"] = ()


class _Map(_TiledOwner):
    tilewidth: Annotated[Pixels, Field(ge=1)]
    tileheight: Annotated[Pixels, Field(ge=1)]
    layers: ListOf[_Layer]


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """An object with its place in the file, and where it lies on the map."""

    key: Key
    one: _Object
    x: float
    y: float


@dataclass(kw_only=True)
class TiledMap(Notes):
    """A map as maps.json has it in `values`; `head` are the keys of a world that begins with it."""

    head: dict[str, Any]
    values: dict[str, Any]


def read_tiled(file: str, raw: bytes) -> TiledMap:
    """The map that the file holds.

    Raises:
        ImportRefused: it is none.
    """
    return _Reading(file, parsed(_Map, file, json_of(file, raw, "exchange.no_tiled"))).read()


class _Reading:
    """One map being read."""

    def __init__(self, file: str, area: _Map) -> None:
        stem = Path(file).name.partition(".")[0]
        name = _text(area.said("name")) or stem
        self._area = area
        self._objects = list(_objects(area.layers, ("layers",), 0, 0))
        self._reach = max(area.tilewidth, area.tileheight) / 2
        self._nodes: dict[str, _Placed] = {}
        self._cells: dict[tuple[int, int], list[tuple[str, _Placed]]] = {}
        self._map = TiledMap(
            file=file,
            head={
                "name": name,
                "language": area.said("language") or "en",
                "startTime": area.said("startTime") or FIRST_DAY,
            },
            values={"id": area.said("id") or id_of(stem), "name": name},
        )

    def read(self) -> TiledMap:
        """Everything, in the order of maps.json."""
        found, values = self._map, self._map.values
        values["nodes"] = [self._node(placed) for placed in self._objects if placed.one.point]
        values["edges"] = self._edges()
        exits = [self._exit(node_id, placed.one) for node_id, placed in self._nodes.items() if placed.one.said("exit")]
        values |= _filled({"exits": exits})
        values["facilities"] = [place for placed in self._objects for place in self._facilities(placed)]
        values["npcs"] = [
            {"npcId": npc_id, "spawnNodeId": node_id}
            for node_id, placed in self._nodes.items()
            if (npc_id := _npc_of(placed.one))
        ]
        for placed in self._objects:
            if any(placed.one.model_extra and placed.one.model_extra.get(shape) for shape in _OTHER_SHAPES):
                found.note(placed.key, "other_shape")
        return found

    def _node(self, placed: _Placed) -> dict[str, Any]:
        one, npc_id = placed.one, _npc_of(placed.one)
        name = "" if npc_id and one.category == _NPC else _text(one.name)
        wanted = one.said("id") or (id_of(name) if name else npc_id and f"post_{npc_id}") or f"n{one.id}"
        node_id = wanted if wanted not in self._nodes else f"{wanted}_{one.id}"
        self._nodes[node_id] = placed
        self._cells.setdefault(self._cell(placed.x, placed.y), []).append((node_id, placed))
        return _filled({"id": node_id, "x": _rounded(placed.x), "y": _rounded(placed.y), "name": name})

    def _edges(self) -> list[dict[str, Any]]:
        """Between the nodes that a polyline touches with its corners, one after the other."""
        scale = self._scale()
        shortest: dict[tuple[str, str], float] = {}
        for placed in self._objects:
            corners = [(placed.x + corner.x, placed.y + corner.y) for corner in placed.one.polyline]
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
        said = _number(self._area.said("pixelsPerMinute"))
        if said is None or said <= 0:
            self._map.note((), "scale", pixels=_rounded(self._area.tilewidth))
            return self._area.tilewidth
        return said

    def _exit(self, node_id: str, one: _Object) -> dict[str, Any]:
        minutes = max(1, round(_number(one.said("exitMinutes")) or 1))
        return {"from": node_id, "to": one.said("exit"), "minutes": minutes}

    def _facilities(self, placed: _Placed) -> Iterator[dict[str, Any]]:
        """The rectangle with the nodes that lie in it."""
        one, extra = placed.one, placed.one.model_extra or {}
        if one.point or one.polyline or not (one.width and one.height) or any(map(extra.get, _OTHER_SHAPES)):
            return
        if one.rotation:
            self._map.note(placed.key, "rotated")
        within = [
            node_id
            for node_id, node in self._nodes.items()
            if placed.x <= node.x <= placed.x + one.width and placed.y <= node.y <= placed.y + one.height
        ]
        if not within:
            self._map.note(placed.key, "empty_place")
            return
        name = _text(one.name) or f"place_{one.id}"
        tags = _parts(one.said("tags")) or ([one.category] if is_slug(one.category) else [])
        place_id, hours = one.said("id") or id_of(name), _parts(one.said("hours"))
        yield _filled({"id": place_id, "name": name, "nodes": within, "tags": tags, "hours": hours})


def _objects(layers: Iterable[_Layer], key: Key, x: float, y: float) -> Iterator[_Placed]:
    """Every object of every layer, those of groups too."""
    for i, layer in enumerate(layers):
        dx, dy = x + layer.offsetx, y + layer.offsety
        for j, one in enumerate(layer.objects):
            yield _Placed(key=(*key, i, "objects", j), one=one, x=one.x + dx, y=one.y + dy)
        yield from _objects(layer.layers, (*key, i, "layers"), dx, dy)


def _filled(entry: dict[str, Any]) -> dict[str, Any]:
    """The keys that say something."""
    return {name: value for name, value in entry.items() if value not in ("", [])}


def _npc_of(one: _Object) -> str:
    """The NPC whose post the point is; "": nobody's."""
    said = one.said(_NPC)
    return said or (id_of(one.name) if one.category == _NPC and one.name.strip() else "")


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
