"""Owns the tests of maps of Tiled's: what their objects become, and what is told of the rest."""

import base64
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from service.content.check import examine
from service.content.files import small_content
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
    said = [{"name": key, "type": "string", "value": value} for key, value in properties.items()]
    return {"id": 70, "name": name, "x": x, "y": y, "width": width, "height": height, "properties": said}


def tmj(directory: Path, *objects: dict[str, Any], **more: Any) -> Path:
    """A map with these objects in a moved layer of a moved group, over an empty ground."""
    packed = base64.b64encode(zlib.compress(bytes(4 * 4))).decode()
    common = {"width": 2, "height": 2, "x": 0, "y": 0, "opacity": 1, "visible": True}
    ground = {"type": "tilelayer", "name": "ground", "id": 1, "data": packed, "encoding": "base64", **common}
    placed = [
        {"rotation": 0, "visible": True, "width": 0, "height": 0, "type": "", "name": "", **one} for one in objects
    ]
    layer = {
        "type": "objectgroup",
        "draworder": "topdown",
        "name": "",
        "id": 3,
        "offsetx": 0,
        "offsety": 10,
        "objects": placed,
        **common,
    }
    group = {"type": "group", "name": "", "id": 2, "offsetx": 100, "offsety": 0, "layers": [layer], **common}
    values = {
        "tilewidth": 32,
        "tileheight": 32,
        "width": 2,
        "height": 2,
        "version": "1.10",
        "tiledversion": "1.11.0",
        "orientation": "orthogonal",
        "renderorder": "right-down",
        "nextobjectid": 100,
        "nextlayerid": 4,
        "tilesets": [],
        "layers": [{**ground, "compression": "zlib"}, group],
        **more,
    }
    file = directory / "isle.tmj"
    file.write_text(json.dumps(values), encoding="utf-8")
    return file


ISLE = (
    point(1, "Jetty", 0, 0),
    point(2, "広場", 64, 0),
    point(3, "Hanna", 64, 64, kind="npc", npc="baker"),
    line((1, 1), (32, 0), (64, 0), (64, 60)),
    box("Bakery", 50, -10, 40, 90, tags="shop, food", hours="06:00-12:00"),
    {"id": 8, "x": 0, "y": 0, "width": 5, "height": 5, "ellipse": True},
    box("Nowhere", 500, 500, 5, 5),
)


def test_points_polylines_and_rectangles_become_a_map(tmp_path: Path) -> None:
    found = read_tiled(tmj(tmp_path, *ISLE))
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
    said = [{"name": "pixelsPerMinute", "type": "int", "value": 8}]
    ways = (line((0, 0), (64, 0)), line((64, 0), (64, 200)))
    found = read_tiled(tmj(tmp_path, *ISLE[:3], *ways, properties=said))
    assert [edge["minutes"] for edge in found.values["edges"]] == [8]
    assert [note.key_path for note in found.report] == ["layers[1].layers[0].objects[4].polyline[1]"]
    with pytest.raises(ImportRefused) as refused:
        take_map_in(tmp_path, found)
    assert "post_baker" in refused.value.sentence("en")
    assert [one.name for one in tmp_path.iterdir()] == ["isle.tmj"]


def test_a_map_stands_beside_the_others_of_a_world(tmp_path: Path) -> None:
    """It is joined by an exit; the same id again is refused, or replaced."""
    village = Village().write(tmp_path)
    objects = (point(1, "Jetty", 0, 0, exit="pond", exitMinutes=30), point(2, "Cave", 64, 0), line((0, 0), (64, 0)))
    (file,) = take_map_in(village, read_tiled(tmj(tmp_path, *objects)))
    assert examine(village).problems == []
    assert "jetty" in load_content(village).cast("en").world_map.nodes
    before = file.read_bytes()
    with pytest.raises(ImportRefused) as refused:
        take_map_in(village, read_tiled(tmj(tmp_path, *objects)))
    assert [(one.file, one.key_path) for one in refused.value.problems] == [("maps.json", "maps[2].id")]
    assert file.read_bytes() == before
    found = read_tiled(tmj(tmp_path, *objects, point(3, "Ferryman", 0, 32, kind="npc"), line((0, 0), (0, 32))))
    take_map_in(village, found, replace_it=True)
    assert [note.said.key for note in found.report] == ["exchange.notes.scale", "content.unknown_npc"]


def test_a_world_may_begin_with_a_map(tmp_path: Path) -> None:
    found = read_tiled(tmj(tmp_path, *ISLE))
    take_map_in(tmp_path, found)
    values = json.loads((tmp_path / "maps.json").read_text(encoding="utf-8"))
    assert values["startTime"] == "2026-04-01T07:00"
    assert json.loads(maps_text(values)) == values


