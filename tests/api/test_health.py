"""Owns the tests of the endpoints for those who run the service."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import GraphUnavailable, ModelRejected, ModelServerError
from service.export.files import export_to, import_from
from service.export.write import Span
from service.llm.chat import Role
from service.llm.choose import ROLES, Models
from service.llm.scripted import ScriptedModel
from service.memory.graph import Episode, FactDraft, Group, Recalled
from service.memory.sqlite.graph import SqliteGraph
from tests.api.play import (
    TALK,
    problem,
    script_short,
    script_sister,
    settings_for,
    talk,
)
from tests.end_to_end.damage import overwrite_middle
from world.time import Language


def test_a_service_that_has_everything_is_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok", "checks": {}}
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "checks": {"database": "ok", "memory": "ok", "models": "scripted"}}


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


def test_without_a_model_the_world_still_turns_but_is_not_ready(unconfigured: TestClient) -> None:
    assert unconfigured.post("/world/tick", json={"ticks": 3}).status_code == 200
    assert unconfigured.get("/healthz").status_code == 200
    answer = unconfigured.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "degraded")
    assert answer.json()["checks"]["models"] != "ok"


class LostGraph(SqliteGraph):
    """A memory graph whose server has gone away until `back`."""

    back = False

    async def check(self) -> None:
        """Raises: GraphUnavailable: while it is away."""
        if not self.back:
            raise GraphUnavailable(backend="graphiti", reason="no connection", setting="KATARIBE_MEMORY__NEO4J_URI")
        await super().check()

    async def remember(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """Raises: GraphUnavailable: while it is away."""
        await self.check()
        await super().remember(group, episode, facts)

    async def recall(self, group: Group, query: str, **how: Any) -> list[Recalled]:
        """Raises: GraphUnavailable: while it is away."""
        await self.check()
        return await super().recall(group, query, **how)


def test_a_memory_graph_that_is_away_shows_and_talks_go_on(
    tmp_path: Path, millbrook: Path, script: ScriptedModel
) -> None:
    settings = settings_for(tmp_path, millbrook)
    graph = LostGraph(settings.data_dir / "memory.db")
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)), graph=graph)) as client:
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (503, "degraded")
        assert "KATARIBE_MEMORY__NEO4J_URI" in answer.json()["checks"]["memory"]
        assert client.get("/healthz").status_code == 200
        script_sister(script)
        assert len(talk(client)["changes"]["facts"]) == 2
        about = {"npc_id": "baker"}
        told = client.get("/characters/sora/memory", params=about).json()
        assert (told["long_term_available"], told["facts"]) == (False, [])
        assert told["last_meeting"]["summary"]
        assert client.get("/world").json()["memories_waiting"] == 1
        graph.back = True
        deadline = time.monotonic() + 15
        while client.get("/world").json()["memories_waiting"] and time.monotonic() < deadline:
            time.sleep(0.1)
        told = client.get("/characters/sora/memory", params=about).json()
        assert (told["long_term_available"], len(told["facts"])) == (True, 2)


BOTH = pytest.mark.parametrize("accepted", ["en", "ja"])


def ready(client: TestClient, accepted: Language = "en") -> tuple[int, dict[str, str]]:
    """What readiness answers to who reads that language."""
    answer = client.get("/readyz", headers={"Accept-Language": accepted})
    assert answer.json()["status"] == ("ok" if answer.status_code == 200 else "degraded")
    return answer.status_code, answer.json()["checks"]


def rejected(role: Role, script: ScriptedModel) -> None:
    """The model's server refuses the next call of that role."""
    script.enqueue(ModelRejected(model="gpt-x", status_code=401, reason="no such key", setting="KEY"), role=role)


@BOTH
def test_a_role_whose_calls_all_fail_is_named_with_the_cause(
    client: TestClient, script: ScriptedModel, accepted: Language
) -> None:
    assert ready(client)[0] == 200
    rejected("character", script)
    assert talk(client)["end_reason"] == "model_failure"
    asked = len(script.history)
    status, checks = ready(client, accepted)
    assert (status, checks["database"], checks["memory"]) == (503, "ok", "ok")
    for part in ("character: ", "401", "gpt-x", "no such key"):
        assert part in checks["models"]
    assert ("モデルサーバー" in checks["models"]) == (accepted == "ja")
    assert len(script.history) == asked, "readiness has asked a model"
    script_short(script)
    assert talk(client)["phase"] == "closed"
    assert ready(client) == (200, {"database": "ok", "memory": "ok", "models": "scripted"})


def test_a_failure_now_and_then_is_no_failing_model(client: TestClient, script: ScriptedModel) -> None:
    script_short(script)
    talk(client)
    for number in range(3):
        assert ready(client)[0] == 200, f"after {number} failures"
        script.enqueue(ModelServerError(model="gpt-x", status_code=500, reason="out of order"), role="character")
        talk(client)
    assert ready(client)[0] == 503


