"""Owns the tests of the endpoints for those who run the service."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import GraphUnavailable, ModelRejected, ModelServerError
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
