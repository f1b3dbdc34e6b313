"""Owns the test of a survey at the terminal."""

import asyncio
import json
from pathlib import Path

import pytest

from service.llm.choose import ROLES, Models
from service.settings import Settings
from studio.terminal.ask import run_ask
from tests.content.classroom import classroom
from tests.scripted_model import ScriptedModel


def test_a_survey_is_told_and_written(
    settings: Settings, tmp_path: Path, script: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.content_dir = classroom(tmp_path / "content")
    models = Models(dict.fromkeys(ROLES, script))
    script.enqueue(*({"rests_on": [], "because": "So it is.", "answer": answer} for answer in ("no", "yes", "no")))
    people = ["chara-a", "chara-b", "chara-c"]
    table, asked = tmp_path / "out.csv", {"question": "Would you leave?", "people": people}
    asyncio.run(run_ask(settings, "main", "en", asked | {"choices": ["yes", "no"]}, output=table, models=models))
    told = capsys.readouterr().out
    assert "no (So it is.)" in told
    assert f"{15 * '█'} 1 yes\n{30 * '█'} 2 no\n3 answered, 0 did not; model calls: 3" in told
    assert table.read_bytes().startswith(b"\xef\xbb\xbfperson_id,name,kind,answer,because")
    script.enqueue(
        {"rests_on": [], "because": "So it is.", "answer": 3}, {"rests_on": [], "because": "So it is.", "answer": 4.5}
    )
    two = {"people": people[:2], "number": {"min": 1, "max": 5}}
    asyncio.run(run_ask(settings, "main", "en", asked | two, models=models))
    told = capsys.readouterr().out
    assert "3 (So it is.)" in told
    assert "4.5 (So it is.)" in told
    one = asked | {"people": people[:1]}
    asyncio.run(run_ask(settings, "main", "en", one, scan=True, output=tmp_path / "scan.json", models=models))
    assert "0 memories read in 0 parts" in capsys.readouterr().out
    assert json.loads((tmp_path / "scan.json").read_text())[0]["sentences"] == []
    with pytest.raises(SystemExit) as left:
        asyncio.run(run_ask(settings, "main", "en", asked | {"choices": ["yes"]}, models=models))
    assert str(left.value) == "choices: expected at least 2 of them"
    with pytest.raises(SystemExit) as left:
        asyncio.run(run_ask(settings, "main", "en", asked | {"number": {"min": 5, "max": 1}}, models=models))
    assert str(left.value).startswith("number.max: ")
    with pytest.raises(SystemExit, match="nobody"):
        asyncio.run(run_ask(settings, "main", "en", asked | {"people": ["nobody"]}, models=models))
