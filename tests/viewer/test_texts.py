"""Owns the checks of the pages' words."""

import re
from pathlib import Path

from service.viewer import texts as module
from service.viewer.texts import TEXTS, texts

_HERE = Path(module.__file__).parent


def test_every_text_is_there_in_both_languages() -> None:
    assert {key: set(row) for key, row in TEXTS.items()} == {key: {"en", "ja"} for key in TEXTS}
    assert all(text for row in TEXTS.values() for text in row.values())


def test_both_languages_name_the_same_facts() -> None:
    def names(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    assert [key for key, row in TEXTS.items() if names(row["en"]) != names(row["ja"])] == []


def test_every_text_a_script_or_template_asks_for_exists() -> None:
    scripts = "".join(path.read_text("utf-8") for path in (_HERE / "static").glob("*.js"))
    pages = "".join(path.read_text("utf-8") for path in (_HERE / "templates").glob("*.html"))
    asked = set(re.findall(r'\bt\("(\w+)"', scripts)) | set(re.findall(r"\bt\.(\w+)", pages))
    assert len(asked) > 60
    assert asked - set(TEXTS) == set()


def test_no_text_is_left_over() -> None:
    """A text is asked for by its name, or by the first part of it and a value of the API: event_, phase_, …"""
    used = "".join(path.read_text("utf-8") for folder in ("static", "templates") for path in (_HERE / folder).iterdir())
    built = tuple(re.findall(r"`(\w+_)\$\{", used))
    assert [key for key in TEXTS if not re.search(rf"\b{key}\b", used) and not key.startswith(built)] == []


def test_a_language_is_one_flat_table() -> None:
    assert texts("ja")["talk"] == "話しかける"
    assert texts("en")["talk"] == "Talk"
