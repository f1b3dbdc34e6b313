"""Decision records have one form, and cite nothing that a reader does not have."""

import re
from pathlib import Path

import pytest

DECISIONS = sorted((Path(__file__).parents[2] / "docs" / "decisions").glob("*.md"))
PARTS = r"# {number}\. [^\n]+\n\nStatus: \w+\nDate: \d{{4}}-\d\d-\d\d\n\n## Context\n\n.+\n## Decision\n\n.+\n## Consequences\n\n.+"  # noqa: E501


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.stem)
def test_a_decision_has_status_date_context_decision_and_consequences(file: Path) -> None:
    number = int(file.name[:4])
    text = file.read_text("utf-8")
    assert re.fullmatch(PARTS.format(number=number), text, re.S)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Context",
        "## Decision",
        "## Consequences",
    ]


def test_each_has_a_number_of_its_own() -> None:
    assert [int(file.name[:4]) for file in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.stem)
def test_a_decision_cites_no_text_that_is_not_here(file: Path) -> None:
    words = r"\b(?:lab notes|source document|the plan was|of the plan|from the plan|issue \d+|shared/)"
    assert re.findall(words, file.read_text("utf-8")) == []


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.stem)
def test_a_decision_is_read_in_a_minute(file: Path) -> None:
    assert len(file.read_text("utf-8").split()) <= 250
