"""Holds `kataribe generate sessions` to what a dialogue is made of, honest counts, and no line twice."""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.dialogues import generated, recall_of
from service.conversation.prompt import PromptContext
from service.errors import ModelBroken, ModelError, ModelUnreachable
from service.llm.chat import Prompt
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.settings import Settings
from service.upkeep import import_memory
from studio.generate.dataset import GenerationStopped, PlanRefused
from studio.generate.making import Order, make_dataset
from studio.generate.sessions.plan import sessions_plan
from studio.generate.sessions.questions import EvidenceContext, TalkContext
from tests.end_to_end.process import start
from tests.memory.answers import memory, plain
from tests.scripted_model import ScriptedModel

TWO = """
dialogues: 1
language: en
people:
  - {id: mei, name: Mei, personality: A potter., facts: [sells bowls]}
  - {id: ren, name: Ren, personality: A boatwright.}
startTime: "2026-04-01"
months: 2
sessions: 2
events: 2
maxTurns: 4
questions: 1
"""
CAST = "dialogues: {count}\nlanguage: {language}\ncast: [aoi, kohei, sayo]\nmonths: 2\nsessions: 2\nevents: 6\n"


def written(directory: Path, text: str) -> Path:
    directory.mkdir(exist_ok=True)
    file = directory / "sessions.yaml"
    file.write_text(text, "utf-8")
    return file


def settings_of(**llm: Any) -> Settings:
    return Settings(_env_file=None, embedding={"provider": "none"}, llm=llm)


def make(file: Path, models: Models | None = None, **llm: Any) -> list[dict[str, Any]]:
    """What is made of it, beside it."""
    settings, output = settings_of(**llm), file.with_name("out.jsonl")
    plan = sessions_plan(file, settings)
    assert make_dataset(settings, plan, Order(file=output, plain=True, language="en"), models=models)
    return [json.loads(line) for line in output.read_bytes().splitlines()]


class Storyteller:
    """A model that gives one of the two something to tell in each session."""

    def __init__(self) -> None:
        self.asked: list[Prompt[Any]] = []

    def __call__(self, prompt: Prompt[Any]) -> Any:
        self.asked.append(prompt)
        return prompt.answer.model_validate(getattr(self, prompt.name)(prompt.given))

    def event_graph(self, given: Any) -> dict[str, Any]:
        lost = given.person.name == "Mei"
        first = "lost the key to the kiln" if lost else "sold a red boat to Osaka"
        then = "painted nine fans with Hana" if lost else "bought a saw in Kobe"
        when = ("2026-04-10", "2026-05-12") if given.faults or not lost else ("2026-05-12", "2026-04-10")
        return {
            "events": [
                {"date": when[0], "event": first, "caused_by": []},
                {"date": when[1], "event": then, "caused_by": [1]},
            ]
        }

    def speaker(self, given: PromptContext) -> dict[str, Any]:
        last = len(given.lines) >= 3
        new = given.speaker.facts[-1]
        told = f"Well, I {new}." if len(given.lines) < 2 else f"So much for {given.partner_name} and for me, goodbye."
        more = {"goal_achieved": False} if given.begins else {}
        return {"utterance": told, "emotion": "neutral", "wants_to_end": last, **more}

    def closing(self, given: Any) -> Any:
        a, b = given.participants
        heard = [memory(f"{b.name} has news", 1, about=b.ref, teller=b.ref)]
        return plain(f"{a.name} and {b.name} told each other their news.", first={"memories": heard})

    def verify(self, given: Any) -> Any:
        return {"verdicts": [{"n": one.number, "finding": "supported"} for one in given.claims]}

    def questions(self, given: TalkContext) -> dict[str, Any]:
        turn = next(t.id for one in given.sessions for t in one.turns if t.speaker == "Mei" and "kiln" in t.text)
        event = given.events["Mei"][0].id
        asked = {"category": "temporal", "question": "When did Mei lose the key?", "answer": "long ago"}
        return {"questions": [{**asked, "evidence": [turn], "event": event}]}

    def evidence(self, given: EvidenceContext) -> dict[str, Any]:
        return {"borne": list(range(1, len(given.questions) + 1))}


