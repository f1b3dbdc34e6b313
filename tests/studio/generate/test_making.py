"""Holds the making of data sets: what is made once is not made again, what cannot be used is counted, and a model that
is away stops it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from service.content.load import Content
from service.errors import ModelBroken, ModelUnreachable
from service.llm.choose import ROLES, Models
from studio.generate.dataset import GenerationStopped
from studio.generate.making import make_dataset
from tests.scripted_model import Scripted, ScriptedModel
from tests.servers.fake_openai import FakeOpenAI, Reply
from tests.studio.generate.plans import order_of, plan_of, settings_of

AWAY = ModelUnreachable(model="scripted", base_url="http://localhost", reason="refused")
BROKEN = ModelBroken(model="scripted", reason="no object")
VERSES: list[Scripted] = [
    {"text": "The bell rang under the water, and nobody had heard it for years."},
    BROKEN,
    {"text": "The bell rang under the water, and nobody had heard it for years!"},
    {"text": "A letter came with the ferry this morning."},
]


def made(directory: Path, content: Content, *answers: Scripted, **more: Any) -> ScriptedModel:
    """A run of four items under that script."""
    script = ScriptedModel(*answers)
    models = Models(dict.fromkeys(ROLES, script))
    assert make_dataset(settings_of(directory), plan_of(content, 4), order_of(directory, **more), models=models)
    assert script.unused == 0
    return script


def card(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "out.card.json").read_text("utf-8"))
    return {name: value for name, value in found.items() if name != "made_at"}


def test_a_run_that_stops_goes_on_where_it_was_and_ends_as_one_that_does_not(tmp_path: Path, village: Content) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    made(whole, village, *VERSES)
    for answers in (VERSES[:1], VERSES[1:3]):
        with pytest.raises(GenerationStopped, match="refused"):
            made(parts, village, *answers, AWAY)
    made(parts, village, *VERSES[3:])
    made(parts, village)
    for name in ("out.jsonl", "out.dropped.jsonl"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()
    assert card(parts) == card(whole)
    lines = [json.loads(line) for line in (whole / "out.jsonl").read_bytes().splitlines()]
    assert [line["text"][:8] for line in lines] == ["The bell", "A letter"]
    assert card(whole)["items"] == {"asked": 4, "kept": 2, "dropped": {"near_duplicate": 1, "model_failure": 1}}


def test_a_recorded_data_set_is_made_again_without_a_model(tmp_path: Path, village: Content) -> None:
    answers = iter(
        ["A letter came.", "The bell rang under water.", "Two boats are late today.", "Fog, said the pilot."]
    )

    def verse(body: dict[str, Any]) -> str:
        return json.dumps({"text": next(answers)})

    told = []
    for name, mode in (("recorded", "record"), ("replayed", "replay")):
        (tmp_path / name).mkdir()
        taped = {"cassette": tmp_path / "cassette", "cassette_mode": mode, "max_concurrency": 4}
        with FakeOpenAI(*(Reply(latency_seconds=0.03 * (4 - n)) for n in range(4)), answer=verse) as server:
            llm = taped if mode == "replay" else {**taped, "base_url": server.base_url, "model": "m"}
            assert make_dataset(settings_of(tmp_path / name, **llm), plan_of(village, 4), order_of(tmp_path / name))
            assert len(server.requests) == (4 if mode == "record" else 0)
        told.append((tmp_path / name / "out.jsonl").read_bytes())
    assert told[0] == told[1]
    assert told[0].count(b"\n") == 4


def test_the_card_says_what_it_is_and_counts_every_call(
    tmp_path: Path, village: Content, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, village, *VERSES, licence="CC-BY-4.0")
    found = card(tmp_path)
    assert (found["licence"], found["seed"], found["rehearsal"]) == ("CC-BY-4.0", 7, False)
    assert found["models"] == {role: ["scripted"] for role in ROLES}
    assert (found["total"]["calls"], found["total"]["failures"]) == (4, 1)
    assert found["spent"] == {"speaker": found["total"]}
    assert found["total_dropped"]["calls"] == 2
    assert found["money"] is None
    assert found["counts"] == {"turns": 4}
    page = (tmp_path / "out.card.md").read_text("utf-8")
    assert "| licence | CC-BY-4.0 |" in page
    assert "| nearly another dialogue | 1 |" in page
    told = capsys.readouterr().out
    assert "4 of 4  100%" in told
    assert "calls 4" in told
    assert "| dialogues kept | 2 |" in told
