"""Owns the tests of the real process: killed at any moment, stopped, started twice or wrongly."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.play import LINES, SISTER, listen, problem, reply, turn, write_village
from tests.end_to_end.process import Service, kataribe
from tests.servers.fake_openai import FakeOpenAI, Reply
from tests.servers.postgres import PostgresServer

TALK = {
    "character_id": "sora",
    "npc_id": "baker",
    "goal": "Ask after her sister",
    "success_criteria": "Any news",
    "max_turns": 4,
}
REHEARSAL = {
    "KATARIBE_LLM__PROVIDER": "rehearsal",
    "KATARIBE_LLM__REHEARSAL_PACE_SECONDS": "0.5",
    "KATARIBE_WORLD__LANGUAGE": "en",
}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small village."""
    return write_village(tmp_path_factory.mktemp("content"))


def wait_for(client: httpx.Client, path: str, done: Callable[[Any], bool], seconds: float = 40) -> Any:
    """What the path answers, as soon as it is as wanted."""
    deadline = time.monotonic() + seconds
    while not done(told := client.get(path).json()):
        assert time.monotonic() < deadline, told
        time.sleep(0.02)
    return told


def settled_once(client: httpx.Client, path: str) -> dict[str, Any]:
    """The conversation once it is closed: everything about it is there, and exactly once."""
    told: dict[str, Any] = wait_for(client, path, lambda c: c["phase"] == "closed")
    wait_for(client, "/world", lambda world: world["memories_waiting"] == 0)
    assert [turn["turn"] for turn in told["turns"]] == list(range(len(told["turns"])))
    memory = client.get("/characters/sora/memory?npc_id=baker&limit=100&history=true").json()
    assert memory["relation"]["conversation_count"] == 1
    assert [row["conversation_id"] for row in memory["today"]] == [told["id"]]
    assert memory["last_meeting"]["summary"] == told["changes"]["summary"]
    assert sorted(f["id"] for f in memory["facts"]) == sorted(f["id"] for f in told["changes"]["facts"])
    statements = [fact["text"] for fact in memory["facts"]]
    assert len(statements) == len(set(statements))
    baker = client.get("/npcs/baker").json()
    assert baker["conversation_count"] == 1
    assert [f["id"] for f in baker["learned_facts"]] == [f["id"] for f in told["changes"]["learned_facts"]]
    assert baker["talking_in"] is None
    assert client.get("/characters/sora").json()["talking_in"] is None
    told_of = [event["kind"] for event in client.get("/world/events").json()["items"]]
    kinds = [kind for kind in told_of if kind.startswith("conversation_")]
    assert sorted(kinds) == ["conversation_closed", "conversation_ended", "conversation_started"]
    return told


def speak_by_script(body: dict[str, Any]) -> str:
    """The talk about the sister, by what is asked for and whether the speaker has spoken in it. What stands in the rest
    of the prompt says nothing of that: a second talk's holds the words of the first.
    """
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    if "people" in fields:
        return json.dumps(SISTER["en"])
    if "verdicts" in fields:
        return json.dumps({"verdicts": [{"n": n, "finding": "supported"} for n in range(1, 21)]})
    has_spoken = any(one["role"] == "assistant" for one in body["messages"])
    first, second, third, fourth = LINES["en"]
    if "goal" in fields:
        return json.dumps({**reply(first), "goal": TALK["goal"], "success_criteria": TALK["success_criteria"]})
    if "goal_achieved" in fields:
        return json.dumps(turn(third, achieved=True, ends=True) if has_spoken else turn(first))
    return json.dumps(reply(fourth) if has_spoken else reply(second))


def is_closing(body: dict[str, Any]) -> bool:
    """Whether the request asks what is remembered after a conversation."""
    return "people" in body["response_format"]["json_schema"]["schema"]["properties"]


