"""Owns the tests of content files that are read and changed over HTTP, and of files of other programs that come in."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.app import create_app
from service.content.check import examine
from service.content.pictures import MOST_PICTURE_BYTES
from studio.exchange.incoming import incoming
from tests.api.play import problem, settings_for
from tests.content.village import Village
from tests.studio.exchange.cards import as_png, card, png

SORA = """# who asks everybody everything
id: sora
name: {en: "Sora", ja: "ソラ"}
home: yard   # beside the oven
personality:
  en: "Curious."
  ja: "好奇心が強い。"
facts:
  # what her mother told
  - {en: "was born at the mill", ja: "水車小屋で生まれた"}
lines: ["What is that?"]
"""
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle r="4"/></svg>'


@pytest.fixture
def game(tmp_path: Path) -> Path:
    game = Village.with_actions().write(tmp_path / "game")
    (game / "characters" / "sora.yaml").write_text(SORA, encoding="utf-8")
    return game


@pytest.fixture
def client(tmp_path: Path, game: Path) -> Iterator[TestClient]:
    app = create_app(settings_for(tmp_path, game), importer=incoming)
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http


def read(client: TestClient, path: str = "people/sora") -> dict[str, Any]:
    answer = client.get(f"/content/{path}")
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert answer.headers["etag"] == f'"{told["etag"]}"'
    return told


def put(client: TestClient, values: Any, etag: str, path: str = "people/sora", **more: Any) -> Any:
    body = {"values": values, **more}
    return client.put(f"/content/{path}", json=body, headers={"If-Match": f'"{etag}"'})


def take_in(client: TestClient) -> None:
    """Wait until what was written is in force."""
    app = client.app
    assert isinstance(app, FastAPI)
    assert client.portal is not None
    client.portal.call(app.state.deps.content_reload.look)


def wrong(told: dict[str, Any]) -> dict[str, str]:
    return {one["field"]: one["message"] for one in told["errors"]}


def test_a_person_is_changed_in_its_file_and_all_else_there_stays(client: TestClient, game: Path) -> None:
    part = read(client)
    assert (part["file"], part["problems"], part["writable"]) == ("characters/sora.yaml", [], True)
    assert part["values"] == yaml.safe_load(SORA)
    assert part["form"]["properties"]["home"]["description"].startswith("the node where it begins")
    values = {**part["values"], "lines": ["What is that?", "Who are you?"], "home": "lane"}
    assert put(client, values, part["etag"]).status_code == 204
    told = (game / "characters" / "sora.yaml").read_text(encoding="utf-8")
    assert told == SORA.replace("home: yard", "home: lane").replace('that?"]', 'that?", "Who are you?"]')
    take_in(client)
    assert client.get("/people/sora").json()["position"]["node_id"] == "lane"


@pytest.mark.parametrize(
    ("path", "change", "shown"),
    [
        ("facilities/mill-house", {"name": {"en": "Old Mill", "ja": "古い水車小屋"}}, "Old Mill"),
        ("nodes/lane", {"name": "The Lane"}, "The Lane"),
        ("actions/bake", {"minutes": 45}, None),
    ],
)
def test_a_place_and_an_action_are_changed_too(
    client: TestClient, game: Path, path: str, change: dict[str, Any], shown: str | None
) -> None:
    part = read(client, path)
    before = (game / part["file"]).read_text(encoding="utf-8")
    assert put(client, part["values"] | change, part["etag"], path).status_code == 204
    assert read(client, path)["values"] == part["values"] | change
    assert abs(len((game / part["file"]).read_text(encoding="utf-8")) - len(before)) < 80
    take_in(client)
    assert shown is None or shown in client.get("/world/map").text


def test_what_the_check_refuses_is_said_beside_its_field_and_not_written(client: TestClient, game: Path) -> None:
    part = read(client)
    values = {
        **part["values"],
        "home": "moon",
        "facts": [{"en": "x", "secret": True}, ""],
        "lines": ["a", {"fr": "b"}],
        "moood": "sad",
        "relationships": [{"person": "nobody", "description": "friend"}],
    }
    told = wrong(problem(put(client, values, part["etag"]), 422, "content-wrong"))
    assert told["body.values.moood"].startswith('unknown key "moood"')
    assert "tellFrom" in told["body.values.facts[0]"]
    assert told["body.values.lines[1].fr"].startswith("unknown key")
    values = {**part["values"], "home": "moon", "relationships": [{"person": "nobody", "description": "friend"}]}
    told = wrong(problem(put(client, values, part["etag"]), 422, "content-wrong"))
    assert set(told) == {"body.values.home", "body.values.relationships[0].person"}
    assert 'unknown node "moon"' in told["body.values.home"]
    other = wrong(problem(put(client, {**part["values"], "id": "sara"}, part["etag"]), 422, "content-wrong"))
    assert other == {"body.values.id": 'found "sara"; expected "sora"'}
    closed = read(client, "facilities/bakery")
    told = wrong(problem(put(client, closed["values"] | {"tags": []}, closed["etag"], "facilities/bakery"), 422))
    assert [field for field in told if field.startswith("body.elsewhere.actions.json: actions[1]")]
    assert (game / "characters" / "sora.yaml").read_text(encoding="utf-8") == SORA
    japanese = client.put(
        "/content/people/sora",
        json={"values": values},
        headers={"If-Match": part["etag"], "Accept-Language": "ja"},
    )
    assert "使えません" not in japanese.json()["detail"]
    assert "書き込みませんでした" in japanese.json()["detail"]


def test_a_file_that_somebody_else_has_changed_is_not_written_over(client: TestClient, game: Path) -> None:
    part = read(client)
    theirs = SORA.replace("yard", "lane")
    (game / "characters" / "sora.yaml").write_text(theirs, encoding="utf-8")
    told = problem(put(client, part["values"], part["etag"]), 412, "content-changed")
    assert "characters/sora.yaml was changed" in told["detail"]
    assert (game / "characters" / "sora.yaml").read_text(encoding="utf-8") == theirs
    assert client.put("/content/people/sora", json={"values": part["values"]}).status_code == 422


def test_a_broken_file_is_said_to_be_broken_and_left_alone(client: TestClient, game: Path) -> None:
    file = game / "characters" / "sora.yaml"
    file.write_text(SORA + "goals: [\n", encoding="utf-8")
    part = read(client)
    assert part["values"] is None
    (broken,) = part["problems"]
    assert (broken["field"], "no valid YAML" in broken["message"]) == ("values", True)
    assert problem(put(client, {"id": "sora"}, part["etag"]), 422, "content-wrong")
    assert file.read_text(encoding="utf-8").endswith("goals: [\n")
    (game / "maps.json").write_text('{"maps": 5}', encoding="utf-8")
    assert client.get("/content/nodes/lane").status_code == 404


def test_mistakes_that_were_there_before_keep_nobody_from_mending_one(client: TestClient, game: Path) -> None:
    file = game / "characters" / "sora.yaml"
    file.write_text(SORA + "moood: sad\ncontextTokens: 3\n", encoding="utf-8")
    part = read(client)
    assert {one["field"] for one in part["problems"]} == {"values.moood", "values.contextTokens"}
    mended = {name: value for name, value in part["values"].items() if name != "moood"}
    assert put(client, mended, part["etag"]).status_code == 204
    assert file.read_text(encoding="utf-8") == SORA + "contextTokens: 3\n"


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def test_a_picture_becomes_the_portrait_and_none_is_written_over(client: TestClient, game: Path) -> None:
    part = read(client)
    assert put(client, part["values"], part["etag"], picture=encoded(SVG)).status_code == 204
    portrait = read(client)["values"]["portrait"]
    assert (game / portrait).read_bytes() == SVG
    take_in(client)
    assert client.get(f"/view/{portrait}").content == SVG
    part = read(client)
    assert put(client, part["values"], part["etag"], picture=encoded(png())).status_code == 204
    assert sorted(file.suffix for file in (game / "pictures").iterdir()) == [".png", ".svg"]


@pytest.mark.parametrize(
    ("picture", "said"),
    [
        (SVG.replace(b"<circle", b"<script>alert(1)</script><circle"), "would run"),
        (SVG.replace(b"<circle", b"<circle onload='alert(1)'"), "would run"),
        (SVG.replace(b"<circle", b"<a href='java\nscript:alert(1)'/><circle"), "would run"),
        (SVG.replace(b"<circle", b"<image href='https://example.org/x.png'/><circle"), "from elsewhere"),
        (b'<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG, "would run"),
        (SVG.replace(b"<svg", b"<html").replace(b"</svg", b"</html"), "no picture"),
        (b"MZ\x90\x00", "no picture"),
        (b"", "no picture"),
        (SVG + b" " * MOST_PICTURE_BYTES, "expected 1000 at most"),
    ],
)
def test_a_picture_that_is_more_than_one_is_refused_in_words(
    client: TestClient, game: Path, picture: bytes, said: str
) -> None:
    part = read(client)
    told = wrong(problem(put(client, part["values"], part["etag"], picture=encoded(picture)), 422, "content-wrong"))
    assert said in told["body.picture"]
    assert not (game / "pictures").exists()
    assert (game / "characters" / "sora.yaml").read_text(encoding="utf-8") == SORA


@pytest.mark.parametrize(
    "path", ["people/..%2Fsora", "people/%2Fetc%2Fpasswd", "files/maps.json", "people/nobody", "nodes/..", "actions/x"]
)
def test_nothing_is_read_but_what_the_content_has(client: TestClient, path: str) -> None:
    assert client.get(f"/content/{path}").status_code in (404, 422)


def test_a_link_that_leads_out_of_the_content_is_not_followed(client: TestClient, game: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(SORA, encoding="utf-8")
    file = game / "characters" / "sora.yaml"
    file.unlink()
    file.symlink_to(outside)
    part = read(client)
    told = problem(put(client, part["values"] | {"home": "lane"}, part["etag"]), 422, "content-unwritable")
    assert "leads out" in told["detail"]
    assert outside.read_text(encoding="utf-8") == SORA


def test_the_sample_is_only_looked_at(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, tmp_path).model_copy(update={"content_dir": None})
    with TestClient(create_app(settings, importer=incoming)) as client:
        part = read(client, "people/aoi")
        assert part["writable"] is False
        told = problem(put(client, part["values"], part["etag"], "people/aoi"), 409, "content-fixed")
        assert "kataribe init" in told["detail"]
        preview = send(client, ("ione.png", as_png(card())))
        assert preview.status_code == 200
        problem(send(client, ("ione.png", as_png(card())), etag=preview.json()["etag"]), 409, "content-fixed")


def send(client: TestClient, *files: tuple[str, bytes], etag: str | None = None, **more: Any) -> Any:
    body = {"files": {name: encoded(raw) for name, raw in files}, **more}
    return client.post("/content/import", json=body, headers={} if etag is None else {"If-Match": f'"{etag}"'})


def snapshot(game: Path) -> dict[str, bytes]:
    return {str(file.relative_to(game)): file.read_bytes() for file in game.rglob("*") if file.is_file()}


def test_a_card_is_looked_at_and_then_taken_in(client: TestClient, game: Path) -> None:
    before = snapshot(game)
    told = send(client, ("ione.png", as_png(card(creator_notes="Be nice.", scenario="The fog stays.")))).json()
    assert snapshot(game) == before
    assert (sorted(told["files"]), told["before"]) == (["characters/ione.yaml", "lore/ione.yaml"], {})
    text = told["files"]["characters/ione.yaml"]
    assert yaml.safe_load(text)["name"] == "Ione"
    assert (told["written"], "creator_notes" in " ".join(told["notes"])) == (False, True)
    problem(send(client, ("ione.png", as_png(card(scenario="Sun."))), etag=told["etag"]), 412, "content-changed")
    assert snapshot(game) == before
    done = send(
        client, ("ione.png", as_png(card(creator_notes="Be nice.", scenario="The fog stays."))), etag=told["etag"]
    )
    assert done.json()["written"] is True
    assert (game / "characters" / "ione.yaml").read_text(encoding="utf-8") == text
    assert examine(game).problems == []
    refused = problem(send(client, ("ione.png", as_png(card()))), 422, "import-refused")
    assert "characters/ione.yaml: there is such a file already" in refused["detail"]
    again = send(client, ("ione.png", as_png(card())), replace=True).json()
    assert (again["files"]["lore/ione.yaml"], again["before"]["characters/ione.yaml"]) == (None, text)


def test_what_is_none_of_these_files_is_refused_in_words(client: TestClient) -> None:
    for name, raw in (("a.png", png()), ("a.json", b"[1]"), ("../../a.tmx", b"<map/>"), ("a.exe", b"MZ")):
        assert problem(send(client, (name, raw)), 422, "import-refused")["detail"]
    assert problem(client.post("/content/import", json={"files": {"a": "#"}}), 422)


def test_without_a_reader_of_such_files_it_is_said(tmp_path: Path, game: Path) -> None:
    with TestClient(create_app(settings_for(tmp_path, game))) as client:
        assert "kataribe serve" in problem(send(client, ("ione.png", as_png(card()))), 422)["detail"]


def test_a_page_of_another_site_changes_nothing(client: TestClient, game: Path) -> None:
    part = read(client)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = client.put(
            "/content/people/sora",
            json={"values": part["values"] | {"home": "lane"}},
            headers={"If-Match": part["etag"], **headers},
        )
        assert answer.status_code == 403
    assert (game / "characters" / "sora.yaml").read_text(encoding="utf-8") == SORA


def test_the_pages_show_hostile_names_as_text(tmp_path: Path) -> None:
    village = Village.with_actions()
    village.sora["name"] = '<script>alert(1)</script>"' + "x" * 80
    village.maps["maps"][0]["facilities"][0]["name"] = "<img src=x onerror=alert(1)>"
    with TestClient(create_app(settings_for(tmp_path, village.write(tmp_path / "game")))) as client:
        for path in ("/view/content", "/view/content/people/sora", "/view/content/facilities/bakery"):
            page = client.get(path, params={"lang": "en"})
            assert page.status_code == 200
            assert "<script>alert" not in page.text
            assert "<img src=x" not in page.text
        for path in ("people/nobody", "files/maps.json", "people/%3Cscript%3E"):
            assert client.get(f"/view/content/{path}").status_code == 404


def test_keys_of_the_form_are_json_schema(client: TestClient) -> None:
    for path in ("people/sora", "people/baker", "facilities/bakery", "nodes/lane", "actions/bake"):
        assert json.dumps(read(client, path)["form"]["properties"])
