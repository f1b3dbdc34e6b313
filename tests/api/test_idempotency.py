"""Owns the tests of Idempotency-Key: the same answer, no second effect, one key one request, worlds apart."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Connect
from tests.api.play import TALK, Http, problem, script_short, until
from tests.scripted_model import ScriptedModel

KEY = {"Idempotency-Key": "9b1deb4d"}
CALLS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "start": ("/conversations/start?wait=true", TALK, {**TALK, "max_turns": 3}),
    "tick": ("/world/tick", {"ticks": 5}, {"ticks": 6}),
    "move": ("/characters/rin/actions", {"type": "move", "npc_id": "baker"}, {"type": "sleep"}),
    "sleep": ("/characters/rin/actions", {"type": "sleep"}, {"type": "move", "node_id": "door"}),
}


def happened(client: Http) -> list[Any]:
    """All events of the world: an effect that came twice shows here."""
    items: list[Any] = client.get("/world/events").json()["items"]
    return items


@pytest.mark.parametrize("call", CALLS)
def test_the_same_request_again_gets_the_same_answer_and_changes_nothing(
    client: TestClient, script: ScriptedModel, call: str
) -> None:
    path, body, _ = CALLS[call]
    script_short(script)
    first = client.post(path, json=body, headers=KEY)
    assert first.status_code == 200
    before = client.get("/world").json(), happened(client)
    again = client.post(path, json=body, headers=KEY)
    assert (again.status_code, again.json()) == (200, first.json())
    assert (client.get("/world").json(), happened(client)) == before
    assert before[1] or call == "tick"


@pytest.mark.parametrize("call", CALLS)
def test_a_key_that_was_used_for_another_request_is_refused(
    client: TestClient, script: ScriptedModel, call: str
) -> None:
    path, body, other = CALLS[call]
    script_short(script)
    client.post(path, json=body, headers=KEY)
    before = happened(client)
    told = problem(client.post(path, json=other, headers=KEY), 422, "idempotency-key-reused")
    assert told["facts"] == {"key": KEY["Idempotency-Key"]}
    assert happened(client) == before


def test_a_key_is_for_one_operation_and_one_person(client: TestClient) -> None:
    sleep = {"type": "sleep"}
    assert client.post("/characters/rin/actions", json=sleep, headers=KEY).status_code == 200
    problem(client.post("/characters/umi/actions", json=sleep, headers=KEY), 422, "idempotency-key-reused")
    problem(client.post("/world/tick", json={"ticks": 1}, headers=KEY), 422, "idempotency-key-reused")


def test_the_same_request_may_ask_to_be_answered_in_another_way(client: TestClient) -> None:
    first = client.post("/world/tick", json={"ticks": 2, "wait": False}, headers=KEY)
    assert first.status_code == 202
    again = client.post("/world/tick?kind=arrived", json={"ticks": 2}, headers=KEY)
    assert (again.status_code, again.json()["now"]) == (200, first.json()["until"])
    assert client.get("/world").json()["now"] == first.json()["until"]


def test_a_late_repeat_of_a_restore_or_a_deletion_erases_nothing(client: TestClient) -> None:
    client.post("/world/snapshots", json={"name": "morning"}).raise_for_status()
    restored = client.post("/world/restore", json={"name": "morning"}, headers=KEY).json()
    lived = client.post("/world/tick", json={"ticks": 30}).json()["now"]
    assert client.post("/world/restore", json={"name": "morning"}, headers=KEY).json() == restored
    assert client.get("/world").json()["now"] == lived
    deletion = {"Idempotency-Key": "gone"}
    assert client.delete("/world", headers=deletion).status_code == 204
    begun = client.post("/world/tick", json={"ticks": 3}).json()["now"]
    assert client.delete("/world", headers=deletion).status_code == 204
    assert client.get("/world").json()["now"] == begun


def test_a_request_that_failed_may_be_sent_again_with_its_key(client: TestClient) -> None:
    move = {"type": "move", "npc_id": "baker"}
    start = {**TALK, "character_id": "rin"}
    problem(client.post("/conversations/start", json=start, headers=KEY), 409, "not-beside")
    minutes = client.post("/characters/rin/actions", json=move).json()["minutes"]
    client.post("/world/tick", json={"ticks": minutes})
    answer = client.post("/conversations/start", json=start, headers=KEY)
    assert answer.status_code == 202
    client.post(f"{answer.headers['location']}/end")


def test_the_key_of_a_talk_that_is_forgotten_leads_to_nothing(client: TestClient, script: ScriptedModel) -> None:
    path, body, _ = CALLS["start"]
    script_short(script)
    client.post(path, json=body, headers=KEY).raise_for_status()
    client.delete(f"/characters/{body['character_id']}/memory").raise_for_status()
    problem(client.post(path, json=body, headers=KEY), 404, "not-found")


def test_keys_of_two_worlds_do_not_meet(client: TestClient) -> None:
    for world in ("main", "other"):
        ticked = client.post("/world/tick", json={"ticks": 5}, headers={**KEY, "X-World-Id": world}).json()
        assert (ticked["before"], ticked["now"]) == ("2026-04-01T07:00", "2026-04-01T07:05")
    answer = client.post("/world/tick", json={"ticks": 9}, headers={**KEY, "X-World-Id": "third"})
    assert answer.json()["now"] == "2026-04-01T07:09"


@pytest.mark.parametrize("call", ["start", "tick", "move"])
def test_parallel_requests_with_one_key_have_one_effect(connect: Connect, script: ScriptedModel, call: str) -> None:
    path, body, _ = CALLS[call]
    script_short(script)
    clients = [connect() for _ in range(4)]
    for client in clients:
        client.get("/healthz")
    together = threading.Barrier(len(clients))

    def send(client: httpx.Client) -> httpx.Response:
        together.wait()
        return client.post(path.removesuffix("?wait=true"), json=body, headers=KEY)

    with ThreadPoolExecutor(len(clients)) as pool:
        answers = list(pool.map(send, clients))
    assert {answer.status_code for answer in answers} == {202 if call == "start" else 200}
    if call == "start":
        assert len({answer.json()["id"] for answer in answers}) == 1
        until(clients[0], answers[0].json()["id"], "closed")
        kinds = [event["kind"] for event in happened(clients[0])]
        told = sorted(kind for kind in kinds if kind.startswith("conversation"))
        assert told == ["conversation_closed", "conversation_ended", "conversation_started"]
    else:
        assert [answer.json() for answer in answers] == [answers[0].json()] * len(answers)
    now = {"start": "2026-04-01T07:00", "tick": "2026-04-01T07:05", "move": "2026-04-01T07:00"}[call]
    assert clients[0].get("/world").json()["now"] == now


@pytest.mark.parametrize("key", ["", "two words", "鍵".encode(), "x" * 256])
def test_a_key_that_is_none_is_refused(client: TestClient, key: str | bytes) -> None:
    headers = {"Idempotency-Key": key} if isinstance(key, str) else [(b"Idempotency-Key", key)]
    told = problem(client.post("/world/tick", json={}, headers=headers), 422, "invalid")
    assert [error["field"].lower() for error in told["errors"]] == ["header.idempotency-key"]
