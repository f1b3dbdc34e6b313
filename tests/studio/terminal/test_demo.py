"""Owns the tests of the demonstration: it shows that the second meeting uses the first, and what is remembered."""

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from service.content.files import bundled_content, small_content
from service.llm.choose import LocalServer, find_local_servers
from service.locales import Language
from service.memory.lexical import tokens
from studio.terminal import demo
from studio.terminal.demo import run_demo
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


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_second_meeting_uses_the_first_and_the_memory_has_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: Language
) -> None:
    settings = settings_for(tmp_path, bundled_content(), language=language, data_dir=tmp_path / "none")
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
    with FakeOpenAI(answer=speak_by_script) as model:
        settings = settings_for(
            tmp_path, write_village(tmp_path / "game"), llm={"base_url": model.base_url, "model": "fake-model"}
        )
        run_demo(settings, "en", character_id="sora", npc_id="baker")
        asked = len(model.requests)
    told = capsys.readouterr().out
    assert "Speaking: openai:fake-model" in told
    assert "Rehearsal" not in told
    assert told.count("Hanna: My sister Lotte left for the harbour town.") == 2
    assert asked == 10
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