@contextmanager
def service(tmp_path: Path, millbrook: Path, script: ScriptedModel) -> Iterator[TestClient]:
    """The service on the same data, started anew."""
    app = create_app(settings_for(tmp_path, millbrook), models=Models(dict.fromkeys(ROLES, script)))
    with TestClient(app) as client:
        yield client


@BOTH
@pytest.mark.parametrize("instead", ["nothing", "another"])
def test_a_memory_that_vanished_under_a_world_that_talked_shows_until_it_is_back(
    tmp_path: Path, millbrook: Path, script: ScriptedModel, instead: str, accepted: Language
) -> None:
    kept, other = tmp_path / "data" / "memory.db", tmp_path / "elsewhere"
    with service(tmp_path, millbrook, script) as client:
        assert ready(client)[0] == 200, "a world without a conversation has nothing to remember"
        script_short(script)
        conversation_id = talk(client)["id"]
        assert ready(client)[0] == 200
    backup = shutil.copy(kept, tmp_path / "backup.db")
    kept.unlink()
    if instead == "another":
        with service(other, millbrook, script) as client:
            script_short(script)
            talk(client)
        shutil.copy(other / "data" / "memory.db", kept)
    with service(tmp_path, millbrook, script) as client:
        for _ in range(2):  # also when something new is remembered
            status, checks = ready(client, accepted)
            assert (status, checks["database"], checks["models"]) == (503, "ok", "scripted")
            for part in ("main", "sora", conversation_id, "KATARIBE_DATA_DIR"):
                assert part in checks["memory"]
            assert ("長期記憶" in checks["memory"]) == (accepted == "ja")
            script_short(script)
            talk(client)
    for leftover in kept.parent.glob("memory.db*"):
        leftover.unlink()
    shutil.copy(backup, kept)
    with service(tmp_path, millbrook, script) as client:
        assert ready(client)[0] == 503, "of what was remembered after the backup it knows nothing"
        assert client.delete("/characters/sora/memory").status_code == 204
        assert ready(client)[0] == 200


@BOTH
@pytest.mark.parametrize("instead", ["nothing", "another"])
def test_a_memory_that_is_taken_away_from_the_running_service_shows_and_nothing_is_written_into_the_void(
    tmp_path: Path, millbrook: Path, script: ScriptedModel, instead: str, accepted: Language
) -> None:
    kept, aside = tmp_path / "data" / "memory.db", tmp_path / "aside.db"
    with service(tmp_path, millbrook, script) as client:
        script_short(script)
        talk(client)
        kept.rename(aside)
        if instead == "another":
            shutil.copy(aside, kept)
        status, checks = ready(client, accepted)
        assert (status, checks["database"]) == (503, "ok")
        assert str(kept) in checks["memory"]
        assert ("長期記憶" in checks["memory"]) == (accepted == "ja")
        script_short(script)
        talk(client)
        assert client.get("/world").json()["memories_waiting"] == 1
    aside.replace(kept)
    with service(tmp_path, millbrook, script) as client:
        deadline = time.monotonic() + 15
        while client.get("/world").json()["memories_waiting"] and time.monotonic() < deadline:
            time.sleep(0.1)
        assert ready(client)[0] == 200


@BOTH
def test_a_damaged_memory_shows_and_what_is_to_be_remembered_waits(
    tmp_path: Path, millbrook: Path, script: ScriptedModel, accepted: Language
) -> None:
    kept = tmp_path / "data" / "memory.db"
    with service(tmp_path, millbrook, script) as client:
        for _ in range(3):
            script_sister(script)
            talk(client)
    backup = shutil.copy(kept, tmp_path / "backup.db")
    overwrite_middle(kept)
    with service(tmp_path, millbrook, script) as client:
        status, checks = ready(client, accepted)
        assert (status, checks["database"]) == (503, "ok")
        assert str(kept) in checks["memory"]
        assert ("壊れて" in checks["memory"]) == (accepted == "ja")
        script_short(script)
        assert talk(client)["phase"] == "closed"
        assert client.get("/world").json()["memories_waiting"] == 1
    shutil.copy(backup, kept)
    with service(tmp_path, millbrook, script) as client:
        deadline = time.monotonic() + 15
        while client.get("/world").json()["memories_waiting"] and time.monotonic() < deadline:
            time.sleep(0.1)
        assert ready(client)[0] == 200


def test_what_an_import_brought_was_never_given_to_the_memory(
    tmp_path: Path, millbrook: Path, script: ScriptedModel
) -> None:
    with service(tmp_path, millbrook, script) as client:
        script_short(script)
        talk(client)
    told, settings = tmp_path / "told.jsonl", settings_for(tmp_path, millbrook)
    export_to(settings, "main", {"en": "Millbrook", "ja": "ミルブルック"}, Span(since=None, until=None), told)
    import_from(settings, "copy", told)
    with service(tmp_path, millbrook, script) as client:
        assert len(client.get("/conversations", headers={"X-World-Id": "copy"}).json()["items"]) == 1
        assert ready(client)[0] == 200
