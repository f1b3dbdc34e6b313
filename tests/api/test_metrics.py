"""Owns the tests of what operators read of a running service: metrics, and spans."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from service.app import create_app
from service.errors import ModelRejected
from tests.api.play import TALK, problem, say, script_sister, settings_for, talk
from tests.scripted_model import ScriptedModel


def read(client: TestClient) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample by its name and labels."""
    answer = client.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "text/plain")
    samples = (one for family in text_string_to_metric_families(answer.text) for one in family.samples)
    return {(one.name, frozenset(one.labels.items())): one.value for one in samples}


def value(found: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str) -> float:
    """Of one series; nothing counted is 0."""
    return found.get((name, frozenset(labels.items())), 0.0)


def test_calls_tokens_and_requests_are_counted_by_role_model_and_route(
    client: TestClient, script: ScriptedModel
) -> None:
    before = read(client)
    script_sister(script)
    talk(client)
    say(script, "character")
    script.enqueue(ModelRejected(model="scripted", status_code=401, reason="no", setting="KEY"), role="character")
    client.post("/conversations/start?wait=true", json={**TALK, "character_id": "umi"}).raise_for_status()
    client.request("BREW", "/world")
    found = read(client)

    def more(name: str, **labels: str) -> float:
        return value(found, name, **labels) - value(before, name, **labels)

    calls = "kataribe_model_calls_total"
    assert more(calls, role="character", model="scripted", outcome="answered") == 2
    assert more(calls, role="npc", model="scripted", outcome="answered") == 2
    assert more(calls, role="closing", model="scripted", outcome="answered") == 1
    assert more(calls, role="character", model="scripted", outcome="model-rejected") == 1
    assert more("kataribe_model_call_duration_seconds_count", role="character", model="scripted") == 3
    assert more("kataribe_model_tokens_total", role="npc", model="scripted", direction="input") > 0
    assert more("kataribe_model_tokens_total", role="npc", model="scripted", direction="output") > 0
    assert value(found, "kataribe_model_calls_in_flight", role="npc") == 0
    requests = "kataribe_http_request_duration_seconds_count"
    assert more(requests, method="POST", route="/conversations/start", status="200") == 2
    assert more(requests, method="other", route="/world", status="405") == 1
    assert value(found, "kataribe_http_requests_in_flight") == 1
    assert value(found, "kataribe_database_up") == 1


def test_a_database_that_is_away_is_told_and_the_rest_is_still_read(client: TestClient, tmp_path: Path) -> None:
    file = tmp_path / "data" / "kataribe.db"
    assert value(read(client), "kataribe_database_up") == 1
    file.rename(tmp_path / "away")
    try:
        found = read(client)
    finally:
        (tmp_path / "away").rename(file)
    assert value(found, "kataribe_database_up") == 0
    assert ("kataribe_http_requests_in_flight", frozenset()) in found


@pytest.fixture
def keyed(tmp_path: Path, millbrook: Path) -> Iterator[TestClient]:
    """A service with a key."""
    settings = settings_for(tmp_path, millbrook, llm={"provider": "rehearsal"}, api_key=SecretStr("k" * 24))
    with TestClient(create_app(settings)) as http:
        yield http


def test_metrics_are_behind_the_key(keyed: TestClient) -> None:
    problem(keyed.get("/metrics"), 401)
    assert keyed.get("/metrics", headers={"Authorization": f"Bearer {'k' * 24}"}).status_code == 200
