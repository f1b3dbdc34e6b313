"""docs/architecture.md names files that are there, tells of every room, and is read in ten minutes."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", ARCHITECTURE)))
ROOMS = sorted(path.parent for path in ROOT.glob("service/*/__init__.py"))
MOST_WORDS = 2500


@pytest.mark.parametrize("name", NAMED)
def test_every_file_that_the_architecture_names_is_there(name: str) -> None:
    assert (ROOT / "service" / name).exists() or (ROOT / name).exists()


def test_the_architecture_is_read_in_ten_minutes() -> None:
    assert len(ARCHITECTURE.split()) <= MOST_WORDS


def test_the_architecture_tells_of_every_room() -> None:
    assert [room.name for room in ROOMS if room.name not in ARCHITECTURE] == []
