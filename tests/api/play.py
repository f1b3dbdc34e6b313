"""Owns what the tests of the HTTP surface play with: a small village, a script, and clients of a running service."""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.api.server import Server
from service.llm.chat import Role
from service.locales import Language
from service.settings import Settings
from tests.content.village import Village
from tests.memory.answers import memory, plain
from tests.scripted_model import ScriptedModel
from tests.servers.sqlite import put_migrated

Http = httpx.Client | TestClient
"""A client of the service, over the network or in process."""


class Answered(Protocol):
    """A response of either."""

    @property
    def status_code(self) -> int: ...

    @property
    def text(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def json(self) -> Any: ...


TESTSERVER = "testserver"
"""The name by which a TestClient calls the service."""

PROBLEM = "application/problem+json"

TALK = {"character_id": "sora", "npc_id": "baker", "goal": "Ask after her sister", "success_criteria": "Any news"}

LINES: Mapping[Language, tuple[str, str, str, str]] = {
    "en": (
        "Good morning, Hanna. What do you hear from your sister?",
        "My sister Lotte left for the harbour town. I miss her at the oven.",
        "Thank you. Tomorrow I shall bring you a letter for Lotte to sign.",
        "Come back early, then; the rye is gone by nine.",
    ),
    "ja": (
        "おはようございます、ハンナさん。妹さんはお元気ですか。",
        "妹のロッテは港町へ引っ越したよ。窯の前が寂しくてね。",
        "ありがとうございます。明日、ロッテさんへの手紙を持ってきます。",
        "朝早くおいで。黒パンは九時には売り切れるよ。",
    ),
}


def write_village(directory: Path) -> Path:
    """Millbrook, with Sora and Umi beside the baker, and Rin a minute away; the hermit lives a forest away."""
    village = Village()
    for number, (person, name, home) in enumerate(
        (("sora", "Sora", "door"), ("umi", "Umi", "door"), ("rin", "Rin", "yard"))
    ):
        profile = {
            **village.sora,
            "id": person,
            "name": {"en": name, "ja": "ソラウミリン"[2 * number :][:2]},
            "home": home,
        }
        village.people[f"characters/{person}.yaml"] = profile
    return village.write(directory)


def settings_for(directory: Path, content: Path, *, language: Language = "en", **more: Any) -> Settings:
    """Settings of a service of its own in that directory, whose database is migrated; nothing is verified."""
    if not (directory / "data").exists():
        put_migrated(directory / "data" / "kataribe.db")
    values: dict[str, Any] = {
        "data_dir": directory / "data",
        "allowed_hosts": [TESTSERVER],
        "content_dir": content,
        "embedding": {"provider": "none"},
        "world": {"language": language, "decision": "routine"},
        **more,
        "memory": {"verify": False, **more.get("memory", {})},
    }
    return Settings(_env_file=None, **values)


def turn(text: str, *, achieved: bool = False, ends: bool = False) -> dict[str, Any]:
    """A character's answer."""
    return {"utterance": text, "emotion": "neutral", "wants_to_end": ends, "goal_achieved": achieved}


def reply(text: str, *, ends: bool = False) -> dict[str, Any]:
    """An NPC's answer."""
    return {"utterance": text, "emotion": "happy", "wants_to_end": ends}


def recollection(
    summary: str = "They talked.",
    *,
    affinity: int = 0,
    learned: Sequence[Mapping[str, Any]] = (),
    memories: Sequence[Mapping[str, Any]] = (),
    intimacy: int = 0,
    topics: tuple[str, ...] = (),
    mood: str = "neutral",
) -> dict[str, Any]:
    """What the closing model answers: the character, who began, then the NPC, which `learned` something."""
    first = {"memories": memories, "intimacy": intimacy}
    second = {"affinity": affinity, "mood": mood, "memories": learned}
    return plain(summary, topics=topics, first=first, second=second)


SISTER_TOLD = "Hanna's sister Lotte left for the harbour town."
RYE_TOLD = "The rye in the bakery is gone by nine."
MISSED, EARLY = "Hanna misses Lotte.", "Sora is to come back early."
"""What Sora takes away of the talk of the sister: the last two for some days."""

SISTER: Mapping[Language, dict[str, Any]] = {
    "en": recollection(
        "Sora asked after Lotte, who has left for the harbour town.",
        affinity=8,
        learned=[memory(SISTER_TOLD, 1, about="Lotte")],
        memories=[
            memory(SISTER_TOLD, 1, about="Lotte"),
            memory(RYE_TOLD, 3, about="rye"),
            memory(MISSED, 1, about="b", lasts="high"),
            memory(EARLY, 3, about="a", lasts="low"),
        ],
        intimacy=2,
        topics=("sister", "rye"),
        mood="happy",
    ),
    "ja": recollection(
        "ソラは妹のロッテのことを尋ね、港町へ引っ越したと聞いた。",
        affinity=8,
        learned=[memory("ハンナの妹ロッテは港町へ引っ越した。", 1, about="ロッテ")],
        memories=[
            memory("ハンナの妹ロッテは港町へ引っ越した。", 1, about="ロッテ"),
            memory("黒パンは九時には売り切れる。", 3, about="黒パン"),
            memory("ハンナは妹がいなくて寂しい。", 1, about="b", lasts="high"),
        ],
        intimacy=2,
        topics=("妹",),
        mood="happy",
    ),
}


def script_sister(script: ScriptedModel, language: Language = "en") -> None:
    """Enqueue the whole talk about the sister: four turns, the goal achieved in the third, and its closing."""
    first, second, third, fourth = LINES[language]
    say(script, "character", turn(first), turn(third, achieved=True, ends=True))
    say(script, "npc", reply(second), reply(fourth))
    say(script, "closing", SISTER[language])


def script_short(script: ScriptedModel, text: str = "Good day to you") -> None:
    """Enqueue a talk of one turn, and its closing."""
    say(script, "character", turn(text, ends=True))
    say(script, "npc", reply("Bye."))
    say(script, "closing", recollection(text))


def say(script: ScriptedModel, role: Role, *answers: Mapping[str, Any]) -> None:
    """Enqueue answers of one role."""
    script.enqueue(*answers, role=role)


def talk(client: Http, *, world: str = "main", **body: Any) -> dict[str, Any]:
    """Hold a conversation to its end."""
    answer = client.post("/conversations/start?wait=true", json={**TALK, **body}, headers={"X-World-Id": world})
    assert answer.status_code == 200, answer.text
    held: dict[str, Any] = answer.json()
    return held


def problem(answer: Answered, status: int, slug: str | None = None) -> dict[str, Any]:
    """The problem an answer must be."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    told: dict[str, Any] = answer.json()
    assert told["status"] == status
    assert told["detail"]
    if slug is not None:
        assert told["type"] == f"urn:kataribe:problem:{slug}"
    return told


def until(client: Http, conversation_id: str, *phases: str, seconds: float = 20) -> dict[str, Any]:
    """The conversation as soon as it is in one of the phases."""
    deadline = time.monotonic() + seconds
    while True:
        told: dict[str, Any] = client.get(f"/conversations/{conversation_id}").json()
        if told["phase"] in phases:
            return told
        assert time.monotonic() < deadline, f"still {told['phase']}: {told}"
        time.sleep(0.03)


@contextmanager
def serve(app: FastAPI) -> Iterator[str]:
    """The app on a real server in a thread, on a free port of loopback."""
    server = Server(app)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive(), "the service did not stop"


@dataclass(frozen=True, kw_only=True)
class Heard:
    """One server-sent event."""

    event: str
    id: str | None
    data: dict[str, Any]


def listen(client: httpx.Client, conversation_id: str, after: int | None = None) -> Iterator[Heard]:
    """The events of a conversation until the service closes the stream."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with client.stream("GET", f"/conversations/{conversation_id}/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(":")
            if line and name:
                fields[name] = value.removeprefix(" ")
            elif not line and "data" in fields:
                yield Heard(event=fields["event"], id=fields.get("id"), data=json.loads(fields["data"]))
                fields = {}
