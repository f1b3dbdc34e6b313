"""Owns the test of documents that are there in both languages."""

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
def test_a_japanese_page_shows_japanese_pictures(file: Path) -> None:
    assert "-en.png" not in file.read_text(encoding="utf-8")
