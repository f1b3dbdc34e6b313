"""The program of docs/python.md runs as it is printed there, and its table names all that a game and a world can do."""

import re
import shutil
from pathlib import Path

import pytest

from service.content.files import bundled_content
from service.public import Game, World
from tests.end_to_end.process import program

ROOT = Path(__file__).resolve().parents[2]
GAME = ("maps.json", "actions.json", "npcs", "characters", "lore", "scenes", "pictures")
PAGES = [(ROOT / "docs" / "python.md", "en", "Aoi"), (ROOT / "docs" / "python.ja.md", "ja", "葵")]


@pytest.mark.parametrize(("page", "language", "name"), PAGES, ids=["en", "ja"])
def test_the_program_runs_as_it_is_printed(page: Path, language: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "mygame").mkdir()
    for one in GAME:
        there = bundled_content() / one
        copy = shutil.copytree if there.is_dir() else shutil.copy
        copy(there, tmp_path / "mygame" / one)
    (source,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S)
    done = program(tmp_path, source, KATARIBE_WORLD__LANGUAGE=language)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith(f"{name}: ") for line in lines)
    assert any(line.endswith("None") and "wants_to_end" in line for line in lines)
    assert (tmp_path / "mygame-data").is_dir()


@pytest.mark.parametrize("page", [page for page, *_ in PAGES], ids=["en", "ja"])
def test_the_tables_name_all_that_there_is(page: Path) -> None:
    told = page.read_text("utf-8")
    public = [name for of in (Game, World) for name in vars(of) if not name.startswith("_")]
    assert [name for name in public if f"`{name}(" not in told and f"game.{name}" not in told] == []
