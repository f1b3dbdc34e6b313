"""Owns the tests that a story is a function of seed, answers and the log of what came from outside."""

import asyncio
import json
import multiprocessing
import random
import re
import socket
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import BadLine, ReplayDiffers, WorldHasLived
from service.export.files import export_to
from service.export.story import StorySpan
from service.llm.choose import ROLES, Models
from service.replay import replay
from service.settings import Settings
from service.store.phase import Audience
from tests.api.play import settings_for, until
from tests.content.village import Village
from tests.end_to_end.process import forked
from tests.servers import NO_AUTHORITIES
from tests.studio.terminal.by_question import ByQuestion, settings_of

COMMANDS = 60
KINDS = {"request", "started", "said", "answered", "cut_back", "ended", "closed", "looked", "opened", "joined"}
"""What a story is made of that comes from outside."""


def _serve(told: "Connection[Any, Any]", directory: Path) -> None:
    app = create_app(settings_of(directory), models=Models(dict.fromkeys(ROLES, ByQuestion(hurries=False))))
    listening = socket.create_server(("127.0.0.1", 0))
    told.send(listening.getsockname()[1])
    asyncio.run(uvicorn.Server(uvicorn.Config(app, log_level="error")).serve([listening]))


class _Service:
    """The service in a process of its own, which can be killed; its world runs."""

    def __init__(self, directory: Path) -> None:
        here, there = multiprocessing.Pipe()
        self.process = forked(_serve, there, directory)
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{here.recv()}", timeout=30, trust_env=False, verify=NO_AUTHORITIES
        )

    def __enter__(self) -> httpx.Client:
        return self.http

    def __exit__(self, *_: object) -> None:
        """kill -9."""
        self.http.close()
        self.process.kill()
        self.process.join()


class _Session:
    """Two players, who do what chance lets them."""

    def __init__(self, http: httpx.Client, rng: random.Random) -> None:
        self.http, self._rng = http, rng
        self.talks: dict[str, str] = {}
        self.begun: list[str] = []
        self.done: list[str] = []

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """A command; one that is refused changes nothing."""
        answer = self.http.request(method, path, json=body)
        assert answer.status_code < 500, answer.text
        if answer.is_success:
            self.done.append(path.rsplit("/", 1)[-1])
        return answer.json() if answer.is_success and answer.content else None

    def begin(self) -> None:
        """They come, and the clock runs."""
        for player in ("ken", "mia"):
            self.ask("PUT", f"/people/{player}", {"kind": "player", "name": player.capitalize()})
        self.ask("PUT", "/people/mia/position", {"node_id": "door"})
        seen = {"text": "The mill is on fire.", "seen_by": ["baker"], "importance": 9, "minutes": 600}
        self.ask("POST", "/world/observations", seen)
        self.ask("POST", "/world/tick", {"ticks": 1})
        self.ask("PUT", "/world/clock", {"mode": "running", "speed": 900, "pace": "exact"})

    def step(self) -> None:
        """One command, and a little time."""
        player = self._rng.choice(("ken", "mia"))
        if self._rng.random() < 0.6:
            self._talk(player)
        else:
            self._meddle(player)
        time.sleep(self._rng.random() * 0.03)

    def _talk(self, player: str) -> None:
        if player not in self.talks and self._rng.random() < 0.5:
            self._sit_down(player)
        if player not in self.talks:
            partner = self._rng.choice(("baker", "sora", "umi", "hermit"))
            body = {"mode": "player", "player_id": player, "partner_id": partner}
            if begun := self.ask("POST", "/conversations/start", body):
                self.talks[player] = begun["id"]
                self.begun.append(begun["id"])
            return
        path, chance = f"/conversations/{self.talks[player]}", self._rng.random()
        if chance < 0.5:
            words = f"Number {len(self.done)}, what do you say?"
            said = self.http.post(f"{path}/say", json={"text": words}, params={"wait": self._rng.random() < 0.7})
            if said.is_success:
                self.done.append("say")
            elif said.json()["type"].endswith("wrong-phase"):
                del self.talks[player]
        elif chance < 0.7:
            self._cut_in(path)
        elif chance < 0.82:
            any(self.ask("POST", f"{path}/join", {"person_id": one}) for one in ("umi", "rin"))
        elif chance < 0.9:
            self._settle(path)
        elif chance < 0.95 and self.ask("POST", f"{path}/leave", {"person_id": player}):
            del self.talks[player]
        else:
            self.ask("POST", f"{path}/end")
            del self.talks[player]

    def _sit_down(self, player: str) -> None:
        """At a talk of others, where there is one."""
        for one in self.http.get("/conversations", params={"phase": "running"}).json()["items"]:
            if one["mode"] == "models" and self.ask("POST", f"/conversations/{one['id']}/join", {"person_id": player}):
                self.talks[player] = one["id"]
                self.begun.append(one["id"])
                return

    def _cut_in(self, path: str) -> None:
        told = self.http.get(f"{path}/updates?wait=0").json()["items"]
        begun = [event["data"]["utterance_id"] for event in told if event["kind"].startswith("utterance.")]
        if begun:
            heard = self._rng.choice((0, 5, 12))
            self.ask("POST", f"{path}/interrupt", {"utterance_id": begun[-1], "heard_chars": heard})

    def _settle(self, path: str) -> None:
        for call in self.http.get(path).json()["actions"]:
            if call["state"] == "requested":
                self.ask("POST", f"{path}/actions/{call['id']}/result", {"ok": self._rng.random() < 0.5})

    def _meddle(self, player: str) -> None:
        number = len(self.done)
        self.ask(
            *self._rng.choice(
                (
                    ("PUT", f"/people/{player}/position", {"node_id": self._rng.choice(("yard", "door", None))}),
                    (
                        "POST",
                        "/world/observations",
                        {"text": f"Bell {number} rings.", "seen_by": ["baker", "umi"], "importance": 9},
                    ),
                    ("PUT", "/world/flags", {"flags": {"storm": self._rng.random() < 0.5}}),
                    ("PUT", f"/people/guest{number % 3}", {"kind": "player", "name": f"Guest {number}"}),
                    ("DELETE", f"/people/guest{number % 3}"),
                    ("POST", "/characters/rin/actions", {"type": "sleep"}),
                    ("PATCH", "/characters/rin", {"decision": "model"}),
                    ("PATCH", "/world", {"announce": {"text": f"Market {number}", "minutes": 60}}),
                    ("PATCH", "/npcs/baker", {"mood": self._rng.choice(("happy", "angry"))}),
                )
            )
        )

    def kinds(self) -> set[str]:
        """What has come from outside so far."""
        return kinds_of(self.http.get("/world/commands").content)

    def finish(self) -> bytes:
        """All is over and remembered, and the world stands. Answers its log."""
        for conversation_id in self.talks.values():
            self.ask("POST", f"/conversations/{conversation_id}/end")
        for conversation_id in self.begun:
            until(self.http, conversation_id, "closed", seconds=120)
        self.ask("POST", "/world/stop")
        self.ask("POST", "/world/tick", {"ticks": 30})
        return self.http.get("/world/commands").content


