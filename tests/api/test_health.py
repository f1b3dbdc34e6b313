"""Owns the tests of the endpoints for those who run the service."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from service import wiring
from service.app import create_app
from service.errors import ModelRejected, ModelServerError
from service.export.files import export_to
from service.export.story import StorySpan, read_story
from service.llm.chat import Role
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.memory.record import Group, Kind
from tests.api.play import (
    TALK,
    problem,
    script_short,
    script_sister,
    settings_for,
    talk,
)
from tests.end_to_end.damage import overwrite_middle
from tests.memory.remote import RemoteGraph
from tests.scripted_model import ScriptedModel
from tests.servers.sqlite import put_migrated


def test_a_service_that_has_everything_is_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok", "checks": {}, "degraded": []}
    answer = client.get("/readyz")
    assert answer.status_code == 200
    checks = {"database": "ok", "memory": "ok", "models": "scripted"}
    assert answer.json() == {"status": "ok", "checks": checks, "degraded": []}


def test_what_looks_whether_it_is_there_may_ask_for_the_head_alone(client: TestClient) -> None:
    for path in ("/healthz", "/readyz"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"] == "application/json"


@pytest.fixture
def unconfigured(tmp_path: Path, millbrook: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A service nobody has told of a model."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with TestClient(create_app(settings_for(tmp_path, millbrook))) as http:
        yield http


@pytest.mark.parametrize("accepted", ["en", "ja"])
def test_without_a_model_a_start_names_the_settings(unconfigured: TestClient, accepted: str) -> None:
    answer = unconfigured.post("/conversations/start", json=TALK, headers={"Accept-Language": accepted})
    told = problem(answer, 503, "model-not-configured")
    for setting in ("OPENAI_API_KEY", "KATARIBE_LLM__BASE_URL", "KATARIBE_LLM__PROVIDER=rehearsal"):
        assert setting in told["detail"]
    assert ("言語モデル" in told["detail"]) == (accepted == "ja")
    assert unconfigured.get("/conversations").json()["items"] == []
    assert unconfigured.get("/characters/sora").json()["talking_in"] is None


def test_without_a_model_the_world_still_turns_and_readiness_says_what_is_degraded(unconfigured: TestClient) -> None:
    assert unconfigured.post("/world/tick", json={"ticks": 3}).status_code == 200
    assert unconfigured.get("/healthz").status_code == 200
    answer = unconfigured.get("/readyz")
    assert (answer.status_code, answer.json()["status"], answer.json()["degraded"]) == (200, "degraded", ["models"])
    assert answer.json()["checks"]["models"] != "ok"


def test_a_graph_that_is_away_shows_and_people_talk_and_remember_all_the_same(
    tmp_path: Path, millbrook: Path, script: ScriptedModel
) -> None:
    settings = settings_for(tmp_path, millbrook)
    far = RemoteGraph()
    far.away = True
    models = Models(dict.fromkeys(ROLES, script))
    with TestClient(create_app(settings, models=models, projection=lambda _: far)) as client:
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["status"], answer.json()["degraded"]) == (200, "degraded", ["memory"])
        assert "KATARIBE_MEMORY__NEO4J_URI" in answer.json()["checks"]["memory"]
        assert client.get("/healthz").status_code == 200
        script_sister(script)
        assert len(talk(client)["changes"]["facts"]) == 2
        told = client.get("/characters/sora/memory", params={"npc_id": "baker"}).json()
        assert told["last_meeting"]["summary"]
        assert len(client.get("/people/sora/memories").json()["items"]) > 2
        assert client.get("/world").json()["memories_waiting"] == 2
        far.away = False
        deadline = time.monotonic() + 15
        while client.get("/world").json()["memories_waiting"] and time.monotonic() < deadline:
            time.sleep(0.1)
        assert {group.person_id for group in far.held} == {"sora", "baker"}
        assert client.get("/readyz").status_code == 200


BOTH = pytest.mark.parametrize("accepted", ["en", "ja"])


def ready(client: TestClient, accepted: Language = "en") -> tuple[str, dict[str, str]]:
    """What readiness answers to who reads that language: it is not ready only where nothing can be kept."""
    answer = client.get("/readyz", headers={"Accept-Language": accepted})
    told = answer.json()
    assert answer.status_code == (503 if told["status"] == "down" else 200)
    return told["status"], told["checks"]


def rejected(role: Role, script: ScriptedModel) -> None:
    """The model's server refuses the next call of that role."""
    script.enqueue(ModelRejected(model="gpt-x", status_code=401, reason="no such key", setting="KEY"), role=role)


@BOTH
def test_a_role_whose_calls_all_fail_is_named_with_the_cause(
    client: TestClient, script: ScriptedModel, accepted: Language
) -> None:
    assert ready(client)[0] == "ok"
    rejected("character", script)
    assert talk(client)["end_reason"] == "model_failure"
    asked = len(script.history)
    status, checks = ready(client, accepted)
    assert (status, checks["database"], checks["memory"]) == ("degraded", "ok", "ok")
    for part in ("character: ", "401", "gpt-x", "no such key"):
        assert part in checks["models"]
    assert ("モデルサーバー" in checks["models"]) == (accepted == "ja")
    assert len(script.history) == asked, "readiness has asked a model"
    script_short(script)
    assert talk(client)["phase"] == "closed"
    assert ready(client) == ("ok", {"database": "ok", "memory": "ok", "models": "scripted"})