@pytest.mark.server  # each test here starts several processes: CI runs them, a desk need not at every run
def test_killed_while_they_speak_the_conversation_goes_on_where_it_was(tmp_path: Path, content: Path) -> None:
    halted = {0: Reply(pause_seconds=0.3), 2: Reply(hangs=True)}  # by how many requests came before

    def hang_where_it_is_killed(body: dict[str, Any]) -> Reply | None:
        return None if is_closing(body) else halted.pop(len(model.requests) - 1, None)

    with FakeOpenAI(answer=speak_by_script, refuses=hang_where_it_is_killed) as model:
        settings = {"KATARIBE_LLM__BASE_URL": model.base_url, "KATARIBE_WORLD__LANGUAGE": "en"}
        with Service(tmp_path, content, settings) as first:
            path = first.client.post("/conversations/start", json=TALK).json()["links"]["self"]
            spoken = next(e for e in listen(first.client, path.rpartition("/")[2]) if e.event == "speaking")
            assert spoken.data["turn"] == 0
            first.kill()  # in the middle of the first utterance
        with Service(tmp_path, content, settings) as second:
            before = wait_for(second.client, path, lambda c: len(c["turns"]) >= 1)["turns"]
            wait_for(second.client, path, lambda _: not halted)
            second.kill()  # right after a turn
        with Service(tmp_path, content, settings) as third:
            told = settled_once(third.client, path)
            assert told["turns"][: len(before)] == before
            assert [turn["text"] for turn in told["turns"]] == list(LINES["en"])


@pytest.mark.server
def test_killed_while_closing_it_is_closed_once(tmp_path: Path, content: Path) -> None:
    held = threading.Event()

    def hold_first_closing(body: dict[str, Any]) -> Reply | None:
        if is_closing(body) and not held.is_set():
            held.set()
            return Reply(latency_seconds=120)
        return None

    with FakeOpenAI(answer=speak_by_script, refuses=hold_first_closing) as model:
        settings = {"KATARIBE_LLM__BASE_URL": model.base_url, "KATARIBE_WORLD__LANGUAGE": "en"}
        with Service(tmp_path, content, settings) as first:
            path = first.client.post("/conversations/start", json=TALK).json()["links"]["self"]
            assert held.wait(40), first.log
            before = first.client.get(path).json()
            assert before["phase"] == "closing"
            assert before["changes"] is None
            first.kill()
        with Service(tmp_path, content, settings) as second:
            told = settled_once(second.client, path)
            assert told["turns"] == before["turns"]
            assert [t["text"] for t in told["turns"]] == list(LINES["en"])
            assert told["changes"]["affinity"] == {"before": 0, "after": 8}
            assert len(told["changes"]["facts"]) == 2
            assert sum(is_closing(body) for body in model.requests) == 2
            # The data is taken: another process must not write to it.
            data = tmp_path / "data"
            other = kataribe(tmp_path, "serve", "--port", "0", "--content", content, "--data", data, **settings)
            assert other.returncode == 2
            assert "KATARIBE_DATA_DIR" in other.stderr
            assert "another process" in other.stderr
            assert "Traceback" not in other.stderr
            # SIGTERM ends it soon, an open stream or not.
            slow = Reply(latency_seconds=60)
            model.enqueue(slow, slow)
            running = second.client.post("/conversations/start", json=TALK).json()["id"]
            with second.client.stream("GET", f"/conversations/{running}/events") as stream:
                assert stream.status_code == 200
                assert second.terminate() < 5
            assert second.process.exitcode == 0, second.log


def stop(server: PostgresServer) -> None:
    """Take the database away, without a farewell."""
    server._run("pg_ctl", "stop", "--pgdata", server.home / "data", "--mode", "immediate", "--wait")


def start_again(server: PostgresServer) -> None:
    """Bring the same database back, on the same port."""
    where = ("--pgdata", server.home / "data", "--log", server.home / "log", "--options", f"-p {server.port}")
    server._run("pg_ctl", "start", *where, "--wait", "--timeout", "60")


@pytest.mark.server
def test_the_database_going_away_is_a_problem_and_the_conversation_goes_on_after_it(
    tmp_path: Path, content: Path, postgres_binaries: Path
) -> None:
    with PostgresServer(postgres_binaries) as server:
        settings = {
            **REHEARSAL,
            "KATARIBE_LLM__REHEARSAL_PACE_SECONDS": "0.3",
            "KATARIBE_DATABASE_URL": server.create_database(),
        }
        with Service(tmp_path, content, settings) as service:
            path = service.client.post("/conversations/start", json=TALK).json()["links"]["self"]
            before = wait_for(service.client, path, lambda c: len(c["turns"]) >= 1)["turns"]
            stop(server)
            for call in ("GET /world", f"GET {path}", "POST /world/tick"):
                method, where = call.split()
                answer = service.client.request(method, where, json={} if method == "POST" else None)
                problem(answer, 503, "store-unavailable")
            ready = service.client.get("/readyz")
            assert (ready.status_code, ready.json()["status"]) == (503, "down")
            assert service.client.get("/healthz").status_code == 200
            start_again(server)
            told = settled_once(service.client, path)
            assert told["turns"][: len(before)] == before
