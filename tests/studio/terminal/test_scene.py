"""Owns the tests of a scene at the terminal: step by step with all its commands, and so many turns without asking."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from service.errors import FileUnusable, ModelEmpty
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.settings import Settings
from studio.terminal.scene import run_scene, take_scene
from tests.content.classroom import classroom
from tests.conversation.scenes import acts
from tests.scripted_model import ScriptedModel


def typing(*lines: str) -> Callable[[], str]:
    """A writer who types these lines, and then leaves."""
    typed: Iterator[str] = iter(lines)

    def ask() -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    return ask


@pytest.fixture
def played(settings: Settings, tmp_path: Path, script: ScriptedModel) -> Callable[..., None]:
    """Plays a scene of the classroom."""
    settings.content_dir = classroom(tmp_path / "content")
    models = Models(dict.fromkeys(ROLES, script))

    def play(*typed: str, scene: str = "S001", language: Language = "en", **more: Any) -> None:
        asyncio.run(run_scene(settings, scene, "main", language, models=models, ask=typing(*typed), **more))

    return play


def test_a_writer_plays_a_scene_step_by_step(
    played: Callable[..., None], script: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    proposed = {"text": "C has come in.", "importance": 4, "turns": [4]}
    script.enqueue(*(acts(f"Line {number}.", think="Hm.", act="nods") for number in range(4)))
    script.enqueue(acts("C has come in."), {"experiences": [], "goals": [], "memories": [proposed]}, acts("Otherwise."))
    played(
        "",
        ":situation It rains.",
        ":event A bell rings.",
        ":add chara-c at the door",
        ":reveal chara-a You may be simulated.",
        ":next 4",
        ":propose chara-a",
        ":accept 7",
        ":accept 1 C came in.",
        ":save kept",
        ":rewind 3",
        "",
        ":remove chara-x",
        "what?",
        ":rewind nine",
    )
    told = capsys.readouterr().out
    for words in (
        "Scene S001: A classroom at school, After school",
        '1. A\n   thinks: Hm.\n   does: nods\n   "Line 0."',
        "* how things stand now: It rains.",
        "* something happens: A bell rings.",
        "* somebody comes in: C",
        "* revelation to one alone: A You may be simulated.",
        "5. B",
        "1. A, memory (4, proposed): C has come in.",
        "there are 1",
        "From now on: C came in.",
        "Kept as kept.",
        "Back to before turn 3.",
        "Otherwise.",
        "takes no part",
        ":reveal ID TEXT",
        ":rewind nine: write a number there",
    ):
        assert words in told, words


def test_commands_are_typed_with_a_japanese_keyboard_too_and_no_command_is_said_to_be_none(
    played: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    played("：event　鐘が鳴る。", ":reveal　chara-a　夢かもしれない。", ":evnt 鐘が鳴る。", language="ja")
    told = capsys.readouterr().out
    assert "出来事が起こる: 鐘が鳴る。" in told
    assert "夢かもしれない。" in told
    assert ":evnt 鐘が鳴る。: そのようなコマンドはありません。" in told


def test_a_scene_is_played_without_asking_and_its_log_is_written(
    played: Callable[..., None],
    script: ScriptedModel,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    script.enqueue(acts("元気?"), acts("うん。"))
    file = tmp_path / "content" / "scenes" / "S001.yaml"
    played(scene=str(file), language="ja", turns=2, output=tmp_path / "log.json")
    told = capsys.readouterr().out
    assert "「元気?」" in told
    assert "世界 main は English で始まっている" in told
    log = json.loads((tmp_path / "log.json").read_text(encoding="utf-8"))
    assert [turn["talk"] for turn in log["turns"]] == ["元気?", "うん。"]
    asyncio.run(take_scene(settings, "S001", "main", "ja", None, form="script", view="chara-a"))
    assert "**A**: 元気?" in capsys.readouterr().out  # in the world's language
    asyncio.run(take_scene(settings, "S001", "main", "ja", tmp_path / "report.json", form="report"))
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["scene_id"] == "S001"
    with pytest.raises(SystemExit, match="chara-z"):
        asyncio.run(take_scene(settings, "S001", "main", "ja", None, form="script", view="chara-z"))
    with pytest.raises(FileUnusable):
        asyncio.run(take_scene(settings, "S001", "main", "ja", tmp_path, form="script", view="chara-a"))


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_scene_whose_model_fails_stands_with_the_reason_and_its_turn_is_tried_again(
    played: Callable[..., None],
    script: ScriptedModel,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    language: Language,
) -> None:
    settings.world.language = language
    error = ModelEmpty(model="m")
    script.enqueue(error, acts("Hello."))
    played(":next 3", "", ":quit", language=language)
    out = capsys.readouterr().out
    assert out.index(error.sentence(language)) < out.index("Hello.")
    assert script.unused == 0


def test_a_scene_that_cannot_be_begun_says_what_is_wrong_and_where(played: Callable[..., None], tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("location: Here\nsituation: Now\nparticipants: [chara-a, chara-x]\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"wrong\.yaml: participants\[1\]\.id: .*chara-"):
        played(scene=str(file))
    with pytest.raises(FileUnusable):
        played(scene=str(tmp_path / "none.yaml"))
    with pytest.raises(SystemExit, match="S007"):
        played(scene="S007")
