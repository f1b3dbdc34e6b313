"""Owns the tests of maps of Tiled's: what their objects become, and what is told of the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from service.content.check import examine
from service.content.load import load_content
from studio.exchange.draft import ImportRefused
from studio.exchange.place import maps_text, take_map_in
from studio.exchange.tiled import read_tiled
from tests.content.village import Village


def point(number: int, name: str, x: float, y: float, *, kind: str = "", **properties: Any) -> dict[str, Any]:
    said = [{"name": key, "type": "string", "value": value} for key, value in properties.items()]
    return {"id": number, "name": name, "type": kind, "point": True, "x": x, "y": y, "properties": said}


def line(*corners: tuple[float, float]) -> dict[str, Any]:
    (x, y), *_ = corners
    return {"id": 99, "name": "", "x": x, "y": y, "polyline": [{"x": a - x, "y": b - y} for a, b in corners]}


def box(name: str, x: float, y: float, width: float, height: float, **properties: Any) -> dict[str, Any]:
    said = [{"name": key, "value": value} for key, value in properties.items()]
    return {"id": 70, "name": name, "x": x, "y": y, "width": width, "height": height, "properties": said}


def tmj(*objects: dict[str, Any], **more: Any) -> bytes:
    layers = [
        {"type": "tilelayer", "name": "ground", "data": "not decoded", "encoding": "base64", "compression": "zstd"},
        {
            "type": "group",
            "offsetx": 100,
            "layers": [{"type": "objectgroup", "offsety": 10, "objects": list(objects)}],
        },
    ]
    return json.dumps({"tilewidth": 32, "tileheight": 32, "layers": layers, **more}).encode()


ISLE = (
    point(1, "Jetty", 0, 0),
    point(2, "広場", 64, 0),
    point(3, "Hanna", 64, 64, kind="npc", npc="baker"),
    line((1, 1), (32, 0), (64, 0), (64, 60)),
    box("Bakery", 50, -10, 40, 90, tags="shop, food", hours="06:00-12:00"),
    {"id": 8, "x": 0, "y": 0, "width": 5, "height": 5, "ellipse": True},
    box("Nowhere", 500, 500, 5, 5),
)


def test_points_polylines_and_rectangles_become_a_map() -> None:
    found = read_tiled("isle.tmj", tmj(*ISLE))
    square = found.values["nodes"][1]["id"]
    assert found.values == {
        "id": "isle",
        "name": "isle",
        "nodes": [
            {"id": "jetty", "x": 100, "y": 10, "name": "Jetty"},
            {"id": square, "x": 164, "y": 10, "name": "広場"},
            {"id": "post_baker", "x": 164, "y": 74},
        ],
        "edges": [
            {"from": "jetty", "to": square, "minutes": 2},
            {"from": square, "to": "post_baker", "minutes": 2},
        ],
        "facilities": [
            {
                "id": "bakery",
                "name": "Bakery",
                "nodes": [square, "post_baker"],
                "tags": ["shop", "food"],
                "hours": ["06:00-12:00"],
            }
        ],
        "npcs": [{"npcId": "baker", "spawnNodeId": "post_baker"}],
    }
    assert {note.key_path: note.said.key for note in found.report} == {
        "": "exchange.notes.scale",
        "layers[1].layers[0].objects[5]": "exchange.notes.other_shape",
        "layers[1].layers[0].objects[6]": "exchange.notes.empty_place",
    }


def test_the_map_says_how_far_a_minute_is_and_where_its_way_ends(tmp_path: Path) -> None:
    said = [{"name": "pixelsPerMinute", "value": 8}]
    found = read_tiled("isle.tmj", tmj(*ISLE[:3], line((0, 0), (64, 0)), line((64, 0), (64, 200)), properties=said))
    assert [edge["minutes"] for edge in found.values["edges"]] == [8]
    assert [note.key_path for note in found.report] == ["layers[1].layers[0].objects[4].polyline[1]"]
    with pytest.raises(ImportRefused) as refused:
        take_map_in(tmp_path, found)
    assert "post_baker" in refused.value.sentence("en")
    assert list(tmp_path.iterdir()) == []


def test_a_map_stands_beside_the_others_of_a_world(tmp_path: Path) -> None:
    """It is joined by an exit; the same id again is refused, or replaced."""
    village = Village().write(tmp_path)
    objects = (point(1, "Jetty", 0, 0, exit="pond", exitMinutes=30), point(2, "Cave", 64, 0), line((0, 0), (64, 0)))
    (file,) = take_map_in(village, read_tiled("isle.tmj", tmj(*objects)))
    assert examine(village).problems == []
    assert "jetty" in load_content(village).cast("en").world_map.nodes
    before = file.read_bytes()
    with pytest.raises(ImportRefused) as refused:
        take_map_in(village, read_tiled("isle.tmj", tmj(*objects)))
    assert [(one.file, one.key_path) for one in refused.value.problems] == [("maps.json", "maps[2].id")]
    assert file.read_bytes() == before
    found = read_tiled("isle.tmj", tmj(*objects, point(3, "Ferryman", 0, 32, kind="npc"), line((0, 0), (0, 32))))
    take_map_in(village, found, replace_it=True)
    assert [note.said.key for note in found.report] == ["exchange.notes.scale", "content.unknown_npc"]


def test_a_world_may_begin_with_a_map(tmp_path: Path) -> None:
    found = read_tiled("isle.tmj", tmj(*ISLE))
    take_map_in(tmp_path, found)
    values = json.loads((tmp_path / "maps.json").read_text(encoding="utf-8"))
    assert values["startTime"] == "2026-04-01T07:00"
    assert json.loads(maps_text(values)) == values


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (b"", ""),
        (b"\xff", ""),
        (b"[]", ""),
        (b'{"tilewidth": 32, "tileheight": 32}', "layers"),
        (b'{"tilewidth": 0, "tileheight": 32, "layers": []}', "tilewidth"),
        (tmj({"id": 1, "x": "left", "y": 0}), "layers[1].layers[0].objects[0].x"),
        (tmj({"id": 1, "x": float("nan"), "y": 0}), "layers[1].layers[0].objects[0].x"),
    ],
)
def test_what_is_no_map_is_refused_with_its_place(raw: bytes, where: str) -> None:
    with pytest.raises(ImportRefused) as refused:
        read_tiled("isle.tmj", raw)
    assert [one.key_path for one in refused.value.problems] == [where]
    assert refused.value.sentence("ja")
