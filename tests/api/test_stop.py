"""Owns the tests of stopping, reading and changing a world that moves, over HTTP, with a model that hangs."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlmodel import Session, select

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.store.session import Database
from service.store.tables import WorldRow
from tests.api.play import problem, settings_for
from tests.runtime.hanging import Hanging
from tests.runtime.lives import rehearsal
from tests.runtime.worlds import TABLES

WEEK = 7 * 24 * 60
SOON = 2.0
"""Seconds in which everything here is answered: a command may wait for five."""


@pytest.fixture
def model() -> Hanging:
    """Answers five calls, and then none."""
    return Hanging(rehearsal(), answers=5)


@pytest.fixture
def app(tmp_path: Path, millbrook: Path, model: Hanging) -> FastAPI:
    """The service, whose people decide by that model."""
    settings = settings_for(tmp_path, millbrook, world={"language": "en", "decision": "model"})
    return create_app(settings, models=Models(dict.fromkeys(ROLES, model)))


@pytest.fixture
def moving(client: TestClient, model: Hanging) -> Iterator[TestClient]:
    """A client of a world that is to live a week, and waits for its model."""
    assert client.post("/world/tick", json={"ticks": WEEK, "wait": False}).status_code == 202
    deadline = time.monotonic() + 30
    while model.calls <= 5:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    began = time.monotonic()
    yield client
    assert time.monotonic() - began < SOON


def rows(app: FastAPI) -> dict[str, list[Any]]:
    """All that is stored, the leases aside."""
    leases = {"runner"}

    def read(session: Session) -> dict[str, list[Any]]:
        return {
            name: [row.model_dump(exclude=leases) for row in session.exec(select(t)).unique()]
            for name, t in TABLES.items()
        }

    found: dict[str, list[Any]] = app.state.deps.conversation.database.read_now(read)
    return found


def settled_rows(app: FastAPI) -> dict[str, list[Any]]:
    """The same, when what was answered is written and nothing is written any more."""
    found, before = rows(app), None
    while found != before:
        time.sleep(0.2)
        found, before = rows(app), found
    return found


def test_a_tick_that_is_too_long_names_the_bound_in_both_languages(client: TestClient) -> None:
    for language, word in (("en", "too long"), ("ja", "長すぎます")):
        headers = {"Accept-Language": language}
        told = problem(client.post("/world/tick", json={"ticks": 10_000_000}, headers=headers), 422, "tick-too-long")
        assert word in told["detail"]
        assert "KATARIBE_WORLD__MAX_TICK_MINUTES" in told["detail"]
        assert told["facts"] == {"minutes": 10_000_000, "ordered": 0, "most": WEEK}
    assert client.get("/world").json()["moving"] is False


def test_a_world_is_stopped_and_stopping_it_again_changes_nothing(moving: TestClient, model: Hanging) -> None:
    told = moving.post("/world/stop")
    assert told.status_code == 200
    assert (told.json()["moving"], told.json()["until"]) == (False, told.json()["now"])
    assert told.json()["clock"]["mode"] == "manual"
    assert moving.post("/world/stop").json() == told.json()
    assert model.in_flight == 0


def test_setting_the_clock_to_manual_stops_the_world(moving: TestClient, model: Hanging) -> None:
    assert moving.put("/world/clock", json={"mode": "manual"}).json()["moving"] is False
    assert model.in_flight == 0


def test_a_world_nobody_has_entered_can_be_stopped(client: TestClient) -> None:
    assert client.post("/world/stop", headers={"X-World-Id": "other"}).json()["moving"] is False


def test_a_moving_world_is_deleted_at_once(moving: TestClient, model: Hanging) -> None:
    assert moving.delete("/world").status_code == 204
    assert moving.get("/world").json()["moving"] is False
    assert model.in_flight == 0


def test_what_somebody_could_do_is_read_while_the_world_moves_and_nothing_is_written(
    app: FastAPI, moving: TestClient
) -> None:
    before = settled_rows(app)
    told = [moving.get(f"/characters/{character_id}/actions") for character_id in ("rin", "sora", "umi")]
    for busy in (answer for answer in told if answer.status_code != 200):
        problem(busy, 409, "busy")  # who talks can do nothing else
    options = [answer.json()["options"] for answer in told if answer.status_code == 200]
    assert options
    assert all(options)
    assert rows(app) == before


def test_reading_what_somebody_could_do_makes_no_world(app: FastAPI, client: TestClient) -> None:
    before = rows(app)
    assert client.get("/characters/rin/actions").status_code == 200
    assert rows(app) == before
    assert before["worlds"] == []


@pytest.mark.parametrize(("language", "word"), [("en", "Try again in a few seconds"), ("ja", "数秒後にもう一度")])
def test_a_command_that_cannot_take_effect_soon_says_why(
    client: TestClient, app: FastAPI, model: Hanging, language: str, word: str
) -> None:
    client.post("/world/tick", json={"ticks": WEEK, "wait": False})
    while model.calls <= 5:
        time.sleep(0.01)
    began = time.monotonic()
    answer = client.patch("/world", json={"weather": "rain"}, headers={"Accept-Language": language})
    told = problem(answer, 409, "world-moves")
    assert word in told["detail"]
    assert time.monotonic() - began < 10
    assert client.get("/world").json()["weather"] == ""


@contextmanager
def full_disk(app: FastAPI) -> Iterator[None]:
    """No page more than there is now; SQLite then says that the disk is full."""
    database: Database = app.state.deps.conversation.database
    with closing(sqlite3.connect(str(database.url.database))) as connection:
        connection.execute("VACUUM")
        (pages,) = connection.execute("PRAGMA page_count").fetchone()

    def limit(most: int) -> Any:
        return lambda connection, *_: connection.execute(f"PRAGMA max_page_count={most}")

    full, roomy = limit(pages), limit(2**30)
    event.listen(database.engine, "checkout", full)
    yield
    event.remove(database.engine, "checkout", full)
    event.listen(database.engine, "checkout", roomy)


@pytest.mark.parametrize(("language", "word"), [("en", "do not send it again"), ("ja", "もう一度送らないでください")])
def test_a_full_disk_on_the_way_is_told_as_it_is_and_the_tick_can_be_taken_back(
    app: FastAPI, client: TestClient, model: Hanging, language: str, word: str
) -> None:
    model.release()
    client.post("/world/tick", json={"ticks": 1})
    with full_disk(app):
        headers = {"Accept-Language": language}
        told = problem(client.post("/world/tick", json={"ticks": WEEK}, headers=headers), 503, "run-interrupted")
        assert word in told["detail"]
        assert "room" in told["facts"]["reason"]
        assert app.state.deps.conversation.database.read_now(lambda s: s.get_one(WorldRow, "main")).target is not None
        assert client.post("/world/stop").json()["moving"] is False


def test_a_full_disk_changes_nothing_that_it_says_it_did_not(app: FastAPI, client: TestClient) -> None:
    client.post("/world/stop")
    with full_disk(app):
        text = "x" * 150
        for _ in range(200):
            before = rows(app)
            answer = client.patch("/world", json={"announce": {"text": text, "minutes": 10}})
            if answer.status_code != 200:
                break
        told = problem(answer, 503, "store-full")
        assert "Make room" in told["detail"]
        assert rows(app) == before
