"""Owns the checks of the pages as they leave the server."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.content.files import bundled_content
from service.settings import LlmSettings, Settings, WorldSettings
from tests.content.village import Village
from tests.freeze.openapi import description


@pytest.fixture
def playing(settings: Settings) -> Settings:
    """A service in Japanese, with the rehearsal."""
    return settings.model_copy(update={"llm": LlmSettings(provider="rehearsal"), "world": WorldSettings(language="ja")})


@pytest.fixture
def client(playing: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(playing)) as client:
        yield client


def given(html: str) -> dict[str, Any]:
    """What a page hands to its script."""
    found = re.search(r'<script type="application/json" id="page">(.*?)</script>', html)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def talk(client: TestClient, world_id: str = "main") -> str:
    """A closed conversation of Aoi and Taro; its id."""
    headers = {"X-World-Id": world_id}
    walk = client.post("/characters/aoi/actions", json={"type": "move", "npc_id": "npc_taro"}, headers=headers).json()
    client.post("/world/tick", json={"ticks": walk["minutes"]}, headers=headers)
    body = {"character_id": "aoi", "npc_id": "npc_taro"}
    conversation_id: str = client.post("/conversations/start?wait=true", json=body, headers=headers).json()["id"]
    return conversation_id


def test_the_page_speaks_the_language_of_the_world(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert '<html lang="ja">' in page.text
    assert "できごと" in page.text
    assert given(page.text)["texts"]["talk"] == "話しかける"


@pytest.mark.parametrize(
    ("query", "accepted", "language"),
    [("", "en-GB,en;q=0.9,ja;q=0.8", "en"), ("?lang=ja", "en", "ja"), ("?lang=xx", "en", "en"), ("", "fr-FR,de", "ja")],
)
def test_a_page_speaks_the_browser_s_language_unless_its_address_names_one(
    client: TestClient, query: str, accepted: str, language: str
) -> None:
    page = client.get(f"/{query}", headers={"Accept-Language": accepted})
    assert f'<html lang="{language}">' in page.text
    assert page.headers["vary"] == "Accept-Language"


def test_the_address_may_ask_for_the_other_language(client: TestClient) -> None:
    page = client.get("/?lang=en")
    assert '<html lang="en">' in page.text
    assert "What happened" in page.text
    assert "できごと" not in page.text
    assert 'href="/?lang=en"' in page.text


def test_an_unknown_language_is_the_world_s(client: TestClient) -> None:
    assert '<html lang="ja">' in client.get("/?lang=tlh").text


def test_every_page_forbids_what_is_not_its_own(client: TestClient) -> None:
    conversation_id = talk(client)
    for path in (
        "/",
        f"/view/conversations/{conversation_id}",
        "/view/characters/aoi",
        "/view/characters/aoi/graph",
        "/view/npcs/npc_taro",
        "/view/worlds",
        "/view/nowhere",
    ):
        page = client.get(path)
        policy = page.headers["content-security-policy"]
        assert "default-src 'self'" in policy, path
        assert "unsafe" not in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        # What the policy would block must not be there in the first place.
        assert (
            re.findall(
                r"<script(?![^>]*(?:src=\"/view/|application/json))|\son\w+=|\sstyle=|https?://(?!127)", page.text
            )
            == []
        )


@pytest.mark.parametrize(
    "path",
    [
        "/view/conversations/unknown",
        "/view/characters/nobody/graph",
        "/view/characters/npc_taro/graph",
        "/view/characters/nobody",
        "/view/npcs/aoi",
        "/view/npcs/npc_taro?about=nobody",
        "/view/characters/aoi?about=nobody",
        "/view/elsewhere",
        "/?world_id=not%20a%20world",
    ],
)
def test_what_is_not_there_is_a_friendly_404(client: TestClient, path: str) -> None:
    page = client.get(path)
    assert page.status_code == 404
    assert "ここには何もありません" in page.text
    assert 'href="/"' in page.text


def test_a_conversation_is_found_only_in_its_own_world(client: TestClient) -> None:
    conversation_id = talk(client, "other")
    assert client.get(f"/view/conversations/{conversation_id}").status_code == 404
    page = client.get(f"/view/conversations/{conversation_id}?world_id=other")
    assert page.status_code == 200
    assert given(page.text)["world"] == "other"
    assert 'href="/?world_id=other"' in page.text


def test_a_page_may_be_asked_for_by_header(client: TestClient) -> None:
    for query, headers in (("?world_id=other", {}), ("", {"X-World-Id": "other"})):
        page = client.get(f"/{query}", headers=headers)
        assert given(page.text)["world"] == "other", (query, headers)
        assert 'href="/?world_id=other"' in page.text
    assert client.get("/?world_id=third", headers={"X-World-Id": "other"}).status_code == 404


def test_a_hostile_name_stays_text(playing: Settings, tmp_path: Path) -> None:
    hostile = '</script><img src=x onerror="alert(1)">'
    content = tmp_path / "game"
    for folder in ("npcs", "characters", "pictures"):
        shutil.copytree(bundled_content() / folder, content / folder)
    shutil.copy(bundled_content() / "maps.json", content)
    aoi = content / "characters" / "aoi.yaml"
    aoi.write_text(aoi.read_text("utf-8").replace('ja: "葵"', f"ja: '{hostile}'"), "utf-8")
    with TestClient(create_app(playing.model_copy(update={"content_dir": content}))) as client:
        assert client.get("/characters/aoi").json()["name"] == hostile
        conversation_id = talk(client)
        for path in ("/view/characters/aoi", f"/view/conversations/{conversation_id}"):
            page = client.get(path).text
            assert "<img src=x" not in page
            assert "&lt;img src=x" in page
        assert given(client.get("/view/characters/aoi").text)["name"] == hostile


def test_a_hostile_address_stays_text(client: TestClient) -> None:
    page = client.get('/?x="><script>alert(1)</script>&world_id=main')
    assert page.status_code == 200
    assert "<script>alert" not in page.text


def test_the_pages_are_no_part_of_the_api() -> None:
    assert [path for path in description()["paths"] if path == "/" or "view" in path] == []


@pytest.mark.parametrize(
    ("name", "kind"), [("world.js", "text/javascript"), ("style.css", "text/css"), ("icon.svg", "image/svg+xml")]
)
def test_static_files_have_their_type_and_are_asked_for_again(client: TestClient, name: str, kind: str) -> None:
    found = client.get(f"/view/static/{name}")
    assert found.status_code == 200
    assert found.headers["content-type"] == kind
    again = client.get(f"/view/static/{name}", headers={"If-None-Match": found.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fpages.py", "%2e%2e/pages.py", "sub/world.js"])
def test_nothing_but_static_files_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/view/static/{name}").status_code == 404


PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "ran"</script></svg>'


def test_portraits_and_grounds_come_from_the_content_and_run_nothing(playing: Settings, tmp_path: Path) -> None:
    village = Village(raw={"pictures/hanna.svg": PICTURE, "pictures/notes.txt": b"x", "pictures/.hidden.svg": PICTURE})
    village.baker["portrait"] = "pictures/hanna.svg"
    ground = {"file": "pictures/hanna.svg", "x": -5, "width": 20, "height": 10}
    village.village["background"] = ground
    content = village.write(tmp_path / "content")
    with TestClient(create_app(playing.model_copy(update={"content_dir": content}))) as client:
        data = given(client.get("/").text)
        assert data["portraits"] == {"baker": "/view/pictures/hanna.svg"}
        assert data["backgrounds"] == {"village": ground | {"file": "/view/pictures/hanna.svg", "y": 0}}
        found = client.get(data["portraits"]["baker"])
        assert (found.content, found.headers["content-type"]) == (PICTURE, "image/svg+xml")
        assert found.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        assert found.headers["x-content-type-options"] == "nosniff"
        for name in ("nobody.svg", "notes.txt", ".hidden.svg", "..%2fmaps.json", "%2e%2e/maps.json", "hanna.svg/x"):
            assert client.get(f"/view/pictures/{name}").status_code == 404, name


def test_the_api_s_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for name, value in client.get("/").headers.items():
        if name not in ("content-length", "x-request-id"):
            assert value == page.headers[name], name
    assert "unsafe" not in page.headers["content-security-policy"]
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(loaded) == 4
    for address in loaded:
        part = client.get(address)
        assert part.status_code == 200, address
        assert part.headers["x-content-type-options"] == "nosniff"
    assert re.findall(r"https?://|<script>", page.text) == []


def test_what_is_not_ours_has_its_licence_beside_it(client: TestClient) -> None:
    for name, says in (
        ("LICENSE.txt", "Apache License"),
        ("NOTICE.txt", "SmartBear"),
        ("swagger-ui-bundle.js.LICENSE.txt", "MIT"),
    ):
        licence = client.get(f"/view/static/swagger-ui/{name}")
        assert licence.headers["content-type"] == "text/plain; charset=utf-8"
        assert says in licence.text
    avatars = client.get("/view/static/avatars/LICENSE.txt").text
    assert "MIT License" in avatars
    assert "CC BY 4.0" in avatars


def test_there_is_one_page_of_the_api(client: TestClient) -> None:
    for path in ("/redoc", "/docs/oauth2-redirect"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "name", ["swagger-ui", "swagger-ui/", "..", "../pages.py", "swagger-ui/../../pages.py", "/etc/hosts"]
)
def test_only_the_files_of_the_pages_are_handed_out(client: TestClient, name: str) -> None:
    for written in (name, name.replace(".", "%2e"), name.replace(".", "%2e").replace("/", "%2f")):
        assert client.get(f"/view/static/{written}").status_code == 404
