"""Owns the test of documents that are there in both languages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JAPANESE = sorted(ROOT.glob("*.ja.md")) + sorted((ROOT / "docs").rglob("*.ja.md"))


@pytest.mark.parametrize("file", JAPANESE, ids=lambda file: file.name)
def test_a_japanese_page_and_its_english_one_lead_to_each_other(file: Path) -> None:
    english = file.with_name(file.name.replace(".ja.md", ".md"))
    assert f"({english.name})" in file.read_text(encoding="utf-8")
    assert f"({file.name})" in english.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", JAPANESE, ids=lambda file: file.name)
def test_a_japanese_page_leads_to_pages_that_are_there_and_to_the_japanese_ones_among_them(file: Path) -> None:
    pages = [file.parent / page for page in re.findall(r"\]\(([\w./-]+\.md)\)", file.read_text(encoding="utf-8"))]
    assert [page for page in pages if not page.exists()] == []
    others = [page for page in pages if page.name != file.name.replace(".ja.md", ".md")]
    assert [page for page in others if page.with_suffix(".ja.md").exists()] == []


@pytest.mark.parametrize("file", JAPANESE, ids=lambda file: file.name)
def test_a_japanese_page_shows_japanese_pictures(file: Path) -> None:
    assert "-en.png" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", [file for file in JAPANESE if file.name != "README.ja.md"], ids=lambda file: file.name)
def test_a_japanese_page_leaves_out_no_name_that_its_english_one_tells_of(file: Path) -> None:
    english = file.with_name(file.name.replace(".ja.md", ".md")).read_text(encoding="utf-8")
    told = file.read_text(encoding="utf-8")
    names = set(re.findall(r"`([^`\s<>]+)`", re.sub("```.*?```", "", english, flags=re.DOTALL)))
    assert [name for name in sorted(names) if name not in told] == []


@pytest.mark.parametrize("file", JAPANESE, ids=lambda file: file.name)
def test_a_japanese_page_has_the_sections_the_tables_and_the_examples_of_the_english_one(file: Path) -> None:
    english = file.with_name(file.name.replace(".ja.md", ".md"))
    assert _parts(file.read_text(encoding="utf-8")) == _parts(english.read_text(encoding="utf-8"))


def _parts(page: str) -> tuple[int, ...]:
    """How many headings, rows of tables and fenced blocks there are."""
    texts = page.split("\n```")[::2]
    return (*(len(re.findall(mark, "".join(texts), re.MULTILINE)) for mark in (r"^#+ ", r"^\|")), len(texts) - 1)
