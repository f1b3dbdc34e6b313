"""The program of docs/python.md runs as it is printed there, and its table names all that a game and a world can do."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from service.content.files import bundled_content
from service.public import Game, World

ROOT = Path(__file__).resolve().parents[2]
GAME = ("maps.json", "actions.json", "npcs", "characters", "lore", "scenes", "pictures")
PAGES = [(ROOT / "docs" / "python.md", "en", "Aoi"), (ROOT / "docs" / "python.ja.md", "ja", "葵")]


@pytest.mark.parametrize(("page", "language", "name"), PAGES, ids=["en", "ja"])
def test_the_program_runs_as_it_is_printed(page: Path, language: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "mygame").mkdir()
    for one in GAME:
        source = bundled_content() / one
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / "mygame" / one)
    (program,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S)
    environment = {"KATARIBE_WORLD__LANGUAGE": language, "KATARIBE_EMBEDDING__PROVIDER": "none", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
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
