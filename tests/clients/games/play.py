"""Owns how game clients play the scenario (README.md): against one service, each in a world of its own, at the same
time. The service is killed when all of them are in the middle of being spoken to.
"""

import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx

from tests.content.village import Village
from tests.end_to_end.process import Service
from tests.memory.answers import plain
from tests.servers.fake_openai import FakeOpenAI, Reply

Entry = dict[str, Any]

SCENARIO = Path(__file__).parent / "scenario.json"
PLAYS_SECONDS = 300
_ELSE = "Good day to you."


class Client(Protocol):
    """A game with a client of Kataribe."""

    @property
    def name(self) -> str:
        """Nobody else's."""
        ...

    @property
    def world(self) -> str:
        """In which its player is."""
        ...

    def start(self, scenario: Path, url: str, directory: Path) -> "subprocess.Popen[bytes]":
        """It plays in a process of its own, and writes into the directory; what it says goes to `log` there."""
        ...


@dataclass(frozen=True, kw_only=True)
class Played:
    """What a client has written, and what the service tells of it in the end."""

    directory: Path
    events: Sequence[Entry]
    steps: Sequence[Entry]
    told: Sequence[Entry]
    memories: Sequence[str]

    @property
    def committed(self) -> list[Any]:
        """Its events with other names for what is new in each run, as other clients have them too."""
        events: list[Any] = same_for_all(in_other_names(self.events))
        return events

    def of(self, kind: str) -> list[Entry]:
        """What the events of that kind tell."""
        return [event["data"] for event in self.events if event["kind"] == kind]


def steps() -> list[Entry]:
    """Those of the scenario."""
    found: list[Entry] = json.loads(SCENARIO.read_text(encoding="utf-8"))["steps"]
    return found


def lines(file: Path) -> list[Entry]:
    """What stands in a file of JSON, line by line; of one that is being written, all whole lines."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def same_for_all(value: Any) -> Any:
    """Without what engines write in their own ways: null is left out, and so is what is empty."""
    if isinstance(value, Mapping):
        kept = {name: same_for_all(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if inner not in (None, {}, [])}
    return [same_for_all(inner) for inner in value] if isinstance(value, list) else value


def in_other_names(events: Sequence[Entry]) -> list[Entry]:
    """The events, where ids of conversations, calls and messages are numbered in their order, and no machine's time
    stands.
    """
    text = json.dumps([without_deadline(event) for event in events])
    ids = re.findall(r'"(?:conversation_id|call_id|message_id)": "([^"]+)"', text)
    for number, one in enumerate(dict.fromkeys(ids)):
        text = text.replace(one, f"id-{number}")
    found: list[Entry] = json.loads(text)
    return found


def without_deadline(event: Entry) -> Entry:
    """When an answer must come at the latest, is another moment in every run."""
    return {**event, "data": {name: value for name, value in event["data"].items() if name != "deadline"}}


class Author:
    """What the language model writes: as the scenario says."""

    def __init__(self) -> None:
        self._by_words = {step["text"]: step for step in steps() if step["do"] == "say" and "refused" not in step}
        self.is_slow = True

    def reply(self, body: Entry) -> Reply:
        """The whole answer; where the scenario wants it slow, and for as long as `is_slow`, it stops before its
        end: however long the others take to come as far, it is not whole before the service is killed.
        """
        closes = {"ClosingAnswer": plain("They talked at the counter."), "Verdicts": {"verdicts": []}}
        if (asked := body["response_format"]["json_schema"]["name"]) in closes:
            return Reply(content=json.dumps(closes[asked]))
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        heard = str(body["messages"][-1]["content"]).rpartition("</context>")[2]
        step = next((self._by_words[line] for line in heard.splitlines() if line in self._by_words), {})
        said = json.dumps(_turn(step, prompt))
        if not (step.get("slow") and self.is_slow):
            return Reply(content=said, piece=40)
        return Reply(content=said, piece=40, pause_seconds=1, hangs=True, hangs_after=len(said) - 40)


def _turn(step: Entry, prompt: str) -> Entry:
    answer: Entry = dict(step.get("answer", {"utterance": _ELSE}))
    if "recalls" in step:
        found = re.findall(rf"{re.escape(step['recalls'])}[^.\n]*\.", prompt)
        answer["utterance"] = found[-1] if found else "I have seen nothing."
    return {"emotion": "neutral", "wants_to_end": False, **answer}


def village() -> Village:
    """Millbrook, where the baker can do three things."""
    made = Village.with_actions()
    give = {**made.game_actions[0], "cooldownMinutes": 0}
    others = [
        {"id": "open_oven", "description": {"en": "open the oven", "ja": "窯を開ける"}, "who": ["baker"]},
        {"id": "ring_bell", "description": {"en": "ring the bell", "ja": "鐘を鳴らす"}, "who": ["baker"]},
    ]
    made.game_actions[:] = [give, *others]
    return made


def play(directory: Path, clients: Sequence[Client]) -> dict[str, Played]:
    """Let all of them play at once; their runs, by their names."""
    author = Author()
    with FakeOpenAI(refuses=author.reply) as model:
        settings = {
            "KATARIBE_LLM__BASE_URL": model.base_url,
            "KATARIBE_LLM__MODEL": "fake-model",
            "KATARIBE_LLM__TIMEOUT_SECONDS": str(2 * PLAYS_SECONDS),
            "KATARIBE_WORLD__LANGUAGE": "en",
            "KATARIBE_WORLD__DECISION": "routine",
            "KATARIBE_WORLD__ACTION_SECONDS": "1",
        }
        content = village().write(directory / "content")
        with Service(directory, content, settings) as first, ExitStack() as plays:
            until = time.monotonic() + PLAYS_SECONDS
            runs = [plays.enter_context(Run(client, f"http://127.0.0.1:{first.port}", directory)) for client in clients]
            for run in runs:
                run.wait(lambda run: any(step["do"] == "killed" for step in run.steps), until)
            first.kill()
            author.is_slow = False
            with Service(directory, content, settings, port=first.port) as second:
                for run in runs:
                    run.wait(lambda run: run.process.poll() == 0, until)
                return {run.name: run.played(second.client) for run in runs}


class Run:
    """A client that plays; a context manager, after which it is gone."""

    def __init__(self, client: Client, url: str, directory: Path) -> None:
        self.name = client.name
        self._world = client.world
        self._directory = directory / client.name
        self._directory.mkdir()
        self.process = client.start(SCENARIO, url, self._directory)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)

    @property
    def steps(self) -> list[Entry]:
        """Those that are done."""
        return lines(self._directory / "steps.jsonl")

    def wait(self, done: Callable[["Run"], bool], until: float) -> None:
        """Return when it has come so far. Raises: AssertionError: it has ended before, or takes too long."""
        while not done(self):
            assert self.process.poll() in (None, 0), self._log
            assert time.monotonic() < until, self._log
            time.sleep(0.05)

    def played(self, client: httpx.Client) -> Played:
        """What has come of it."""
        player = json.loads(SCENARIO.read_text(encoding="utf-8"))["player"]["id"]
        client.headers["X-World-Id"] = self._world
        told = client.get(f"/people/{player}/updates?wait=0").json()["items"]
        memories = client.get("/people/baker/memories").json()["items"]
        return Played(
            directory=self._directory,
            events=lines(self._directory / "events.jsonl"),
            steps=self.steps,
            told=[event for event in told if event["seq"] is not None],
            memories=[one["text"] for one in memories],
        )

    @property
    def _log(self) -> str:
        return (self._directory / "log").read_text(encoding="utf-8", errors="replace")
