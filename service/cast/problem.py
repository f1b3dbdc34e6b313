"""Owns one thing wrong in a content file: which file, which key, what was found and what was expected, in both languages."""

import datetime
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from world.time import Language

Key = tuple[str | int, ...]
"""Where in a file: the keys and list positions from the top down."""

_PLAIN_KEY = re.compile(r"\w+(-\w+)*")
_LONGEST_QUOTE = 60
_LONGEST_NUMBER = 30
_CLOSE_ENOUGH = 0.6


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentProblem:
    """`file` is relative to the content directory; `key_path` (``routine[2].starts``) is empty for the file as a whole."""

    file: str
    key_path: str
    en: str
    ja: str

    def message(self, language: Language) -> str:
        """What was found and what was expected."""
        return self.ja if language == "ja" else self.en

    def line(self, language: Language) -> str:
        """File, key path and message in one line."""
        return ": ".join(part for part in (self.file, self.key_path, self.message(language)) if part)


def problem(file: str, key: Key, en: str, ja: str) -> ContentProblem:
    """A problem at that key."""
    return ContentProblem(file=file, key_path=key_path(key), en=en, ja=ja)


def mismatch(file: str, key: Key, value: object, en: str, ja: str) -> ContentProblem:
    """`value` was found where something else was expected; `en` and `ja` name that something."""
    return problem(
        file,
        key,
        f"found {found(value, 'en')}; expected {en}",
        f"{found(value, 'ja')} が書かれています。{ja}を書いてください",
    )


def key_path(key: Key) -> str:
    """``("maps", 0, "edges")`` as ``maps[0].edges``."""
    path = ""
    for part in key:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f"[{quote(part)}]"
    return path


def quote(text: str) -> str:
    """The text in double quotes, on one line, shortened, and printable on any terminal."""
    short = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in json.dumps(short, ensure_ascii=False))


def found(value: object, language: Language) -> str:
    """What a value is, for people. Lists and mappings are named, not printed: they may be endless."""
    ja = language == "ja"
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "空の値(null)" if ja else "nothing (null)"
    if isinstance(value, bool):
        word = "true" if value else "false"
        return f"真偽値 {word}" if ja else f"the truth value {word}"
    if isinstance(value, int | float):
        number = json.dumps(value)[:_LONGEST_NUMBER]
        return f"数 {number}" if ja else f"the number {number}"
    if isinstance(value, dict):
        return "マッピング" if ja else "a mapping"
    if isinstance(value, list):
        if not value:
            return "空のリスト" if ja else "an empty list"
        return "リスト" if ja else "a list"
    if isinstance(value, datetime.date):
        return f"日付 {value}" if ja else f"the date {value}"
    kind = type(value).__name__
    return f"{kind} 型の値" if ja else f"a value of type {kind}"


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like the word, if any is like it at all; of equals the first."""
    best, best_score = None, _CLOSE_ENOUGH
    matcher = SequenceMatcher(b=word.casefold())
    for candidate in candidates:
        matcher.set_seq1(candidate.casefold())
        if matcher.real_quick_ratio() < best_score:
            continue
        score = matcher.ratio()
        if score > best_score or (best is None and score == best_score):
            best, best_score = candidate, score
    return best


def hint(word: str, candidates: Iterable[str]) -> tuple[str, str]:
    """`` (did you mean "v09"?)`` in English and Japanese, or two empty texts."""
    guess = closest(word, candidates)
    if guess is None:
        return "", ""
    return f" (did you mean {quote(guess)}?)", f"({quote(guess)} ではありませんか?)"