def test_a_role_that_failed_comes_back_by_itself_and_no_talk_pays_for_it(
    client_soon_probing: TestClient, script: ScriptedModel
) -> None:
    client = client_soon_probing
    rejected("character", script)
    talk(client)
    assert ready(client)[0] == "degraded"
    asked = len(script.history)
    wait_until(lambda: len(script.history) > asked + 1)  # the script has no answer: that does not end the probing
    assert ready(client)[0] == "degraded"
    script.enqueue({"utterance": "yes"}, role="character")
    wait_until(lambda: ready(client)[0] == "ok")
    assert {prompt.name for prompt in script.history[asked:]} == {"probe"}
    assert len(client.get("/conversations").json()["items"]) == 1


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that happens in the background."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def client_soon_probing(
    tmp_path: Path, millbrook: Path, script: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TestClient]:
    """A service that need not be waited for until it probes."""
    monkeypatch.setattr(wiring, "PROBE_SECONDS", 0.05)
    with TestClient(create_app(settings_for(tmp_path, millbrook), models=Models(dict.fromkeys(ROLES, script)))) as http:
        yield http


def test_a_failure_now_and_then_is_no_failing_model(client: TestClient, script: ScriptedModel) -> None:
    script_short(script)
    talk(client)
    for number in range(3):
        assert ready(client)[0] == "ok", f"after {number} failures"
        script.enqueue(ModelServerError(model="gpt-x", status_code=500, reason="out of order"), role="character")
        talk(client)
    assert ready(client)[0] == "degraded"


def test_what_an_import_brought_can_be_searched_in_our_own_database(
    client: TestClient, tmp_path: Path, millbrook: Path, script: ScriptedModel
) -> None:
    script_short(script, "The heron stands in the reeds")
    talk(client)
    told, settings = tmp_path / "told.jsonl", settings_for(tmp_path, millbrook)
    export_to(settings, "main", {"en": "Millbrook", "ja": "ミルブルック"}, StorySpan(since=None, until=None), told)
    deps = client.app.state.deps  # type: ignore[attr-defined]
    with told.open("rb") as lines:
        deps.conversation.database.write_now(lambda s: read_story(s, "copy", told, lines))
    heard = deps.conversation.memory.recall(
        Group(world_id="copy", person_id="sora"), "heron", at=deps.conversation.worlds.start, kinds={Kind.TURN}
    )
    assert [one.item.text for one in asyncio.run(heard) if one.bears] == ["The heron stands in the reeds"]


@pytest.mark.parametrize(("instead", "accepted"), [("nothing", "en"), ("another", "ja")])
def test_a_database_that_is_taken_away_under_the_service_shows_and_nothing_is_written_into_the_void(
    client: TestClient, script: ScriptedModel, tmp_path: Path, instead: str, accepted: Language
) -> None:
    script_short(script)
    talk(client)
    kept = tmp_path / "data" / "kataribe.db"
    aside = kept.rename(tmp_path / "aside.db")
    if instead == "another":
        put_migrated(kept)
    status, checks = ready(client, accepted)
    assert (status, checks["memory"], checks["models"]) == ("down", "ok", "scripted")
    assert str(kept) in checks["database"]
    assert ("データベース" in checks["database"]) == (accepted == "ja")
    refused = client.post("/world/tick", json={"ticks": 1}, headers={"Accept-Language": accepted})
    assert problem(refused, 503, "database-gone")["detail"] == checks["database"]
    aside.replace(kept)
    assert ready(client)[0] == "ok"
    assert len(client.get("/conversations").json()["items"]) == 1


@BOTH
def test_a_damaged_database_that_is_met_on_the_way_shows(
    client: TestClient, script: ScriptedModel, tmp_path: Path, accepted: Language
) -> None:
    file, engine = tmp_path / "data" / "kataribe.db", client.app.state.deps.conversation.database.engine  # type: ignore[attr-defined]
    for _ in range(3):
        script_sister(script)
        talk(client)
    engine.dispose()  # what has been read is forgotten
    whole = overwrite_middle(file)
    paths = ("/conversations", "/world/events?limit=500", "/characters/sora/memory?npc_id=baker", "/characters/sora")
    answers = [client.get(path, headers={"Accept-Language": accepted}) for path in paths]
    told = next(answer for answer in answers if answer.status_code == 503)
    detail = problem(told, 503, "database-damaged")["detail"]
    status, checks = ready(client, accepted)
    assert (status, checks["database"]) == ("down", detail)
    assert ("壊れて" in detail) == (accepted == "ja")
    engine.dispose()
    file.write_bytes(whole)  # so that the service can end in order


def test_readiness_tries_a_write_and_is_down_where_nothing_can_be_written(client: TestClient) -> None:
    engine = client.app.state.deps.conversation.database.engine  # type: ignore[attr-defined]

    def read_only(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("PRAGMA query_only = 1")

    event.listen(engine, "checkout", read_only)
    assert ready(client)[0] == "down"
    assert client.get("/conversations").status_code == 200, "what can be read is read"
    event.remove(engine, "checkout", read_only)
    event.listen(engine, "checkout", lambda connection, *_: connection.execute("PRAGMA query_only = 0"))
    assert ready(client)[0] == "ok"