def test_a_dialogue_is_lived_remembered_and_asked_about_and_each_call_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KATARIBE_MEMORY__VERIFY", "true")
    teller = Storyteller()
    script = ScriptedModel(*[teller] * 20)
    (line,) = make(written(tmp_path, TWO), Models(dict.fromkeys(ROLES, script)), max_concurrency=1)
    names = [prompt.name for prompt in teller.asked]
    counted = {name: names.count(name) for name in set(names)}
    assert counted == {
        "event_graph": 3,
        "speaker": 8,
        "closing": 2,
        "verify": 2,
        "questions": 1,
        "evidence": 1,
    }  # one graph was repaired
    assert {name: one["calls"] for name, one in line["meta"]["spent"].items()} == counted
    assert (line["meta"]["calls"], line["meta"]["rehearsal"]) == (17, False)

    spoken = [prompt for prompt in teller.asked if isinstance(prompt.given, PromptContext)]
    given = [prompt.given for prompt in spoken if isinstance(prompt.given, PromptContext)]
    systems = [prompt.messages[0].content for prompt in spoken]
    assert "lost the key to the kiln, " in systems[0]
    assert "painted nine fans" not in systems[0]
    assert given[5].speaker.name == "Mei"
    met = given[5].meetings[-1]
    assert "weeks ago" in met.ago
    assert "painted nine fans with Hana" in systems[5]
    assert "lost the key to the kiln" not in systems[5]

    assert [one["id"] for one in line["personas"]] == ["mei", "ren"]
    assert line["event_graph"]["Mei"][1] == {
        "id": "a2",
        "date": "2026-05-12",
        "event": "painted nine fans with Hana",
        "caused_by": ["a1"],
    }
    first, second = line["sessions"]
    assert first["date"] < second["date"]
    assert [turn["dia_id"] for turn in second["turns"]] == ["D2:1", "D2:2", "D2:3", "D2:4"]
    assert [turn["speaker"] for turn in second["turns"]] == ["Ren", "Mei", "Ren", "Mei"]
    assert met.summary == f"As you recall your talk with Ren: {first['summary']}"
    assert first["summary"] in spoken[5].messages[1].content
    assert {one["dia_id"] for one in first["observations"]} <= {turn["dia_id"] for turn in first["turns"]}
    assert [(one["answer"], one["evidence"], one["checked"]) for one in line["qa"]] == [
        ("10 Apr 2026", ["D1:1"], "event")
    ]


def failing(name: str, error: ModelError) -> ScriptedModel:
    """The storyteller, who cannot answer the second question of that name."""
    teller, asked = Storyteller(), Counter[str]()

    def answer(prompt: Prompt[Any]) -> Any:
        asked[prompt.name] += 1
        if prompt.name == name and asked[name] >= 2:
            raise error
        return teller(prompt)

    return ScriptedModel(*[answer] * 20)


@pytest.mark.parametrize("name", ["event_graph", "speaker", "closing"])
def test_a_model_that_is_away_stops_the_run_and_one_answer_that_is_none_drops_one_dialogue(
    tmp_path: Path, name: str
) -> None:
    file = written(tmp_path, TWO)
    away = failing(name, ModelUnreachable(model="m", base_url="http://localhost", reason="refused"))
    with pytest.raises(GenerationStopped, match="refused"):
        make(file, Models(dict.fromkeys(ROLES, away)))
    assert file.with_name("out.dropped.jsonl").read_bytes() == b""
    broken = failing(name, ModelBroken(model="m", reason="no object"))
    assert make(file, Models(dict.fromkeys(ROLES, broken))) == []
    assert json.loads(file.with_name("out.dropped.jsonl").read_bytes())["reason"] == "model_failure"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_rehearsal_says_so_and_asks_what_its_authors_wrote(tmp_path: Path, language: Language) -> None:
    lines = make(written(tmp_path, CAST.format(count=2, language=language)))
    assert lines
    for line in lines:
        assert line["meta"]["rehearsal"]
        turns = {turn["dia_id"]: turn["text"] for one in line["sessions"] for turn in one["turns"]}
        assert all(set(one["evidence"]) <= turns.keys() for one in line["qa"])
        assert line["qa_refused"] == {}
    assert {one["checked"] for line in lines for one in line["qa"]} == {"model", "event"}