def kinds_of(log: bytes) -> set[str]:
    """The kinds of what stands in a log."""
    return {kind for line in log.splitlines() if (kind := json.loads(line).get("kind"))}


STORY = ("made_people", "conversations", "participants", "turns", "overheard", "summaries", "events")


def _story(settings: Settings, file: Path) -> list[str]:
    """The story that is exported, without what it cost: who was let go of is asked again, and paid for again."""
    export_to(settings, "main", {"en": "Millbrook", "ja": "ミルブルック"}, StorySpan(since=None, until=None), file)
    costs = r'"(duration_ms|calls|prompt_tokens|completion_tokens|cached_tokens)": \d+'
    told = re.sub(costs, r'"\1": 0', file.read_text(encoding="utf-8")).splitlines()
    lines = ((line, json.loads(line)) for line in told[1:])
    return [line for line, one in lines if one["table"] in STORY and one["row"].get("audience") != Audience.AUTHOR]


@pytest.mark.server  # it starts two processes
def test_a_story_replays_from_its_log_also_where_the_service_was_killed_in_its_middle(tmp_path: Path) -> None:
    lived, again = tmp_path / "lived", tmp_path / "again"
    lived.mkdir()
    again.mkdir()
    with _Service(lived) as http:
        session = _Session(http, random.Random(11))
        session.begin()
        while len(session.done) < COMMANDS / 2:
            session.step()
        with suppress(KeyError):
            http.post(f"/conversations/{session.talks['ken']}/say", json={"text": "And then?"})
    with _Service(lived) as http:
        session.http = http
        while len(session.done) < COMMANDS or (len(session.done) < 12 * COMMANDS and not session.kinds() >= KINDS):
            for _ in range(10):  # to look whether all has come costs more than a step
                session.step()
        log = session.finish()
    (tmp_path / "commands.jsonl").write_bytes(log)
    settings = settings_of(again)
    models = Models(dict.fromkeys(ROLES, ByQuestion(hurries=True)))
    assert asyncio.run(replay(settings, "main", tmp_path / "commands.jsonl", models=models)) == log.count(b"\n") - 1
    assert _story(settings, tmp_path / "again.jsonl") == _story(settings_of(lived), tmp_path / "lived.jsonl")
    assert kinds_of(log) >= KINDS


def test_whom_a_client_lets_go_of_is_let_go_of_again_at_the_same_minute(tmp_path: Path) -> None:
    content = Village().write(tmp_path / "content")
    lived, again = (
        settings_for(tmp_path / name, content, llm={"provider": "rehearsal"}, allowed_hosts=["127.0.0.1"])
        for name in ("lived", "again")
    )
    with TestClient(create_app(lived), base_url="http://127.0.0.1") as client:
        client.post("/characters/sora/actions", json={"type": "move", "node_id": "yard"}).raise_for_status()
        for _ in range(5):
            client.post("/world/tick", json={"ticks": 310}).raise_for_status()
        assert client.get("/characters/sora").json()["decision"] == "routine"
        log = client.get("/world/commands").content
    (tmp_path / "commands.jsonl").write_bytes(log)
    asyncio.run(replay(again, "main", tmp_path / "commands.jsonl"))
    assert _story(again, tmp_path / "again.jsonl") == _story(lived, tmp_path / "lived.jsonl")


