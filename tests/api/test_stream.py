"""Owns the tests of the live stream against a real uvicorn: what comes when, resuming, and listeners who leave."""

import asyncio
import gc
import threading
import time

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import Message

from service.conversation.stream import Mailbox
from tests.api.conftest import Connect
from tests.api.play import LINES, TALK, Heard, listen, problem, say, script_sister, talk, turn
from tests.scripted_model import ScriptedModel


def of(heard: list[Heard], event: str) -> list[Heard]:
    """The events of one kind."""
    return [one for one in heard if one.event == event]


def test_an_utterance_is_heard_while_it_is_made_and_before_it_is_committed(
    connect: Connect, script: ScriptedModel
) -> None:
    client, other = connect(), connect()
    script.latency_seconds = 0.4
    script_sister(script)
    running = client.post("/conversations/start", json=TALK).json()["id"]
    heard, early = [], set()
    for one in listen(client, running):
        heard.append(one)
        if one.event == "speaking" and one.data["turn"] not in early:
            committed = other.get(f"/conversations/{running}").json()["turns"]
            assert len(committed) == one.data["turn"]
            early.add(one.data["turn"])
    assert early == {0, 1, 2, 3}
    for number, text in enumerate(LINES["en"]):
        spoken = [one.data["text"] for one in of(heard, "speaking") if one.data["turn"] == number]
        assert len(spoken) > 3
        assert all(text.startswith(piece) for piece in spoken)
        assert spoken == sorted(spoken, key=len)
    assert {(one.data["speaker_id"], one.data["speaker_name"]) for one in of(heard, "speaking")} == {
        ("sora", "Sora"),
        ("baker", "Hanna"),
    }
    assert all(one.id is None for one in heard if one.event != "turn")


def test_turns_carry_ids_and_the_end_closes_the_stream(connect: Connect, script: ScriptedModel) -> None:
    client = connect()
    script.latency_seconds = 0.05
    script_sister(script)
    running = client.post("/conversations/start", json=TALK).json()["id"]
    heard = [one for one in listen(client, running) if one.event != "speaking"]
    assert [one.event for one in heard] == ["turn"] * 4 + ["ended", "closed"]
    assert [one.id for one in heard] == ["1", "2", "3", "4", None, None]
    told = client.get(f"/conversations/{running}").json()
    assert [one.data for one in of(heard, "turn")] == told["turns"]
    assert heard[-2].data == {"reason": "goal_achieved"}
    assert heard[-1].data == told


@pytest.mark.parametrize("last", [0, 1, 3, 4, 900])
def test_a_client_that_comes_back_gets_exactly_what_it_missed(
    connect: Connect, script: ScriptedModel, last: int
) -> None:
    client = connect()
    script_sister(script)
    held = talk(client)
    heard = list(listen(client, held["id"], after=last))
    assert [one.id for one in of(heard, "turn")] == [str(number) for number in range(last + 1, 5)]
    assert [one.event for one in heard][-2:] == ["ended", "closed"]


def test_a_client_that_loses_the_stream_in_the_middle_misses_and_repeats_nothing(
    connect: Connect, script: ScriptedModel
) -> None:
    client = connect()
    script.latency_seconds = 0.2
    script_sister(script)
    running = client.post("/conversations/start", json=TALK).json()["id"]
    got: list[Heard] = []
    stream = listen(client, running)
    for one in stream:
        if one.event == "turn":
            got.append(one)
        if len(got) == 2:
            break
    stream.close()  # type: ignore[attr-defined]  # a generator: the connection is cut
    assert got[-1].id == "2"
    again = list(listen(connect(), running, after=2))
    got += of(again, "turn")
    assert [one.data["text"] for one in got] == list(LINES["en"])
    assert again[-1].event == "closed"


def test_a_late_listener_gets_everything(connect: Connect, script: ScriptedModel) -> None:
    client = connect()
    script_sister(script)
    held = talk(client)
    heard = list(listen(client, held["id"]))
    assert [one.event for one in heard] == ["turn"] * 4 + ["ended", "closed"]
    assert heard[-1].data == held


def test_a_listener_that_leaves_leaves_nothing_behind(connect: Connect, script: ScriptedModel) -> None:
    client = connect()
    script.latency_seconds = 30
    say(script, "character", turn("Good morning! " * 25))
    running = client.post("/conversations/start", json=TALK).json()["id"]
    for _ in range(3):
        stream = listen(connect(), running)
        assert next(stream).event == "speaking"
        stream.close()  # type: ignore[attr-defined]  # a generator: the connection is cut
    deadline = time.monotonic() + 10
    # By type(): isinstance() would wake every module that is loaded lazily, which takes longer than the test may.
    while living := [one for one in gc.get_objects() if type(one) is Mailbox]:
        assert time.monotonic() < deadline, f"{len(living)} listeners are still there"
        del living
        time.sleep(0.1)
    assert client.get(f"/conversations/{running}").json()["phase"] == "running"
    assert client.post(f"/conversations/{running}/end").status_code == 200


def test_ending_a_conversation_ends_its_stream(connect: Connect, script: ScriptedModel) -> None:
    client, other = connect(), connect()
    script.latency_seconds = 20
    say(script, "character", turn("A very long good morning to you, Hanna."))
    running = client.post("/conversations/start", json=TALK).json()["id"]
    timer = threading.Timer(0.5, lambda: other.post(f"/conversations/{running}/end"))
    timer.start()
    heard = list(listen(client, running))
    timer.join()
    assert [one.event for one in heard if one.event != "speaking"] == ["ended", "closed"]
    assert of(heard, "ended")[0].data == {"reason": "ended_by_client"}
    assert heard[-1].data["turns"] == []


def test_the_stream_of_an_unknown_conversation_is_a_problem(connect: Connect) -> None:
    problem(connect().get("/conversations/abc/events"), 404, "not-found")


def test_the_stream_of_another_world_is_a_problem(connect: Connect, script: ScriptedModel) -> None:
    client = connect()
    script_sister(script)
    held = talk(client)
    problem(client.get(f"/conversations/{held['id']}/events", headers={"X-World-Id": "other"}), 404, "not-found")


def test_a_listener_that_leaves_while_events_wait_is_no_error(app: FastAPI, script: ScriptedModel) -> None:
    """A whole conversation is read at once, so that events wait for the network when the client is gone."""
    script_sister(script)

    async def left_after_the_first_event(path: str) -> None:
        left = asyncio.Event()

        async def receive() -> Message:
            await left.wait()
            await asyncio.sleep(0.1)  # more is ready than is sent
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body":
                left.set()
                await asyncio.Event().wait()  # the network takes no more of it

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")],
        }
        await app(scope, receive, send)

    with TestClient(app) as client:
        path = f"/conversations/{talk(client)['id']}/events"
        assert client.portal is not None
        client.portal.call(left_after_the_first_event, path)
