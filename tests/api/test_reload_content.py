"""Owns the tests of content files that are changed while the service runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.app import create_app
from tests.api.play import settings_for
from tests.content.village import Village

NIKO = {"id": "niko", "name": "Niko", "personality": "Shy.", "home": "lane", "decision": "routine"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    Village().write(tmp_path / "game")
    settings = settings_for(tmp_path, tmp_path / "game", world={"decision": "routine"})
    app = create_app(settings, reload_content=True)
    with TestClient(app) as http:
        yield http


def look(client: TestClient) -> list[str]:
    """What is said on the page, after the service has looked at its files."""
    app = client.app
    assert isinstance(app, FastAPI)
    assert client.portal is not None
    client.portal.call(app.state.deps.content_reload.look)
    told: list[str] = client.get("/view/content-errors?lang=en").json()
    return told


def write(file: Path, values: Any) -> None:
    file.write_text(json.dumps(values) if file.suffix == ".json" else yaml.safe_dump(values), encoding="utf-8")


def test_changed_files_are_taken_in_while_the_world_lives(client: TestClient, tmp_path: Path) -> None:
    game = tmp_path / "game"
    assert client.put("/people/ken", json={"kind": "player", "name": "Ken"}).status_code == 201
    client.post("/world/tick", json={"ticks": 600, "wait": False})
    write(game / "characters" / "niko.yaml", NIKO)
    assert look(client) == []
    assert client.get("/characters/niko").json()["name"] == "Niko"
    client.post("/world/tick", json={"ticks": 60})
    assert "niko" in {event["person_id"] for event in client.get("/world/events?limit=200").json()["items"]}
    assert client.get("/people/ken").json()["name"] == "Ken"
    (game / "characters" / "niko.yaml").unlink()
    assert look(client) == []
    assert client.get("/characters/niko").status_code == 404
    assert client.post("/world/tick", json={"ticks": 60}).status_code == 200


def test_a_broken_file_leaves_the_old_content_in_force_and_shows_its_errors(
    client: TestClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    baker = tmp_path / "game" / "npcs" / "baker.yaml"
    sound = yaml.safe_load(baker.read_text(encoding="utf-8"))
    write(baker, sound | {"name": "Greta", "moood": "happy"})
    (error,) = look(client)
    assert error.startswith('npcs/baker.yaml: moood: unknown key "moood"')
    assert error in caplog.text
    assert client.get("/npcs/baker").json()["name"] == "ハンナ"
    assert "使えません" in client.get("/view/content-errors?lang=ja").json()[0]
    assert 'id="content-errors"' in client.get("/").text
    write(baker, sound | {"name": "Greta"})
    assert look(client) == []
    assert client.get("/npcs/baker").json()["name"] == "Greta"
