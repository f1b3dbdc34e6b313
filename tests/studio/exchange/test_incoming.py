"""Owns the tests of files of other programs that somebody sends: each is known by what it says, and reads no other."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from service.content.fields import ContentProblem
from studio.exchange.draft import ImportRefused
from studio.exchange.incoming import incoming
from tests.content.village import Village
from tests.studio.exchange.cards import as_charx, as_json, as_png, card
from tests.studio.exchange.test_tiled import ISLE, tmj
from tests.studio.exchange.test_tinytroupe import AGENT

TSX = """<tileset name="t" tilewidth="32" tileheight="32" tilecount="1" columns="1">
<image source="../t.png" width="32" height="32"/></tileset>"""
TMX = """<map version="1.10" tiledversion="1.11.0" orientation="orthogonal" renderorder="right-down" width="2"
 height="2" tilewidth="32" tileheight="32" infinite="0" nextlayerid="3" nextobjectid="9">
<tileset firstgid="1" source="{source}"/>
<objectgroup id="1" name="o"><object id="1" name="Jetty" x="0" y="0"><point/></object></objectgroup></map>"""


def sent(game: Path, *files: tuple[str, bytes]) -> tuple[Mapping[str, str | None], Sequence[ContentProblem]]:
    return incoming(game, dict(files), None, None, False)


def test_each_is_known_by_what_it_says(tmp_path: Path) -> None:
    game = Village().write(tmp_path / "game")
    for data in (as_json(card()), as_png(card()), as_charx(card())):
        assert "characters/ione.yaml" in sent(game, ("some file", data))[0]
    agent = json.dumps(AGENT).encode()
    assert "characters/odile_ferrant.yaml" in sent(game, ("odile.json", agent))[0]
    fragment = json.dumps({"type": "Fragment", "persona": {"skills": ["Knots"]}}).encode()
    assert [*sent(game, ("sailor.json", fragment))[0]] == ["fragments/sailor.yaml"]
    (game / "maps.json").unlink()
    isle = tmj(tmp_path, *ISLE, type="map").read_bytes()
    for name in ("isle.tmj", "isle.json"):
        files, notes = sent(game, (name, isle))
        assert json.loads(files["maps.json"] or "")["maps"][0]["id"] == "isle"
        assert notes
    assert not (game / "maps.json").exists()


def test_a_map_is_read_with_the_tilesets_that_come_with_it(tmp_path: Path) -> None:
    game = Village().write(tmp_path / "game")
    map_file = ("maps/isle.tmx", TMX.format(source="../tiles/t.tsx").encode())
    files, _ = sent(game, ("t.tsx", TSX.encode()), map_file)
    maps = json.loads(files["maps.json"] or "")["maps"]
    assert [area["id"] for area in maps] == ["village", "forest", "isle"]


@pytest.mark.parametrize("source", ["/dev/zero", "../../etc/passwd", "&#47;dev/zero", "t.tsx"])
def test_a_map_reads_no_file_that_did_not_come_with_it(tmp_path: Path, source: str) -> None:
    game = Village().write(tmp_path / "game")
    with pytest.raises(ImportRefused) as refused:
        sent(game, ("isle.tmx", TMX.format(source=source).encode()))
    assert "not among" in str(refused.value)
    values = json.loads(tmj(tmp_path, *ISLE, tilesets=[{"firstgid": 1, "source": source}]).read_bytes())
    hidden = json.dumps(values).replace('"source"', '"\\u0073ource"').encode()
    with pytest.raises(ImportRefused) as refused:
        sent(game, ("isle.tmj", hidden))
    assert "not among" in str(refused.value)


@pytest.mark.parametrize("name", ["..", "/", "a" * 300 + ".tmx", "\0.tmx"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    game = Village().write(tmp_path / "game")
    with pytest.raises(ImportRefused):
        sent(game, ("isle.tmx", TMX.format(source="t.png").encode()), (name, TSX.encode()))
