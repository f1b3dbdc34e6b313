"""Owns the checks of the pages' words."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from service.cast.profile import Importance, Mood
from service.conversation.phase import EndReason, Phase
from service.conversation.scene import Emotion
from service.memory.gate import Reason
from service.viewer import texts as module
from service.viewer.texts import TEXTS, texts

_HERE = Path(module.__file__).parent
_NOTE_EVENTS = (
    "clock/act.py",
    "clock/advance.py",
    "conversation/start.py",
    "conversation/transcript.py",
    "conversation/closing.py",
    "memory/write.py",
)


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


def test_every_value_the_api_can_name_has_a_text() -> None:
    named: dict[str, Iterable[str]] = {
        "phase": list(Phase),
        "end": list(EndReason),
        "reason": list(Reason),
        "mood": get_args(Mood),
        "importance": get_args(Importance),
        "emotion": [emotion for emotion in get_args(Emotion) if emotion != "neutral"],
    }
    keys = {f"{kind}_{value}" for kind, values in named.items() for value in values}
    assert keys - set(TEXTS) == set()


def test_every_kind_of_event_has_a_text() -> None:
    service = _HERE.parent
    noted = "".join((service / name).read_text("utf-8") for name in _NOTE_EVENTS)
    kinds = set(re.findall(r'^\s*"([a-z]+_[a-z_]+|departed|arrived|slept)",$', noted, re.MULTILINE))
    kinds |= set(re.findall(r'(?:world\.now|began|\[-1\]\)), "(\w+)"', noted))
    assert {"departed", "arrived", "day_began", "memory_expired", "closing_failed", "fact_rejected"} <= kinds
    assert {f"event_{kind}" for kind in kinds} - set(TEXTS) == set()


def test_no_text_is_left_over() -> None:
    """A text is asked for by its name, or by the first part of it and a value of the API: event_, phase_, …"""
    used = "".join(path.read_text("utf-8") for folder in ("static", "templates") for path in (_HERE / folder).iterdir())
    built = tuple(re.findall(r"`(\w+_)\$\{", used))
    assert [key for key in TEXTS if not re.search(rf"\b{key}\b", used) and not key.startswith(built)] == []


def test_a_language_is_one_flat_table() -> None:
    assert texts("ja")["talk"] == "話しかける"
    assert texts("en")["talk"] == "Talk"