def test_what_is_made_becomes_a_memory_and_is_measured_as_the_docs_say(tmp_path: Path) -> None:
    (line,) = make(written(tmp_path, CAST.format(count=1, language="en") + 'startTime: "2025-10-01"\n'))
    script = (Path(__file__).parents[3] / "docs" / "generate.md").read_text("utf-8").split("```python\n")[1]
    command = [sys.executable, "-c", script.partition("```")[0]]
    told = subprocess.run(command, input=json.dumps(line), capture_output=True, text=True, check=True)
    (tmp_path / "past.jsonl").write_text(told.stdout, "utf-8")
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", embedding={"provider": "none"})
    done = asyncio.run(import_memory(settings, "main", tmp_path / "past.jsonl"))
    assert done.turns == 2 * sum(len(one["turns"]) for one in line["sessions"]) > 0
    (dialogue,) = generated(tmp_path / "out.jsonl")
    assert len(dialogue.questions) == sum(one["answer"] is not None for one in line["qa"]) > 0
    assert recall_of([dialogue])["turn_at_20"] >= 0.9


def test_killed_on_the_way_it_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    file, whole = (written(tmp_path / name, CAST.format(count=5, language="en")) for name in ("killed", "whole"))
    output = file.with_name("out.jsonl")
    command, log = ("generate", "sessions", file, "-o", output), tmp_path / "log"
    process = start(tmp_path, command, {"KATARIBE_LLM__MAX_CONCURRENCY": "1"}, log, log)
    until = time.monotonic() + 60
    while not (output.exists() and b"\n" in output.read_bytes()):
        assert process.is_alive(), log.read_text("utf-8")
        assert time.monotonic() < until
        time.sleep(0.01)
    process.kill()
    process.join(10)
    found = output.read_bytes()
    assert 1 <= found.count(b"\n") < 5
    output.write_bytes(found + found[:500])  # as if it had been killed while it wrote
    lines = make(file)
    assert len(lines) == 5
    assert lines == make(whole)
    for name in ("out.jsonl", "out.dropped.jsonl"):
        assert file.with_name(name).read_bytes() == whole.with_name(name).read_bytes()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("dialogues: 2\ncast: [aoi, koheii]\n", 'sessions.yaml: cast[1]: unknown person "koheii"'),
        ("dialogues: 2\nseson: 3\n", 'sessions.yaml: seson: unknown key "seson"'),
        ("dialogues: 0\n", "sessions.yaml: dialogues: found the number 0; expected 1 or more"),
        ("dialogues: 2\npairs: [[aoi, aoi]]\n", "sessions.yaml: pairs[0]: found"),
        ("dialogues: 2\ncast: [aoi]\n", "one person has nobody to talk with"),
        ("dialogues: 2\ncast: [aoi, aoi]\n", "sessions.yaml: cast[1]: the id"),
        (
            "dialogues: 2\nlanguage: en\npeople: [{id: me, name: Aoi, personality: x}]\ncast: [aoi]\n",
            'two people are called "Aoi"',
        ),
        ("- dialogues\n", "sessions.yaml: found a list; expected a mapping"),
        ("dialogues: [\n", "sessions.yaml: line 2"),
    ],
)
def test_what_is_wrong_with_the_file_is_told_with_its_key(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(PlanRefused) as refused:
        sessions_plan(written(tmp_path, text), settings_of())
    assert wrong in refused.value.sentence("en")
    assert "誤り" in refused.value.sentence("ja")
