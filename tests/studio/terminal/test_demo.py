"""Owns the tests of the demonstration: its recording fits what the service asks, the second meeting uses the first, and
it shows what is remembered.
"""

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.content.files import bundled_content, small_content
from service.llm.chat import Message, Prompt
from service.llm.choose import LocalServer, find_local_servers
from service.locales import Language, sentence
from service.memory.closing.verify import Verdicts
from service.memory.lexical import tokens
from service.settings import Settings
from studio.terminal import demo, recording
from studio.terminal.demo import run_demo
from studio.terminal.recording import Recording
from tests.api.play import settings_for, write_village
from tests.end_to_end.test_kill import speak_by_script
from tests.servers.fake_openai import FakeOpenAI, failing

REMEMBERED: dict[Language, str] = {"en": r"^  remembered  (.+) \(turn \d+\)$", "ja": r"^  記憶     (.+).発言 \d+.$"}
MEETING: dict[Language, str] = {"en": r"— Meeting {n}, .+ —", "ja": r"— {n}度目の会話 .+ —"}


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the eye of a reader."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(demo, "PACE_SECONDS", 0.0)


def recorded(language: Language) -> dict[str, dict[str, Any]]:
    """The answers of the recording."""
    file = Path(recording.__file__).with_name(f"recording.{language}.yaml")
    answers: dict[str, dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))["answers"]
    return answers


@pytest.mark.parametrize("language", ["en", "ja"])
def test_without_a_model_the_recording_plays_to_its_end_and_all_of_it_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, language: Language
) -> None:
    @contextmanager
    def kept(settings: Settings) -> Iterator[Settings]:
        yield settings.changed(data_dir=tmp_path)

    monkeypatch.setattr(demo, "thrown_away", kept)
    settings = settings_for(tmp_path, bundled_content(), language=language, memory={"verify": True})
    run_demo(settings, language, character_id=None, npc_id=None)
    told = capsys.readouterr().out
    assert sentence(language, "demo.recording") in told
    assert sentence(language, "demo.astray", question="\0").partition("\0")[0] not in told
    answers = recorded(language)
    talks = [answers["talk 1"], answers["talk 2"]]
    place = 0
    for text in (answer["utterance"] for talk in talks for key, answer in talk.items() if key.startswith("turn")):
        place = told.index(text, place)
    for insight in answers["aoi"]["reflection"]["insights"]:
        place = told.index(insight["text"], place)
    assert answers["npc_harue"]["write"]["text"] in told[place:]

    with sqlite3.connect(next(tmp_path.glob("*.db"))) as rows:
        assert not rows.execute("SELECT data FROM events WHERE kind = 'fact_rejected'").fetchall()
        remembered = {text for (text,) in rows.execute("SELECT text FROM memories")}
        supports = {support for (support,) in rows.execute("SELECT support FROM summaries")}
        promised = {what for (what,) in rows.execute("SELECT what FROM commitments")}
    for closing in (talk["closing"] for talk in talks):
        assert {memory["text"] for memory in closing["memories"]} <= remembered
        assert {promise["what"] for promise in closing["promises"]} <= promised
    assert supports == {"verified"}


def test_where_the_recording_has_no_such_answer_the_rehearsal_speaks_from_there_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Prompt(
        name="verify",
        role="verify",
        language="en",
        messages=(Message(role="user", content="Is it so?"),),
        answer=Verdicts,
        thread="main/a1b2c3",
    )

    class OfTwoTalks(Recording):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            asyncio.run(self.complete(asked))  # of another talk, so that the demonstration's second is the third
            assert not self.astray

    monkeypatch.setattr(demo, "Recording", OfTwoTalks)
    run_demo(settings_for(tmp_path, bundled_content()), "en", character_id=None, npc_id=None)
    told = capsys.readouterr().out
    assert sentence("en", "demo.astray", question="talk 3, turn 1") in told
    assert "met twice" in told


