"""Owns the signs of form by which one sees how something was meant: asked, supposed, in jest, heard, planned, past,
taken back.

A sign proves nothing by itself. It is held against what a model says of how something was meant, and it keeps a
statement from being shown as a fact. The signs of each language are in cues.yaml.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

import yaml

from service.memory.claim import TEXTS_HELD, folded
from service.memory.extraction import Mode
from service.memory.utterance import is_question, sentences


def bears(mode: Mode, text: str) -> bool:
    """Whether the text has a sign that it was meant that way; `asserted` has none; `asked` is what only asks."""
    if mode == "asked":
        return all(is_question(sentence) for sentence in sentences(text))
    return _has(mode, text)


def is_past(text: str) -> bool:
    """Whether the text tells of what was."""
    return _has("past", text)


def is_over(text: str) -> bool:
    """Whether the text says that something is no more: it denies without a "not"."""
    return _has("over", text)


def is_unsure(text: str) -> bool:
    """Whether who says it leaves open whether it will be, or refuses."""
    return _has("unsure", text)


def is_taken_back(text: str) -> bool:
    """Whether who says it puts right what was said before."""
    return _has("retracted", text)


def after_taking_back(text: str) -> str:
    """What the text says after it last puts itself right; all of it where it does not."""
    signs = re.finditer(_signs()["retracted"].pattern, text.replace("’", "'"), re.IGNORECASE)
    return text[max((found.end() for found in signs), default=0) :]


@lru_cache(maxsize=TEXTS_HELD)
def _has(sign: str, text: str) -> bool:
    pattern = _signs().get(sign)
    return pattern is not None and pattern.search(folded(text)) is not None


@cache
def _signs() -> Mapping[str, re.Pattern[str]]:
    listed = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {
        name: re.compile("|".join([*(rf"\b(?:{one})\b" for one in sign["words"]), *sign["parts"]]))
        for name, sign in listed.items()
    }
