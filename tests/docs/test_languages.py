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
def test_a_japanese_page_shows_japanese_pictures(file: Path) -> None:
    assert "-en.png" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", [file for file in JAPANESE if file.name != "README.ja.md"], ids=lambda file: file.name)
def test_a_japanese_page_leaves_out_no_name_that_its_english_one_tells_of(file: Path) -> None:
    english = file.with_name(file.name.replace(".ja.md", ".md")).read_text(encoding="utf-8")
    told = file.read_text(encoding="utf-8")
    names = set(re.findall(r"`([^`\s<>]+)`", re.sub("```.*?```", "", english, flags=re.DOTALL)))
    assert [name for name in sorted(names) if name not in told] == []