@pytest.mark.parametrize("language", ["en", "ja"])
def test_in_a_rehearsal_the_second_meeting_uses_the_first_and_the_memory_has_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: Language
) -> None:
    settings = settings_for(
        tmp_path,
        bundled_content(),
        language=language,
        data_dir=tmp_path / "none",
        llm={"provider": "rehearsal"},
    )
    run_demo(settings, language, character_id=None, npc_id=None)
    told = capsys.readouterr().out
    assert {"en": "Rehearsal: no language model speaks here", "ja": "稽古"}[language] in told
    first, second = (re.search(MEETING[language].replace("{n}", str(n)), told) for n in (1, 2))
    assert first
    assert second
    first_talk, rest = told[first.end() : second.start()], told[second.end() :]
    asked = re.search(
        {"en": "— What does .+ remember about .+ —", "ja": "— .+は.+について何を覚えているか —"}[language], rest
    )
    assert asked
    second_talk, answer = rest[: asked.start()], rest[asked.end() :]
    remembered = re.findall(REMEMBERED[language], first_talk, re.M)
    assert remembered, first_talk
    opening = second_talk.strip().splitlines()[0]
    assert any(len(shared_words(opening, fact)) >= 3 for fact in remembered), (opening, remembered)
    assert any(fact in answer for fact in remembered)
    assert {"en": "met twice", "ja": "会話 2 回"}[language] in answer
    assert {"en": "yesterday", "ja": "昨日"}[language] in answer
    assert not (tmp_path / "none").exists()


def shared_words(one: str, other: str) -> set[str]:
    """Words (of Japanese: pairs of letters) that both texts hold, short ones left out."""
    return {word for word in set(tokens(one)) & set(tokens(other)) if not word.isascii() or len(word) > 3}


def test_with_a_base_url_the_demo_speaks_through_that_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def speak(body: dict[str, Any]) -> str:
        fields = body["response_format"]["json_schema"]["schema"]["properties"]
        alone: dict[str, Any] = {"text": "Rye again.", "insights": []}
        asked = {field: alone[field] for field in alone if field in fields}
        return json.dumps(asked) if asked else speak_by_script(body)

    with FakeOpenAI(answer=speak) as model:
        settings = settings_for(
            tmp_path, write_village(tmp_path / "game"), llm={"base_url": model.base_url, "model": "fake-model"}
        )
        run_demo(settings, "en", character_id="sora", npc_id="baker")
        asked = len(model.requests)
    told = capsys.readouterr().out
    assert "Speaking: openai:fake-model" in told
    assert "Rehearsal" not in told
    assert told.count("Hanna: My sister Lotte left for the harbour town.") == 2
    assert asked == 12  # two talks of five, a reflection, and a line in passing
    assert "as Sora comes by: Rye again." in told
    assert "met twice" in told


def test_a_server_found_on_this_machine_is_offered_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeOpenAI(models=("llama3.2",)) as ollama:
        offers = asyncio.run(find_local_servers({"Ollama": ollama.port, "LM Studio": 1}))
    assert offers == [LocalServer(name="Ollama", base_url=ollama.base_url, models=("llama3.2",))]
    run_demo(
        settings_for(tmp_path, write_village(tmp_path / "game")),
        "en",
        character_id="sora",
        npc_id="baker",
        offers=offers,
    )
    told = capsys.readouterr().out
    assert f"Found on this machine: Ollama. To use it: KATARIBE_LLM__BASE_URL={ollama.base_url} make demo" in told
    assert "Rehearsal" in told


def test_who_is_not_in_the_game_is_told_in_the_language_of_the_demo(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, write_village(tmp_path / "game"), language="ja")
    with pytest.raises(SystemExit, match="見つかりません"):
        run_demo(settings, "ja", character_id="nobody", npc_id=None)


def test_a_game_without_characters_or_npcs_is_told_what_the_demo_lacks(tmp_path: Path) -> None:
    stage = tmp_path / "game"
    shutil.copytree(small_content("en"), stage)
    settings = settings_for(tmp_path, stage)
    maps = json.loads((stage / "maps.json").read_text(encoding="utf-8"))
    maps["maps"][0]["npcs"] = []
    (stage / "maps.json").write_text(json.dumps(maps), encoding="utf-8")
    shutil.rmtree(stage / "npcs")
    shutil.rmtree(stage / "scenes")
    with pytest.raises(SystemExit, match="no NPC can be reached"):
        run_demo(settings, "en", character_id=None, npc_id=None)
    shutil.rmtree(stage / "characters")
    with pytest.raises(SystemExit, match="the game has no characters"):
        run_demo(settings, "en", character_id=None, npc_id=None)


def test_a_demo_whose_model_fails_ends_there_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeOpenAI(refuses=lambda body: failing(401, "no such key")) as model:
        settings = settings_for(
            tmp_path, write_village(tmp_path / "game"), llm={"base_url": model.base_url, "model": "fake-model"}
        )
        with pytest.raises(SystemExit, match=r"The model failed: .*KATARIBE_LLM__API_KEY"):
            run_demo(settings, "en", character_id="sora", npc_id="baker")
    told = capsys.readouterr().out
    assert "Meeting 1" in told
    assert "Meeting 2" not in told
