"""Owns what nobody says: control tokens and template marks, which models leave in their words, and players send."""

import re

from service.content.fields import FORMS, MARKS

_BEGINNINGS = "|".join("(?:".join(map(re.escape, form)) + ")?" * (len(form) - 1) for form in FORMS)
_MARK = re.compile(rf"(?<![ \t])[ \t]*(?:{MARKS})+(?=[\s.,;:!?…、。，！？]|\Z)|{MARKS}", re.IGNORECASE)
"""With the blanks before it, where none is needed."""
_BEGUN = re.compile(rf"[ \t]*(?:<[|｜][^|｜<>]{{0,40}}[|｜]?|{_BEGINNINGS})*\Z", re.IGNORECASE)


def without_marks(text: str) -> str:
    """The text without control tokens and template marks, also without those that taking one out puts together."""
    while (plain := _MARK.sub("", text)) != text:
        text = plain
    return text


def certain(text: str) -> str:
    """What may be told of a text that goes on: its end is held back where it may become a mark."""
    return _BEGUN.sub("", without_marks(text), count=1)
