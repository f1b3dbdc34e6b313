"""CONTRIBUTING.md names files that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"(?:service|world|tests|docs|migrations)/[\w/.-]*[\w/]", TEXT)))


@pytest.mark.parametrize("name", NAMED)
def test_every_path_it_names_is_there(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("name", ["note", "schedule_event", "publish", "Projection", "IN_A_MINUTE", "ChatModel"])
def test_every_name_it_says_is_defined_in_a_file_it_names(name: str) -> None:
    files = [ROOT / path for path in NAMED if path.endswith(".py")]
    assert any(re.search(rf"^(?:def|class) {name}\b|^{name}\b", file.read_text("utf-8"), re.M) for file in files)
