"""What games are told of conversations with humans, over each of the three transports."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse

from service import wiring
from service.app import create_app
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.store.client_event_kinds import NpcThinking, UtteranceDiscarded
from service.store.events import tell_clients
from service.store.presence import Presence
from service.store.tables import ConversationKey
from tests.api.conftest import Connect
from tests.api.followers import WAYS as FOLLOW
from tests.api.followers import Event, Follower, by_stream, kinds, of
from tests.api.play import problem, serve, settings_for
from tests.api.test_player import begin, say
from tests.conversation.talks import FAMILY, FAREWELL, HELLO, THANKS, replies
from tests.memory.answers import closing
from tests.scripted_model import ScriptedModel
from tests.servers import NO_AUTHORITIES
from tests.servers.postgres import PostgresServer
from world.time import WorldTime

PLACES = ("/conversations/{}", "/people/{}")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", ["stream", "updates"])
def test_what_is_not_there_cannot_be_followed(client: TestClient, place: str, way: str) -> None:
    problem(client.get(f"{place.format('nobody')}/{way}"), 404, "not-found")


@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_there_opens_no_websocket(client: TestClient, place: str) -> None:
    refused(client, f"{place.format('nobody')}/ws", 404, "not-found")


def test_a_number_that_was_never_told_is_a_problem_that_says_what_to_do(client: TestClient) -> None:
    answers = [client.get(f"/people/sora/{way}?after=7", headers={"Accept-Language": "ja"}) for way in WAYS]
    for answer in answers:
        told = problem(answer, 422, "never-told")
        assert told["facts"] == {"seq": 7, "newest": 0}
        assert "0" in told["detail"]
    assert refused(client, "/people/sora/ws?after=7", 422, "never-told")["facts"]["newest"] == 0


@pytest.mark.parametrize("after", ["-1", "x", "1.2", "1.2.3.4", "9" * 30, ""])
def test_what_is_no_position_is_a_problem(client: TestClient, after: str) -> None:
    for way in WAYS:
        problem(client.get(f"/people/sora/{way}", params={"after": after}), 422, "invalid")
    problem(client.get("/people/sora/stream", headers={"Last-Event-ID": after or "x"}), 422, "invalid")
    refused(client, f"/people/sora/ws?after={after}", 422, "invalid")


WAYS = ("stream", "updates")


def refused(client: TestClient, path: str, status: int, slug: str) -> dict[str, Any]:
    """The problem with which a WebSocket is refused."""
    with pytest.raises(WebSocketDenialResponse) as caught, client.websocket_connect(path):
        pass
    return problem(caught.value, status, slug)


# --- a conversation, from its beginning to what is remembered ---

TALK = [
    "conversation.started",
    "utterance.completed",
    "npc.thinking",
    "utterance.started",
    "utterance.completed",
    "utterance.completed",
    "npc.thinking",
    "utterance.started",
    "utterance.completed",
    "conversation.ended",
    "mood.changed",
    "memory.changed",
]
"""What is numbered of a talk in which the player speaks twice, and the NPC takes its leave."""


class Noted(ScriptedModel):
    """Says its script, and remembers of each utterance whether somebody listened. `broken` is told first, once, as by
    a connection that breaks in the middle.
    """

    def __init__(self) -> None:
        super().__init__()
        self.streamed: list[bool] = []
        self.broken = ""

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        if prompt.name == "speaker":
            self.streamed.append(on_text is not None)
        if self.broken and on_text is not None:
            on_text(self.broken, "sad")
            self.broken = ""
        return await super().complete(prompt, on_text)


@pytest.fixture
def script() -> Noted:
    """Who speaks for everybody."""
    return Noted()


def script_talk(script: ScriptedModel) -> None:
    script.enqueue(replies(FAMILY), replies(FAREWELL, leaves=True), closing("Ken asked the baker of the family."))


def test_the_three_transports_tell_the_same_while_it_happens(url: str, connect: Connect, script: Noted) -> None:
    client = connect()
    client.put("/people/ken", json={"kind": "player", "name": "Ken"})
    last = lambda event: event["kind"] == "memory.changed"  # noqa: E731
    script.latency_seconds = 0.3
    followers = {way: Follower(follow(url, "/people/ken", "0"), last) for way, follow in FOLLOW.items()}
    script_talk(script)
    conversation_id = begin(client)
    for follower in followers.values():
        follower.wait_for(lambda events: events)
    one = f"/conversations/{conversation_id}"
    followers |= {f"one {way}": Follower(follow(url, one, "0")) for way, follow in FOLLOW.items()}
    say(client, conversation_id, HELLO, message_id="m1")
    say(client, conversation_id, THANKS)
    told = {way: follower.join() for way, follower in followers.items()}
    for way, events in told.items():
        assert kinds(events) == TALK, way
        assert committed(events) == committed(told["stream"])
        assert of(events, "utterance.sentence") == of(told["stream"], "utterance.sentence")
        for whole in of(events, "utterance.completed"):
            deltas = [one for one in of(events, "utterance.delta") if one["utterance_id"] == whole["utterance_id"]]
            assert whole["text"].startswith("".join(one["text"] for one in deltas))
            assert [one["char_start"] for one in deltas] == sorted({one["char_start"] for one in deltas})
    events = told["stream"]
    seqs = [event["seq"] for event in events if event["seq"] is not None]
    assert seqs == list(range(1, len(TALK) + 1))
    assert len(of(events, "utterance.delta")) > 4
    said = of(events, "utterance.completed")
    assert [(one["speaker_id"], one["text"], one["message_id"]) for one in said] == [
        ("ken", HELLO, "m1"),
        ("baker", FAMILY, None),
        ("ken", THANKS, None),
        ("baker", FAREWELL, None),
    ]
    spoken = of(events, "utterance.sentence")
    assert " ".join(one["text"] for one in spoken) == f"{FAMILY} {FAREWELL}"
    assert {str(one["emotion"]) for one in spoken} == {str({"label": "happy", "strength": 0.5})}
    assert script.streamed == [True, True]


def test_a_browser_that_has_heard_the_end_is_told_not_to_come_back(client: TestClient, script: Noted) -> None:
    """An EventSource makes its connection again whenever a stream ends, until it is answered 204."""
    script_talk(script)
    conversation_id = begin(client)
    say(client, conversation_id, HELLO)
    path = f"/conversations/{conversation_id}"
    newest = client.get(f"{path}/updates?after=0&wait=0").json()["next"]
    half = client.get(f"{path}/updates?after={newest}&wait=0").json()
    assert (half["items"], half["over"]) == ([], False)
    say(client, conversation_id, THANKS)
    last = half
    while not last["over"]:
        last = client.get(f"{path}/updates?after={last['next']}&wait=5").json()
    again = client.get(f"{path}/stream", headers={"Last-Event-ID": last["next"]})
    assert (again.status_code, again.content) == (204, b"")
    missed = client.get(f"{path}/stream", headers={"Last-Event-ID": newest})
    assert missed.status_code == 200
    assert "event: memory.changed" in missed.text
    assert client.get(f"{path}/stream?after={last['next']}").status_code == 200, "who asks for that place is no browser"


def test_a_model_is_streamed_only_where_somebody_listens(url: str, connect: Connect, script: Noted) -> None:
    client = connect()
    script_talk(script)
    conversation_id = begin(client)
    say(client, conversation_id, HELLO)
    assert script.streamed == [False]
    follower = Follower(by_stream(url, f"/conversations/{conversation_id}"))
    follower.wait_for(lambda events: len(kinds(events)) == 5)
    assert of(follower.events, "utterance.delta") == []
    say(client, conversation_id, THANKS)
    assert script.streamed == [False, True]
    follower.join()


def test_who_comes_back_in_the_middle_of_an_utterance_goes_on_where_it_was(
    url: str, connect: Connect, script: Noted
) -> None:
    client = connect()
    script.latency_seconds = 1.5
    script.enqueue(replies(f"{FAMILY} {FAREWELL}", leaves=True), closing("They talked."))
    conversation_id = begin(client)
    path = f"/conversations/{conversation_id}"
    whole = Follower(by_stream(url, path))
    whole.wait_for(lambda events: events)
    client.post(f"{path}/say", json={"text": HELLO})
    first = Follower(by_stream(url, path), lambda event: event["kind"] == "utterance.sentence").join()
    place = first[-1]["position"]
    later = Follower(by_stream(url, path, place.partition(".")[0]))
    again = Follower(by_stream(url, path, place)).join()
    assert committed([*first, *again]) == committed(whole.join())
    assert of([*first, *again], "utterance.sentence") == of(whole.events, "utterance.sentence")
    assert of(later.join(), "utterance.delta")[0]["char_start"] == 0


def committed(events: list[Event]) -> list[Event]:
    """What is numbered, as it travels."""
    return [{**event, "position": None} for event in events if event["seq"] is not None]


# --- attempts ---


def test_a_line_out_of_character_is_taken_back_and_asked_once_more(url: str, connect: Connect, script: Noted) -> None:
    client = connect()
    conversation_id = begin(client)
    follower = Follower(by_stream(url, f"/conversations/{conversation_id}"))
    follower.wait_for(lambda events: events)
    script.latency_seconds = 0.2
    script.enqueue(replies("Good morning to you. I am an AI, so I cannot know. Ask somebody else."), replies(FAMILY))
    say(client, conversation_id, HELLO)
    events = follower.wait_for(lambda events: len(of(events, "utterance.completed")) == 2)
    first, second = (one["utterance_id"] for one in of(events, "utterance.started"))
    assert (first, second) == (f"{conversation_id}.1.0", f"{conversation_id}.1.1")
    assert of(events, "utterance.discarded") == [{"utterance_id": first, "spoken_sentences": 2}]
    assert [one["index"] for one in of(events, "utterance.sentence") if one["utterance_id"] == first] == [0, 1]
    assert of(events, "utterance.completed")[1]["utterance_id"] == second
    assert of(events, "utterance.completed")[1]["text"] == FAMILY


def test_an_answer_that_broke_off_is_taken_back_before_it_begins_anew(
    url: str, connect: Connect, script: Noted
) -> None:
    client = connect()
    conversation_id = begin(client)
    follower = Follower(by_stream(url, f"/conversations/{conversation_id}"))
    follower.wait_for(lambda events: events)
    script.latency_seconds = 0.3
    script.broken = "Good morning. I was ab"
    script.enqueue(replies(FAMILY))
    say(client, conversation_id, HELLO)
    events = follower.wait_for(lambda events: len(of(events, "utterance.completed")) == 2)
    assert of(events, "utterance.discarded") == [{"utterance_id": f"{conversation_id}.1.0", "spoken_sentences": 1}]
    deltas = [one for one in of(events, "utterance.delta") if one["utterance_id"].endswith(".1.1")]
    assert deltas[0]["char_start"] == 0
    assert FAMILY.startswith("".join(one["text"] for one in deltas))
    assert of(events, "utterance.completed")[1]["utterance_id"] == f"{conversation_id}.1.1"


def test_who_asks_again_and_again_listens_while_it_is_away_for_a_moment(client: TestClient, script: Noted) -> None:
    conversation_id = begin(client)
    client.get(f"/conversations/{conversation_id}/updates?wait=0")
    script.enqueue(replies(FAMILY))
    say(client, conversation_id, HELLO)
    assert script.streamed == [True]


# --- a human cuts in ---


def interrupt(client: httpx.Client, conversation_id: str, utterance_id: str, **heard: Any) -> httpx.Response:
    return client.post(f"/conversations/{conversation_id}/interrupt", json={"utterance_id": utterance_id, **heard})


def texts(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [turn["text"] for turn in answer.json()["turns"]]


@pytest.mark.parametrize("heard", [{"heard_chars": 13}, {"heard_text": "I have a wife"}])
def test_of_an_utterance_that_is_cut_short_only_what_was_heard_is_said_and_remembered(
    url: str, connect: Connect, script: Noted, heard: dict[str, Any]
) -> None:
    client = connect()
    conversation_id = begin(client)
    follower = Follower(by_stream(url, f"/conversations/{conversation_id}"))
    follower.wait_for(lambda events: events)
    script.latency_seconds = 3
    script.enqueue(replies(FAMILY))
    client.post(f"/conversations/{conversation_id}/say", json={"text": HELLO})
    events = follower.wait_for(lambda events: sum(len(one["text"]) for one in of(events, "utterance.delta")) > 20)
    (speaking,) = of(events, "utterance.started")
    answer = interrupt(client, conversation_id, speaking["utterance_id"], **heard)
    assert texts(answer) == [HELLO, "I have a wife"]
    assert answer.json()["awaits"] == "ken"
    script.latency_seconds = 0
    script.enqueue(replies(FAREWELL, leaves=True), closing("They were cut short."))
    assert say(client, conversation_id, THANKS)["answer"]["text"] == FAREWELL
    events = follower.join()
    said = of(events, "utterance.completed")
    assert [(one["text"], one["interrupted"]) for one in said] == [
        (HELLO, False),
        ("I have a wife", True),
        (THANKS, False),
        (FAREWELL, False),
    ]
    assert said[1]["utterance_id"] == speaking["utterance_id"]
    asked = next(prompt for prompt in script.history if prompt.name == "closing")
    assert "I have a wife" in asked.messages[-1].content
    assert "Harue" not in asked.messages[-1].content


def test_what_was_said_already_is_cut_back_to_what_was_heard(connect: Connect, script: Noted, url: str) -> None:
    client = connect()
    conversation_id = begin(client)
    script.enqueue(replies(FAMILY))
    say(client, conversation_id, HELLO)
    named = f"{conversation_id}.1.0"
    assert texts(interrupt(client, conversation_id, named, heard_chars=5000)) == [HELLO, FAMILY]
    assert texts(interrupt(client, conversation_id, named, heard_chars=13)) == [HELLO, "I have a wife"]
    problem(interrupt(client, conversation_id, named, heard_text="three dogs"), 422, "invalid")
    assert texts(interrupt(client, conversation_id, named, heard_chars=0)) == [HELLO]
    script.enqueue(replies(FAREWELL))
    assert say(client, conversation_id, THANKS)["answer"]["turn"] == 2
    answer = client.get(f"/conversations/{conversation_id}/updates?wait=0").json()["items"]
    assert [one["interrupted"] for one in of(answer, "utterance.completed")] == [False, False, True, False, False]
    assert of(answer, "utterance.discarded") == [{"utterance_id": named, "spoken_sentences": 0}]
    ids = [one["utterance_id"] for one in of(answer, "utterance.completed")]
    assert ids == [f"{conversation_id}.0.0", named, named, f"{conversation_id}.1.1", f"{conversation_id}.2.0"]


def test_an_interruption_of_nothing_is_a_problem_and_changes_nothing(client: TestClient, script: Noted) -> None:
    conversation_id = begin(client)
    script.enqueue(replies(FAMILY))
    say(client, conversation_id, HELLO)
    path = f"/conversations/{conversation_id}"
    for name, status, slug, heard in (
        (f"{conversation_id}.0.0", 409, "not-speaking", {"heard_chars": 3}),
        ("nothing", 409, "not-speaking", {"heard_chars": 3}),
        (f"{conversation_id}.1.0", 422, "invalid", {}),
        (f"{conversation_id}.1.0", 422, "invalid", {"heard_chars": 3, "heard_text": "I"}),
        (f"{conversation_id}.1.0", 422, "invalid", {"heard_chars": -1}),
    ):
        problem(client.post(f"{path}/interrupt", json={"utterance_id": name, **heard}), status, slug)
    problem(client.post(f"{path}/playback", json={"utterance_id": "nothing"}), 409, "not-speaking")
    assert client.post(f"{path}/playback", json={"utterance_id": f"{conversation_id}.1.0"}).status_code == 204
    assert [turn["text"] for turn in client.get(path).json()["turns"]] == [HELLO, FAMILY]


# --- clients that are slow, and many events ---


@pytest.mark.parametrize("way", FOLLOW)
def test_of_a_thousand_events_nothing_is_lost_and_nothing_comes_twice_whoever_never_reads(
    url: str, connect: Connect, app: FastAPI, way: str
) -> None:
    client = connect()
    key = ConversationKey("main", begin(client))
    path = f"/conversations/{key.conversation_id}"
    deaf = [never_reading(url, f"{path}/{kind}") for kind in ("stream", "ws")]
    database = app.state.deps.conversation.database
    follower = Follower(FOLLOW[way](url, path, "0"), lambda event: event["seq"] == 1001)
    begun = time.monotonic()
    for _ in range(100):
        database.write_now(lambda s: tell_clients(s, key, WorldTime(0), [NpcThinking(person_id="baker")] * 10))
    app.state.deps.conversation.stream.tell(key)
    app.state.deps.conversation.stream.tell_people("main", ["ken"])
    assert client.get(path).status_code == 200
    events = follower.wait_for(lambda events: len(events) >= 1001, seconds=40)
    assert [event["seq"] for event in events] == list(range(1, 1002))
    assert time.monotonic() - begun < 40
    cut = Follower(FOLLOW[way](url, path, "700"), lambda event: event["seq"] == 1001).join()
    assert [event["seq"] for event in cut] == list(range(701, 1002))
    for one in deaf:
        one.close()


def test_many_clients_that_never_read_are_dropped(tmp_path: Path, millbrook: Path, script: Noted) -> None:
    settings = settings_for(tmp_path, millbrook, request_timeout_seconds=1)
    app = create_app(settings, models=Models(dict.fromkeys(ROLES, script)))
    with serve(app) as url, httpx.Client(base_url=url, timeout=60, verify=NO_AUTHORITIES) as client:
        key = ConversationKey("main", begin(client))
        deps = app.state.deps.conversation
        long = UtteranceDiscarded(utterance_id="long " * 4000, spoken_sentences=None)
        for _ in range(15):  # more than a kernel keeps for a connection
            deps.database.write_now(lambda s: tell_clients(s, key, WorldTime(0), [long] * 20))
        path = f"/conversations/{key.conversation_id}"
        with ExitStack() as deaf:
            for way in ("stream", "ws") * 15:
                deaf.enter_context(never_reading(url, f"{path}/{way}"))
            for is_followed in (True, False):
                deadline = time.monotonic() + 240
                while deps.stream.has_listener(key) is not is_followed:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            assert client.get(path).status_code == 200


def never_reading(url: str, path: str) -> socket.socket:
    """A client that asks and never reads the answer."""
    place = urlsplit(url)
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    one.connect((place.hostname, place.port))
    upgrade = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        if path.endswith("ws")
        else ""
    )
    one.sendall(f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\n{upgrade}\r\n".encode())
    return one


@pytest.mark.server
def test_another_replica_tells_words_while_they_are_spoken(
    tmp_path: Path, millbrook: Path, script: Noted, postgres_server: PostgresServer, postgres_template: str
) -> None:
    database = postgres_server.create_database(like=postgres_template)
    here, there = (
        create_app(
            settings_for(tmp_path / name, millbrook, database_url=database), models=Models(dict.fromkeys(ROLES, script))
        )
        for name in ("here", "there")
    )
    with (
        serve(here) as url,
        serve(there) as other_url,
        httpx.Client(base_url=url, timeout=30, verify=NO_AUTHORITIES) as client,
    ):
        conversation_id = begin(client)
        path = f"/conversations/{conversation_id}"
        near, far = Follower(by_stream(url, path)), Follower(by_stream(other_url, path))
        near.wait_for(lambda events: events)
        script.latency_seconds = 0.5
        script.enqueue(replies(FAREWELL, leaves=True), closing("They talked."))
        say(client, conversation_id, HELLO)
        told, told_far = near.join(), far.join()
    assert committed(told_far) == committed(told)
    assert of(told_far, "utterance.sentence") == of(told, "utterance.sentence")
    assert len(of(told, "utterance.delta")) > 2
    deltas = [one["text"] for one in of(told_far, "utterance.delta") if one["utterance_id"].endswith(".0")]
    assert len(deltas) > 1
    assert FAREWELL.startswith("".join(deltas)), "of what is said at the end the sentence may be there first"


@pytest.mark.server
def test_what_a_killed_replica_could_not_tell_any_more_is_found_in_the_store(
    tmp_path: Path,
    millbrook: Path,
    script: Noted,
    monkeypatch: pytest.MonkeyPatch,
    postgres_server: PostgresServer,
    postgres_template: str,
) -> None:
    monkeypatch.setattr(Presence, "tell", lambda *_: None)
    monkeypatch.setattr(wiring, "LOOK_SECONDS", 0.2)
    database = postgres_server.create_database(like=postgres_template)
    here, there = (
        create_app(
            settings_for(tmp_path / name, millbrook, database_url=database), models=Models(dict.fromkeys(ROLES, script))
        )
        for name in ("here", "there")
    )
    with (
        serve(here) as url,
        serve(there) as other_url,
        httpx.Client(base_url=url, timeout=30, verify=NO_AUTHORITIES) as client,
    ):
        conversation_id = begin(client)
        path = f"/conversations/{conversation_id}"
        near, far = Follower(by_stream(url, path)), Follower(by_stream(other_url, path))
        watching = Follower(watched(other_url, conversation_id))
        for follower in (near, far):
            follower.wait_for(bool)
        script.enqueue(replies(FAREWELL, leaves=True), closing("They talked."))
        say(client, conversation_id, HELLO)
        assert committed(far.join()) == committed(near.join())
        assert {"turn", "ended", "closed"} <= set(kinds(watching.join(), passing=True))


# --- a world that is restored ---


def watched(url: str, conversation_id: str) -> Iterator[Event]:
    """What `GET /conversations/{id}/events` tells."""
    with httpx.stream("GET", f"{url}/conversations/{conversation_id}/events", timeout=60) as answer:
        for line in answer.iter_lines():
            if line.startswith("event: "):
                yield {"kind": line.removeprefix("event: "), "seq": None}


def test_who_follows_is_told_that_the_world_was_restored(url: str, connect: Connect, script: Noted) -> None:
    """Over each transport: also who was away then, and who follows a conversation that is gone with it."""
    client = connect()
    script.enqueue(*map(replies, ("One.", "Two.", "Three.")))
    kept = begin(client)
    say(client, kept, HELLO)
    client.post("/world/snapshots", json={"name": "quick"}).raise_for_status()
    say(client, kept, THANKS)
    client.put("/people/mika", json={"kind": "player", "name": "Mika"}).raise_for_status()
    other = {"mode": "player", "player_id": "mika", "partner_id": "hermit"}
    gone = client.post("/conversations/start", json=other).json()["id"]
    paths = ("/people/ken", f"/conversations/{kept}", f"/conversations/{gone}")
    everybody = [[Follower(follow(url, path, "0")) for path in paths] for follow in FOLLOW.values()]
    watching = Follower(watched(url, kept))
    watching.wait_for(bool)
    before = everybody[0][0].wait_for(lambda heard: len(of(heard, "utterance.completed")) == 4)[-1]["seq"]
    for followers in everybody:
        for follower in followers:
            follower.wait_for(bool)
    shown = client.get("/world/events").json()["timeline"]
    client.post("/world/restore", json={"name": "quick"}).raise_for_status()
    assert client.get("/world/events").json()["timeline"] != shown
    say(client, kept, "Again.")
    back = [Follower(follow(url, "/people/ken", str(before))) for follow in FOLLOW.values()]
    for follower in (*back, *(follower for person, talk, _ in everybody for follower in (person, talk))):
        heard = follower.wait_for(lambda heard: "Three." in str(of(heard, "utterance.completed")))
        numbered = [one["seq"] for one in heard if one["seq"] is not None]
        assert numbered == sorted(set(numbered))
        assert kinds([one for one in heard if (one["seq"] or 0) > before])[0] == "world.restored"
    assert watching.join()[-1]["kind"] == "restored"
    for *_, lost in everybody:
        assert lost.join()[-1]["kind"] == "world.restored"
    problem(client.get(f"/conversations/{gone}/updates"), 404, "not-found")
