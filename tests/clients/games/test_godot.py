"""The addon for Godot: its signals, how it reads a stream, and its example, as docs/clients/godot.md says to run it."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from service.content.files import bundled_content
from service.store.client_event_kinds import CLIENT_PAYLOADS
from tests.api.play import serve, settings_for, until
from tests.api.test_tables import talk_that_goes_on
from tests.clients.games.godot import ADDON, begin, write_game
from tests.memory.answers import plain
from tests.servers import NO_AUTHORITIES
from tests.servers.fake_openai import FakeOpenAI, Reply

READ = """
extends SceneTree

func _initialize():
    var events = preload("res://addons/kataribe/events.gd").new()
    var stream = File.new()
    events.read("data: half of an ev".to_utf8())
    events.cut()
    stream.open(OS.get_environment("STREAM"), File.READ)
    while stream.get_position() < stream.get_len():
        for event in events.read(stream.get_buffer(1)):
            events.take(event)
            print("%s %s %s" % [event["kind"], events.position, events.text])
    quit()
"""


SIT = """
extends SceneTree

var client = preload("res://addons/kataribe/client.gd").new()

func _initialize():
    OS.low_processor_usage_mode = true
    client.service_url = OS.get_environment("SERVICE")
    client.world_id = OS.get_environment("WORLD")
    client.player_id = "ken"
    client.connect("answered", self, "_on_answered")
    client.connect("refused", self, "_on_refused")
    client.connect("told", self, "_on_told")
    root.add_child(client)
    client.join("Ken")

func _on_answered(command, _code, _answer):
    match command:
        "join":
            client.sit_down(OS.get_environment("TALK"))
        "sit_down":
            client.whisper(OS.get_environment("EAR"), "The ferry will not come.")
        "leave":
            quit()

func _on_refused(command, problem):
    print("%s was refused: %s" % [command, problem])
    quit(1)

func _on_told(event):
    if event["seq"] != null:
        print(event["json"])
    if event["kind"] == "utterance.completed" and event["data"]["speaker_id"] != "ken":
        client.leave()
"""


def said(game: Path, script: str, **env: str) -> list[str]:
    """The lines that a script has printed; it must end well."""
    process = begin(game, script, **env)
    try:
        code = process.wait(30)
    finally:
        process.kill()
    log = (game.parent / "log").read_text(encoding="utf-8")
    assert code == 0, log
    return log.splitlines()


def test_every_kind_of_event_is_a_signal() -> None:
    client = (ADDON / "addons" / "kataribe" / "client.gd").read_text(encoding="utf-8")
    assert re.findall(r"^signal (\w+)\(data\)", client, re.M) == [
        kind.kind.replace(".", "_") for kind in CLIENT_PAYLOADS
    ]


@pytest.mark.server
def test_a_stream_may_break_off_anywhere(tmp_path: Path) -> None:
    game = write_game(tmp_path / "game")
    (game / "read.gd").write_text(READ, encoding="utf-8")
    stream = tmp_path / "stream"
    told: list[tuple[str, str, dict[str, Any]]] = [
        ("7", "utterance.started", {"utterance_id": "a.1.0"}),
        ("7.4.0", "utterance.delta", {"char_start": 0, "text": "おはよう"}),
        ("7.9.0", "utterance.delta", {"char_start": 4, "text": "😀: ケン"}),
        ("8", "utterance.discarded", {"utterance_id": "a.1.0"}),
    ]
    stream.write_text(
        "".join(f"event: {kind}\ndata: {_json(kind, data)}\nid: {place}\n\n: quiet\n\n" for place, kind, data in told),
        encoding="utf-8",
    )
    assert said(game, "read.gd", STREAM=str(stream))[-4:] == [
        "utterance.started 7 ",
        "utterance.delta 7.4.0 おはよう",
        "utterance.delta 7.9.0 おはよう😀: ケン",
        "utterance.discarded 8 ",
    ]


def _json(kind: str, data: dict[str, Any]) -> str:
    return json.dumps({"seq": None, "kind": kind, "data": data}, ensure_ascii=False)


@pytest.mark.server
def test_the_example_talks_is_given_something_and_goes_on_the_next_time(village_url: str, tmp_path: Path) -> None:
    """Ken is known already, and was left in the middle of a talk."""
    with _client(village_url) as client:
        client.put("/people/ken", json={"kind": "player", "name": "Ken"}).raise_for_status()
        start = {"mode": "player", "player_id": "ken", "partner_id": "npc_taro"}
        for is_left_open in (False, True):
            talk = client.post("/conversations/start", json=start).raise_for_status().json()["id"]
            if not is_left_open:
                client.post(f"/conversations/{talk}/end?wait=true").raise_for_status()
        before = client.get("/people/ken/updates?wait=0").json()["items"][-1]["seq"]
    game = write_game(tmp_path / "game")
    heard: list[dict[str, Any]] = []
    for _ in range(2):
        lines = said(game, "example/headless.gd", KATARIBE_URL=village_url)
        heard += [json.loads(line) for line in lines if line.startswith("{")]
        assert "In Ken's bag: [One bun for sale, please.]" in lines
        with _client(village_url) as client:
            until(client, heard[-1]["conversation_id"], "closed")
    told = [event for event in heard if event["kind"] == "conversation.started"]
    assert len({event["conversation_id"] for event in told}) == 2
    assert [event["seq"] for event in heard] == [before + 1 + number for number in range(len(heard))]


@pytest.mark.server
def test_the_example_ends_where_its_partner_suggests_nothing_to_say(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        closes = {"ClosingAnswer": plain("They talked at the counter."), "Verdicts": {"verdicts": []}}
        asked = body["response_format"]["json_schema"]["name"]
        turn = {"utterance": "Good day to you.", "emotion": "neutral", "wants_to_end": False}
        return Reply(content=json.dumps(closes.get(asked, turn)))

    with FakeOpenAI(refuses=answer) as model:
        llm = {"provider": "openai", "base_url": model.base_url, "model": "fake-model"}
        settings = settings_for(tmp_path, bundled_content(), language="en", llm=llm)
        with serve(create_app(settings)) as url:
            lines = said(write_game(tmp_path / "game"), "example/headless.gd", KATARIBE_URL=url)
    assert lines[-1] == "In Ken's bag: []"


@pytest.mark.server
def test_a_player_sits_down_whispers_and_gets_up(village_url: str, tmp_path: Path) -> None:
    game = write_game(tmp_path / "game")
    (game / "sit.gd").write_text(SIT, encoding="utf-8")
    world = {"X-World-Id": "table"}
    with httpx.Client(base_url=village_url, headers=world, trust_env=False, verify=NO_AUTHORITIES) as client:
        client.patch("/world", json={"decision": "model"}).raise_for_status()
        talk = talk_that_goes_on(client)
        where = {"SERVICE": village_url, "TALK": talk["id"], "EAR": talk["partner_id"]}
        lines = said(game, "sit.gd", WORLD="table", **where)
        told = [json.loads(line) for line in lines if line.startswith("{")]
        whispers = [one["data"] for one in told if one["data"].get("loudness") == "whisper"]
        assert [(one["speaker_id"], one["heard_by"]) for one in whispers] == [
            ("ken", [talk["partner_id"]]),
            (talk["partner_id"], ["ken"]),
        ]
        people = client.get(f"/conversations/{talk['id']}").json()["people"]
        assert [one["person_id"] for one in people] == [talk["character_id"], talk["partner_id"]]


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, trust_env=False, verify=NO_AUTHORITIES)
