"""docs/files.md lists every file, and docs/architecture.md names files that are there and is read in ten minutes."""

import re

import pytest

from tests.docs.files import FILE, ROOT, page

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", ARCHITECTURE)))
ROOMS = sorted(path.parent for path in ROOT.glob("service/*/__init__.py"))
MOST_WORDS = 2500


def test_every_file_is_listed_with_what_it_owns() -> None:
    assert FILE.read_text("utf-8") == page(), "python -m tests.docs.files"


@pytest.mark.parametrize("name", NAMED)
def test_every_file_that_the_architecture_names_is_there(name: str) -> None:
    assert (ROOT / "service" / name).exists() or (ROOT / name).exists()


def test_the_architecture_is_read_in_ten_minutes() -> None:
    assert len(ARCHITECTURE.split()) <= MOST_WORDS


def test_the_architecture_tells_of_every_room() -> None:
    assert [room.name for room in ROOMS if room.name not in ARCHITECTURE] == []
