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
from tests.api.play import TALK, problem, settings_for, talk, until
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
def service(tmp_path: Path, millbrook: Path, server: FakeOpenAI, **limits: Any) -> Iterator[TestClient]:
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


def test_of_many_players_as_many_are_let_in_as_can_be_answered(
    tmp_path: Path, millbrook: Path, server: FakeOpenAI
) -> None:
    with service(tmp_path, millbrook, server, max_tokens_per_day=60_000) as client:
        talks = list[str]()
        for number in range(20):
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


def begin(client: TestClient, player: str) -> str:
    """The player begins to talk with somebody; answers the path of the conversation."""
    client.put(f"/people/{player}", json={"kind": "player", "name": player.title()}).raise_for_status()
    partner = {"ken": "baker", "mika": "hermit"}[player]
    begun = client.post("/conversations/start", json={"mode": "player", "player_id": player, "partner_id": partner})
    return f"/conversations/{begun.json()['id']}"


def test_a_player_who_has_spent_its_share_leaves_the_others_theirs(
    tmp_path: Path, millbrook: Path, server: FakeOpenAI
) -> None:
    share = {"scope": "player", "unit": "calls", "most": 6, "soft": 1}
    with service(tmp_path, millbrook, server, limits=[share]) as client:
        kens, mikas = begin(client, "ken"), begin(client, "mika")
        for _ in range(6):
            client.post(f"{kens}/say?wait=true", json={"text": f"Is there rye? {next(WORDS)}"})
        over = until(client, kens.rpartition("/")[2], "closed")
        assert over["end_reason"] == "budget_exhausted", "and it is remembered from what was kept for that"
        said = client.post(f"{mikas}/say?wait=true", json={"text": "Is anybody there?"})
        assert said.json()["answer"]["speaker_id"] == "hermit"
        told = {one["name"]: one for one in client.get("/usage/budget").json()["limits"]}
        assert {name: (one["scope"], one["spent"]) for name, one in told.items()} == {
            "ken": ("player", 6),
            "mika": ("player", 1),
        }


def test_a_talk_says_goodbye_before_the_hard_limit(tmp_path: Path, millbrook: Path, server: FakeOpenAI) -> None:
    few = {"scope": "conversation", "unit": "calls", "most": 10, "soft": 0.3}
    with service(tmp_path, millbrook, server, limits=[few]) as client:
        held = talk(client)
        assert (held["end_reason"], held["phase"]) == ("turn_limit", "closed")
        assert len(held["turns"]) < 8


def test_money_is_shown_by_the_prices_of_the_settings_and_bounds_a_day(
    tmp_path: Path, millbrook: Path, server: FakeOpenAI
) -> None:
    limit = {"unit": "money", "most": 1000, "soft": 1}
    prices = {"gpt-x": {"prompt": 1000, "completion": 2000}}
    with service(tmp_path, millbrook, server, limits=[limit], prices=prices) as client:
        talk(client, max_turns=2)
        rows = client.get("/usage").json()
        for row in rows:
            paid = (row["prompt_tokens"] * 1000 + row["completion_tokens"] * 2000) / 1_000_000
            assert row["money"] == pytest.approx(paid)
        (left,) = client.get("/usage/budget").json()["limits"]
        assert left["spent"] == pytest.approx(sum(row["money"] for row in rows))
        assert left["spent"] > 0
    limit = {"unit": "money", "most": 0.5}
    with service(tmp_path, millbrook, server, limits=[limit], prices=prices) as client:
        refused = problem(client.post("/conversations/start", json=TALK), 503, "budget-exhausted")
        assert "KATARIBE_LLM__LIMITS.0" in refused["detail"]