def test_what_cannot_be_done_again_is_named(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    models = Models(dict.fromkeys(ROLES, ByQuestion(hurries=True)))
    asked = {"method": "PUT", "path": "/people/ken/position", "query": "", "body": '{"node_id": "yard"}', "key": ""}
    line = {"at": "2026-04-01T07:03", "seq": 1, "kind": "request", "conversation_id": None, "data": asked}
    header = {"type": "commands", "version": 1, "until": "2026-04-01T07:10"}
    file = tmp_path / "commands.jsonl"
    file.write_text("\n".join(map(json.dumps, (header, line))), encoding="utf-8")
    with pytest.raises(ReplayDiffers) as nobody:
        asyncio.run(replay(settings, "main", file, models=models))
    assert "Command 1 could not be done again" in nobody.value.sentence("en")
    assert "コマンド 1 を同じように再現できません" in nobody.value.sentence("ja")
    with pytest.raises(WorldHasLived):
        asyncio.run(replay(settings, "main", file, models=models))
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(BadLine):
        asyncio.run(replay(settings, "other", file, models=models))


SCENE = {
    "sceneId": "S001",
    "location": "A barn without a door",
    "time": "After the harvest",
    "situation": "They sit in the straw.",
    "participants": [{"id": "sora", "goal": "Hear of the loaves"}, "baker", {"id": "umi", "spot": "on the ladder"}],
    "modulator": "place",
    "turnPolicy": "addressed",
    "maxTurns": 12,
    "interventions": [
        {"id": "rain", "when": {"turn": 1}, "do": {"sceneSituationUpdate": "It rains through the roof."}},
        {"id": "rin", "when": {"turn": 2}, "do": {"addPerson": "rin"}},
        {"id": "told", "when": {"turn": 3}, "do": {"revelation": {"person": "rin", "content": "The roof will fall."}}},
        {"id": "kept", "when": {"turn": 3}, "do": {"longTermUpdateRequest": "baker"}},
        {"id": "umi", "when": {"turn": 4}, "do": {"removePerson": "umi"}},
    ],
}


def test_scenes_are_replayed_too_with_what_a_writer_did_to_them(tmp_path: Path) -> None:
    lived, again = (settings_of(tmp_path / name, llm={"provider": "rehearsal"}) for name in ("lived", "again"))

    def told(settings: Settings) -> list[dict[str, Any]]:
        """What is known of each scene, without what it cost and what stood still."""
        with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
            ids = [one["id"] for one in client.get("/scenes").json()["items"]]
            scenes = [client.get(f"/scenes/{one}").json() for one in ids]
            people = [client.get(f"/people/{one}/memories").json() for one in ("sora", "baker", "umi", "rin")]
        return [{name: one[name] for name in one.keys() - {"cost", "state"}} for one in scenes] + people

    with TestClient(create_app(lived), base_url="http://127.0.0.1") as client:

        def ask(path: str, **body: Any) -> Any:
            answer = client.post(path, json=body)
            assert answer.is_success, answer.text
            return answer.json()

        ask("/scenes", scene=SCENE)
        ask("/scenes/S001/turns?wait=true", count=4)
        ask("/scenes/S001/interventions", kind="add_event", text="A beam cracks.")
        ask("/scenes/S001/turns?wait=true", count=1)
        ask("/scenes/S001/end?wait=true")
        ask("/scenes/S001/rewind", turn=4)
        ask("/scenes/S001/interventions", kind="long_term_update_request", person_id="sora")
        ask("/scenes/S001/turns?wait=true", count=1)
        ask("/scenes/S001/end?wait=true")
        proposals = client.get("/scenes/S001/proposals").json()
        for one, state in zip(proposals, ("accepted", "refused", "accepted"), strict=False):
            ask(f"/scenes/S001/proposals/{one['id']}", state=state)
        ask("/world/tick", ticks=2)
        ask("/scenes", scene={**SCENE, "sceneId": "S002", "previousScene": "S001", "modulator": "all"})
        ask("/scenes/S002/turns?wait=true", count=3)
        ask("/scenes/S002/end?wait=true")
        log = client.get("/world/commands").content
    kinds = [json.loads(line).get("kind") for line in log.splitlines()]
    assert {"started", "intervened", "joined", "left", "proposed", "judged", "answered", "closed"} <= {*kinds}
    (tmp_path / "commands.jsonl").write_bytes(log)
    asyncio.run(replay(again, "main", tmp_path / "commands.jsonl"))
    assert told(again) == told(lived)
    assert _story(again, tmp_path / "again.jsonl") == _story(lived, tmp_path / "lived.jsonl")
