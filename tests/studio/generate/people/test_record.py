"""Holds that people are written whole or not at all, and that what was stopped is written by who comes next."""

from pathlib import Path

import pytest

from service.errors import FileUnusable
from studio.generate.dataset import DatasetInUse
from studio.generate.people.record import RunFiles, finish_writing


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    found = RunFiles(tmp_path, "abc")
    found.open()
    return found


def test_what_was_stopped_in_the_middle_is_written_by_who_comes_next(tmp_path: Path, files: RunFiles) -> None:
    (tmp_path / "people" / "abc.writing.json").write_text(
        '{"characters/ada.yaml": "id: ada\\n", "npcs/bram.yaml": "id: bram\\n"}', "utf-8"
    )
    (tmp_path / "characters").mkdir()
    (tmp_path / "characters" / "ada.yaml").write_text("id: ada\n", "utf-8")
    finish_writing(tmp_path)
    assert (tmp_path / "npcs" / "bram.yaml").read_text("utf-8") == "id: bram\n"
    assert [file.name for file in (tmp_path / "people").iterdir()] == [".lock"]
    finish_writing(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path, files: RunFiles) -> None:
    (tmp_path / "people" / "abc.plan.json").write_text('{"slots": [', "utf-8")
    with pytest.raises(FileUnusable, match=r"abc\.plan\.json.*it is damaged"):
        files.read_plan()


def test_two_do_not_write_into_one_world_at_once(tmp_path: Path, files: RunFiles) -> None:
    (tmp_path / "people" / "def.writing.json").write_text("{}", "utf-8")
    with files.alone(), pytest.raises(DatasetInUse, match="people"):
        finish_writing(tmp_path)
    finish_writing(tmp_path)
    assert not (tmp_path / "people" / "def.writing.json").exists()
