"""Owns the tests of the endpoints for those who run the service."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import GraphUnavailable
from service.llm.choose import ROLES, Models
from service.llm.scripted import ScriptedModel
from service.memory.sqlite import SqliteGraph
from tests.api.play import TALK, problem, script_short, settings_for, talk


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
    """A memory graph whose server has gone."""

    gone = True

    async def check(self) -> None:
        """Raises: GraphUnavailable: while it is gone."""
        if self.gone:
            raise GraphUnavailable(backend="graphiti", reason="no connection", setting="KATARIBE_MEMORY__NEO4J_URI")
        await super().check()

    recall = None  # type: ignore[assignment]  # replaced below, once the class knows itself


def test_a_memory_graph_that_is_away_shows_and_talks_go_on(
    tmp_path: Path, millbrook: Path, script: ScriptedModel
) -> None:
    settings = settings_for(tmp_path, millbrook)
    app = create_app(
        settings, models=Models(dict.fromkeys(ROLES, script)), graph=LostGraph(settings.data_dir / "memory.db")
    )
    with TestClient(app) as client:
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (503, "degraded")
        assert "KATARIBE_MEMORY__NEO4J_URI" in answer.json()["checks"]["memory"]
        assert client.get("/healthz").status_code == 200
        script_short(script)
        talk(client)
