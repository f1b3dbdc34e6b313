"""Owns what no line of a person may be, by its form: empty, a secret told, a forbidden word, a repetition, another
language, too long, the marks or the voice of a model; and the marks that are given for it without a model. What a line
means is for a judge (judge.py). Pure.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.repetition import (
    TOO_LIKE,
    breaks_character,
    is_foreign,
    is_repetition,
    likeness,
    loops,
)
from service.locales import Language, sentence
from service.memory.lexical import share, telling
from service.memory.secrets import Discretion

Check = Literal[
    "empty",
    "secret",
    "forbidden",
    "repetition",
    "language",
    "length",
    "out_of_character",
]


_TELLING, _GIVEN_AWAY = 3, 0.6
"""A clause of a secret with so many telling words is told by this share of them."""

_CLAUSE = re.compile(r"[、,;:。.!?！？\n—…]+")
_MARKED_UP = re.compile(r"^\s*(?:#{1,4} |[-*] \*\*|```)|\*\*[^*\n]+\*\*|```", re.MULTILINE)
"""Headings, lists and code, as a chat assistant writes."""


class Exchange(NamedTuple):
    """What a person was told, and what it answered."""

    said: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Standard:
    """What a person's lines are held to. `never` are words that it may not say; `longest` is in characters."""

    speaker: CharacterProfile | NpcProfile
    language: Language
    discretion: Discretion
    never: tuple[str, ...] = ()
    longest: int = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What is wrong: a `Check`, or another of `testing.found` in the locales. `number`: the answer, from 0; None: the
    talk as a whole. `about` is the word, or the secret, it is wrong by ("": by itself).
    """

    check: str
    number: int | None = None
    quote: str = ""
    about: str = ""


def faults(talk: Sequence[Exchange], standard: Standard) -> list[Fault]:
    """Everything that is wrong with the answers, in their order."""
    return [
        Fault(check=check, number=number, quote=one.answer, about=about)
        for number, one in enumerate(talk)
        for check, about in wrong(one, talk[:number], standard)
    ]


def comparable(one: Exchange, before: Sequence[Exchange]) -> list[str]:
    """The answers that it should not be like. Who is asked the same again may answer the same again."""
    return [earlier.answer for earlier in before if not is_repetition(one.said, [earlier.said])]


def folded_in(word: str, text: str) -> bool:
    """Whether the text holds the word, whatever their width and case; an English word as a whole."""
    word, text = (unicodedata.normalize("NFKC", one).casefold() for one in (word, text))
    if word.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text) is not None
    return word in text


def wrong(one: Exchange, before: Sequence[Exchange], standard: Standard) -> Iterator[tuple[Check, str]]:
    """What is wrong with the answer, after those `before`, and by what (see `Fault.about`)."""
    text, speaker = one.answer, standard.speaker
    if not text.strip():
        yield "empty", ""
        return
    if (
        secret := next((fact for fact in standard.discretion.kept if not _keeps(text, fact, speaker)), None)
    ) is not None:
        yield "secret", secret
    yield from (("forbidden", word) for word in standard.never if folded_in(word, text))
    if loops(text) or is_repetition(text, comparable(one, before)):
        yield "repetition", ""
    if is_foreign(text, standard.language):
        yield "language", ""
    if len(text) > standard.longest:
        yield "length", str(standard.longest)
    authored = (speaker.name, speaker.personality, speaker.custom_prompt, *speaker.settled, *speaker.lines)
    is_marked_up = _MARKED_UP.search(text) and not any(map(_MARKED_UP.search, speaker.lines))
    if is_marked_up or breaks_character(text, authored):
        yield "out_of_character", ""


def _keeps(text: str, secret: str, speaker: CharacterProfile | NpcProfile) -> bool:
    """Whether a text gives nothing of a secret away: not half of it, and no clause that says something by itself, in
    words that no open fact has.
    """
    if not Discretion(kept=(secret,)).lets(text):
        return False
    known = telling("\n".join(speaker.settled))
    parts = (telling(clause) - known for clause in _CLAUSE.split(secret))
    return not any(len(part) >= _TELLING and share(part, text) >= _GIVEN_AWAY for part in parts)


Dimension = Literal["persona", "consistency", "fluency", "suitability", "similarity"]
"""Fits the person; contradicts nothing of its own; is well said; fits the moment; is nothing that was said before."""
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
HIGHEST = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """From 0, fails, to 9, flawless, and why."""

    score: int
    """0 (fails) to 9 (flawless)"""
    reason: str
    """why, in the world's language"""


Marks = Mapping[Dimension, Mark]
"""What was marked. Where a rule finds a fault, what only a model can tell is left out."""


def lowest(marks: Marks) -> int:
    """By which a line stands or falls."""
    return min(mark.score for mark in marks.values())


def rank(marks: Marks) -> tuple[int, float]:
    """The higher is better: by the lowest mark, then by all of them."""
    return lowest(marks), sum(mark.score for mark in marks.values()) / len(marks)


def below(marks: Marks, threshold: int) -> list[str]:
    """Why it does not do, the worst first."""
    found = sorted((mark for mark in marks.values() if mark.score < threshold), key=lambda mark: mark.score)
    return [mark.reason.rstrip("。. ") for mark in found]


def stored(marks: Marks) -> dict[str, list[int | str]]:
    """As its row keeps it: score and reason by dimension, in the order of the dimensions."""
    return {name: [marks[name].score, marks[name].reason] for name in DIMENSIONS if name in marks}


_OF: Mapping[Check, Dimension] = {
    "empty": "suitability",
    "secret": "suitability",
    "forbidden": "suitability",
    "length": "suitability",
    "repetition": "similarity",
    "language": "fluency",
    "out_of_character": "persona",
}
"""Which dimension a fault is one of."""

_UNLIKE = 0.2
"""Two lines of one person are as like as that without anybody noticing."""


def by_rule(one: Exchange, before: Sequence[Exchange], standard: Standard) -> tuple[dict[Dimension, Mark], bool]:
    """The marks, and whether one of them is for a fault: then nobody need be asked for the others."""
    found: dict[Dimension, Mark] = {}
    for check, about in wrong(one, before, standard):
        # who said it may not know the secret, and reads the reason
        key = "marks.secret" if check == "secret" else f"testing.found.{check}"
        found.setdefault(_OF[check], Mark(score=0, reason=sentence(standard.language, key, about=about)))
    return {"similarity": _similarity(one, before, standard), **found}, bool(found)


def _similarity(one: Exchange, before: Sequence[Exchange], standard: Standard) -> Mark:
    """9 for what is like nothing said before, 0 for what counts as a repetition, and evenly between."""
    like = likeness(one.answer, comparable(one, before))
    share = min(max((TOO_LIKE - like) / (TOO_LIKE - _UNLIKE), 0), 1)
    reason = sentence(standard.language, "marks.likeness", percent=round(100 * like))
    return Mark(score=round(HIGHEST * share), reason=reason)
