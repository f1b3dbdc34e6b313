"""Owns the test of requests whose answers are lost: the process is killed while they come, and all are sent again."""

import random
import threading
from pathlib import Path

import httpx
import pytest

from tests.api.play import write_village
from tests.end_to_end.process import Service
from tests.servers.postgres import PostgresServer

ROUNDS, KILLS = 6, 2
ROUND = (
    ("POST", "/world/observations", {"text": "The bell rings.", "seen_by": ["baker"]}),
    ("PATCH", "/npcs/baker", {"give": ["bun"]}),
    ("POST", "/world/tick", {"ticks": 2}),
    ("PUT", "/world/flags", {"flags": {"bell": True}}),
    ("POST", "/characters/sora/actions", {"type": "sleep"}),
)


def send_all(client: httpx.Client) -> None:
    """Every request with a key of its own, whether it was answered before or not."""
    for number in range(ROUNDS):
        for place, (method, path, body) in enumerate(ROUND):
            answer = client.request(method, path, json=body, headers={"Idempotency-Key": f"{number}-{place}"})
            assert answer.status_code == 200, answer.text


def send_until_it_dies(client: httpx.Client) -> None:
    """The same, to a process that is killed meanwhile."""
    try:
        send_all(client)
    except httpx.TransportError:
        return


@pytest.mark.server
@pytest.mark.parametrize("place", ["sqlite", "postgresql"])
def test_requests_that_are_all_sent_again_after_each_kill_are_done_once(
    tmp_path: Path, postgres_server: PostgresServer, postgres_template: str, place: str
) -> None:
    content, rng = write_village(tmp_path / "content"), random.Random(29)
    settings = {"KATARIBE_LLM__PROVIDER": "rehearsal", "KATARIBE_WORLD__DECISION": "routine"}
    if place == "postgresql":
        settings["KATARIBE_DATABASE_URL"] = postgres_server.create_database(like=postgres_template)
    for _ in range(KILLS):
        with Service(tmp_path, content, settings) as service:
            sending = threading.Thread(target=send_until_it_dies, args=(service.client,))
            sending.start()
            sending.join(0.2 + rng.random())
            service.kill()
            sending.join()
    with Service(tmp_path, content, settings) as service:
        send_all(service.client)
        send_all(service.client)
        events = service.client.get("/world/events?limit=500").json()["items"]
        told = [event["kind"] for event in events]
        assert (told.count("observed"), told.count("slept")) == (ROUNDS, ROUNDS)
        assert service.client.get("/npcs/baker").json()["items"] == ["bun"] * ROUNDS
        assert service.client.get("/world").json()["now"] == f"2026-04-01T07:{2 * ROUNDS:02}"
