"""docs/architecture.md names files that are there, and every one of them."""

import re

import pytest

from tests.docs.files import FILE, HEADING, ROOT, page

WISHES = FILE.read_text("utf-8").partition("## Where to go by wish")[2].partition(HEADING)[0]
NAMED = sorted(set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", WISHES)))


def test_every_file_stands_in_the_architecture_with_what_it_owns() -> None:
    assert FILE.read_text("utf-8") == page(), "python -m tests.docs.files"


@pytest.mark.parametrize("name", [name for name in NAMED if "/" in name])
def test_every_file_that_a_wish_leads_to_is_there(name: str) -> None:
    assert (ROOT / "service" / name).exists() or (ROOT / name).exists()
