"""docs/trouble.md quotes what the service says, in the words that it says today."""

import re
from pathlib import Path

import pytest

from service.locales import Language

ROOT = Path(__file__).parents[2]
PAGES: dict[Language, str] = {"en": "trouble.md", "ja": "trouble.ja.md"}
OF_OTHERS = {"address already in use"}
"""Said by the system, in English."""


@pytest.mark.parametrize("language", PAGES)
def test_what_it_quotes_is_what_the_service_says(language: Language) -> None:
    page = (ROOT / "docs" / PAGES[language]).read_text("utf-8")
    quoted = set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)) - OF_OTHERS
    locale = (ROOT / "service" / "locales" / f"{language}.yaml").read_text("utf-8")
    said = re.sub(r"\s+", " " if language == "en" else "", locale).replace("{status_code}", "401")
    assert len(quoted) >= 12
    assert [words for words in quoted if (words if language == "en" else re.sub(r"\s", "", words)) not in said] == []
