"""Owns what no line of a person may be, by its form: empty, a secret told, a forbidden word, a repetition, another
language, too long, the marks or the voice of a model. What a line means is for a judge (judge.py). Pure.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.repetition import breaks_character, is_repetition
from service.locales import Language
from service.memory.lexical import grams, share, squeezed, telling
from service.memory.secrets import Discretion
from service.quality.language import is_foreign

Check = Literal[
    "empty",
    "secret",
    "forbidden",
    "repetition",
    "language",
    "length",
    "out_of_character",
]

_GRAM, _LOOP = 3, 40
_DISTINCT = 0.5
"""A line of at least `_LOOP` letters with a smaller share of different trigrams goes round in circles."""

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
    if _loops(text) or is_repetition(text, comparable(one, before)):
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


def _loops(text: str) -> bool:
    letters = len(squeezed(text))
    return letters >= _LOOP and len(grams(text, _GRAM)) < _DISTINCT * (letters - _GRAM + 1)