TSX = """<tileset version="1.10" name="ground" tilewidth="16" tileheight="16" tilecount="2" columns="2">
 <image source="never-opened.png" width="32" height="16"/>
 <tile id="1"><properties><property name="solid" type="bool" value="true"/></properties></tile>
</tileset>"""
ROOMS = """
1111111111
1111211111
1111211111
1111111111
1111211111
0000000000
1110000000
"""
"""Two rooms with a door in the wall between them, water below, and an island of three tiles."""


def tmx(directory: Path, encoding: str) -> Path:
    """The rooms as Tiled writes them in that encoding, without a single point."""
    rows = [[int(one) for one in row] for row in ROOMS.split()]
    packed = b"".join(number.to_bytes(4, "little") for row in rows for number in row)
    how = {
        "csv": ('encoding="csv"', ",\n".join(",".join(map(str, row)) for row in rows)),
        "base64": ('encoding="base64"', base64.b64encode(packed).decode()),
        "zlib": ('encoding="base64" compression="zlib"', base64.b64encode(zlib.compress(packed)).decode()),
    }
    said, data = how[encoding]
    layer = f'<layer id="1" name="floor" width="10" height="{len(rows)}"><data {said}>{data}</data></layer>'
    size = f'width="10" height="{len(rows)}" tilewidth="16" tileheight="16" infinite="0"'
    kind = 'version="1.10" tiledversion="1.11.0" orientation="orthogonal" renderorder="right-down"'
    tiles = '<tileset firstgid="1" source="ground.tsx"/>'
    (directory / "ground.tsx").write_text(TSX, encoding="utf-8")
    file = directory / "rooms.tmx"
    file.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<map {kind} {size} nextlayerid="2" nextobjectid="1">'
        f"{tiles}{layer}</map>",
        encoding="utf-8",
    )
    return file


@pytest.mark.parametrize("encoding", ["csv", "base64", "zlib"])
def test_a_map_of_tiles_alone_is_thinned_into_nodes_one_can_walk_between(tmp_path: Path, encoding: str) -> None:
    found = read_tiled(tmx(tmp_path, encoding))
    nodes = {node["id"]: (node["x"] // 16, node["y"] // 16) for node in found.values["nodes"]}
    assert all(ROOMS.split()[int(y)][int(x)] == "1" and y < 5 for x, y in nodes.values())
    ways = nx.Graph([(edge["from"], edge["to"]) for edge in found.values["edges"]])
    assert set(ways) == set(nodes)
    assert nx.is_connected(ways)
    ends = {place: node_id for node_id, place in nodes.items()}
    left, right = ends[min(ends)], ends[max(ends)]
    assert any(nodes[node_id][1] == 3 for node_id in nx.shortest_path(ways, left, right))  # through the door
    assert "exchange.notes.thinned" in [note.said.key for note in found.report]
    shutil.copytree(small_content("en"), tmp_path / "stage")
    take_map_in(tmp_path / "stage", found)
    assert examine(tmp_path / "stage").problems == []
    assert found.report[-1].said.key == "exchange.notes.joined"


def test_points_that_no_line_joins_are_joined_over_the_tiles(tmp_path: Path) -> None:
    shop = '<object id="1" name="Shop" x="24" y="8"><point/></object>'
    chest = '<object id="2" name="Chest" x="140" y="8"><point/></object>'
    file = tmx(tmp_path, "csv")
    layer = f'<objectgroup id="2" name="events">{shop}{chest}</objectgroup></map>'
    file.write_text(file.read_text(encoding="utf-8").replace("</map>", layer), encoding="utf-8")
    found = read_tiled(file)
    ways = nx.Graph([(edge["from"], edge["to"]) for edge in found.values["edges"]])
    assert {"shop", "chest"} < set(ways) == {node["id"] for node in found.values["nodes"]}
    assert nx.is_connected(ways)


def test_a_map_whose_tileset_is_not_there_is_refused(tmp_path: Path) -> None:
    file = tmx(tmp_path, "csv")
    (tmp_path / "ground.tsx").unlink()
    with pytest.raises(ImportRefused, match=r"ground\.tsx"):
        read_tiled(file)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        b"[]",
        b"<map/>",
        b"<map",
        b'{"tilewidth": 32, "tileheight": 32}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_map_is_refused(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "isle.tmj"
    file.write_bytes(raw)
    with pytest.raises(ImportRefused) as refused:
        read_tiled(file)
    assert refused.value.sentence("ja")


@pytest.mark.parametrize("more", [{"tilewidth": 0}, {"layers": [{}]}, {"layers": 3}, {"tileheight": "wide"}])
def test_a_map_with_a_wrong_key_is_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(ImportRefused):
        read_tiled(tmj(tmp_path, *ISLE, **more))


def test_an_object_that_lies_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused):
        read_tiled(tmj(tmp_path, {"id": 1, "x": float("nan"), "y": 0}))
