"""Owns the tests of the day's budget as a client meets it; the model's server is a real one, on loopback."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import Misconfigured
from service.locales import Language
from tests.api.play import TALK, problem, settings_for, talk
from tests.servers.fake_openai import FakeOpenAI, Reply, answer_by_schema

BOTH = pytest.mark.parametrize("accepted", ["en", "ja"])
WORDS = iter(range(1_000_000))


def answer(body: dict[str, Any]) -> str:
    """What fits, and never the same words twice."""
    told = json.loads(answer_by_schema(body))
    if "utterance" in told:
        told["utterance"] = f"Word number {next(WORDS)} of a long talk about nothing but {next(WORDS) * 7919}."
    return json.dumps(told)


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    """A model's server that answers everything."""
    with FakeOpenAI(answer=answer) as running:
        yield running


@contextmanager
def service(tmp_path: Path, millbrook: Path, server: FakeOpenAI, **limits: int) -> Iterator[TestClient]:
    """The service on that server, within those limits; again on the same data, started anew."""
    llm = {"base_url": server.base_url, "model": "gpt-x", "backoff_seconds": 0, **limits}
    with TestClient(create_app(settings_for(tmp_path, millbrook, llm=llm))) as client:
        yield client


def budget(client: TestClient) -> dict[str, Any]:
    """What is left."""
    told: dict[str, Any] = client.get("/usage/budget").json()
    return told


@BOTH
def test_a_start_without_room_is_refused_with_the_setting_and_when_to_come_again(
    tmp_path: Path, millbrook: Path, server: FakeOpenAI, accepted: Language
) -> None:
    key, language = {"Idempotency-Key": "once"}, {"Accept-Language": accepted}
    with service(tmp_path, millbrook, server, max_calls_per_day=3) as client:
        first = client.post("/conversations/start?wait=true", json=TALK, headers=key).json()
        refused = client.post("/conversations/start", json=TALK, headers=language)
        told = problem(refused, 503, "budget-exhausted")
        assert "KATARIBE_LLM__MAX_CALLS_PER_DAY=3" in told["detail"]
        assert ("予算" in told["detail"]) == (accepted == "ja")
        assert 0 < int(refused.headers["Retry-After"]) <= 24 * 3600
        assert len(client.get("/conversations").json()["items"]) == 1
        again = client.post("/conversations/start?wait=true", json=TALK, headers=key)
        assert (again.status_code, again.json()["id"]) == (200, first["id"])
    with service(tmp_path, millbrook, server, max_calls_per_day=3) as client:
        problem(client.post("/conversations/start", json=TALK), 503, "budget-exhausted")
    assert len(server.requests) == 3


@BOTH
def test_readiness_says_that_the_budget_is_used_up(
    tmp_path: Path, millbrook: Path, server: FakeOpenAI, accepted: Language
) -> None:
    with service(tmp_path, millbrook, server, max_calls_per_day=5) as client:
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["budget"]) == (200, "ok")
        talk(client)
        client.patch("/characters/rin", json={"decision": "model"})
        client.post("/world/tick", json={"ticks": 720})
        ready = client.get("/readyz", headers={"Accept-Language": accepted})
        assert (ready.status_code, ready.json()["status"], ready.json()["degraded"]) == (200, "degraded", ["budget"])
        checks = ready.json()["checks"]
        assert checks["models"] == "openai:gpt-x", "models that may not be asked have not failed"
        assert "KATARIBE_LLM__MAX_CALLS_PER_DAY=5" in checks["budget"]
        assert ("予算" in checks["budget"]) == (accepted == "ja")
        assert budget(client)["exhausted"]
        decided = client.get("/world/events", params={"kind": "decided", "person_id": "rin"}).json()["items"]
        assert decided[-1]["data"]["by"] == "fallback"
        assert decided[-1]["data"]["failure"] == "budget-exhausted"


@pytest.mark.parametrize("reports", [True, False])
def test_tokens_are_those_the_server_reports_or_estimated(
    tmp_path: Path, millbrook: Path, server: FakeOpenAI, reports: bool
) -> None:
    if not reports:
        server.enqueue(*[Reply(usage=False)] * 3)
    with service(tmp_path, millbrook, server, max_tokens_per_day=1_000_000) as client:
        talk(client, max_turns=2)
        counted = sum(row["prompt_tokens"] + row["completion_tokens"] for row in client.get("/usage").json())
        left = budget(client)["tokens"]
        assert left == {"limit": 1_000_000, "spent": counted, "left": 1_000_000 - counted}
        assert counted > 0


def test_without_a_limit_there_is_none_to_show(client: TestClient) -> None:
    told = budget(client)
    assert (told["calls"], told["tokens"], told["exhausted"]) == (None, None, False)
    assert told["renews_at"].endswith("T00:00:00Z")


def test_the_rehearsal_costs_nothing(tmp_path: Path, millbrook: Path) -> None:
    llm = {"provider": "rehearsal", "max_calls_per_day": 1}
    with TestClient(create_app(settings_for(tmp_path, millbrook, llm=llm))) as client:
        held = talk(client)
        assert held["phase"] == "closed"
        assert held["end_reason"] != "budget_exhausted"
        assert budget(client)["calls"] is None


@BOTH
def test_graphiti_that_asks_models_itself_does_not_go_together_with_a_limit(
    tmp_path: Path, millbrook: Path, accepted: Language
) -> None:
    more: dict[str, Any] = {
        "memory": {"backend": "graphiti", "ingestion": "episode"},
        "llm": {"base_url": "http://127.0.0.1:9/v1", "model": "gpt-x", "max_calls_per_day": 2},
        "embedding": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"},
    }
    with pytest.raises(Misconfigured) as told, TestClient(create_app(settings_for(tmp_path, millbrook, **more))):
        pass
    for part in ("KATARIBE_MEMORY__INGESTION", "KATARIBE_LLM__MAX_CALLS_PER_DAY", "direct"):
        assert part in told.value.sentence(accepted)


def test_of_fifty_players_as_many_are_let_in_as_can_be_answered(
    tmp_path: Path, millbrook: Path, server: FakeOpenAI
) -> None:
    with service(tmp_path, millbrook, server, max_tokens_per_day=60_000) as client:
        talks = list[str]()
        for number in range(50):
            player = f"p{number}"
            client.put(f"/people/{player}", json={"kind": "player", "name": f"Player {number}"}).raise_for_status()
            chat = {"model": f"npc:baker@{player}", "messages": [{"role": "user", "content": "Is there rye?"}]}
            answer = client.post("/v1/chat/completions", json=chat)
            if answer.status_code == 200:
                talks.append(player)
            else:
                assert answer.json()["error"]["code"] == "budget_exhausted", answer.text
        assert len(talks) >= 6
        told = [one for one in client.get("/conversations?limit=200").json()["items"] if one["phase"] == "running"]
        assert len(told) == len(talks), "nobody was let in who could not be answered"
        for one in told:
            assert client.post(f"/conversations/{one['id']}/end?wait=true").json()["phase"] == "closed"
