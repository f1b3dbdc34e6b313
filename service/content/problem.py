"""One thing wrong in a content file: which file, which key, what was found and what was expected, in both languages."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from service.content.sentences import SENTENCES
from world.time import Language

Key = tuple[str | int, ...]
"""Where in a file: the keys and list positions from the top down."""

Fact = str | float | Callable[[Language], str]
"""What is filled into a sentence; a function where it differs by language."""

_PLAIN_KEY = re.compile(r"\w+(-\w+)*")
_LONGEST_QUOTE = 60
_MOST_SHOWN = 8
_LARGEST_SHOWN = 10**30


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


def problem(file: str, key: Key, kind: str, **facts: Fact) -> ContentProblem:
    """A problem at that key, in the sentences of that kind with these facts."""
    return ContentProblem(
        file=file, key_path=key_path(key), en=sentence(kind, "en", **facts), ja=sentence(kind, "ja", **facts)
    )


def sentence(kind: str, language: Language, **facts: Fact) -> str:
    """The sentence of that kind."""
    en, ja = SENTENCES[kind]
    filled = {name: fact(language) if callable(fact) else fact for name, fact in facts.items()}
    return (ja if language == "ja" else en).format(**filled)


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


def listed(ids: Sequence[str]) -> Fact:
    """The first of the ids, quoted; "nothing" if there are none."""
    if not ids:
        return partial(sentence, "none")
    return ", ".join(map(quote, ids[:_MOST_SHOWN])) + (f", … ({len(ids)})" if len(ids) > _MOST_SHOWN else "")


def found(value: object, language: Language) -> str:
    """What a value is, for people. Lists and mappings are named, not printed: they may be endless."""
    if value is None:
        return sentence("null", language)
    if isinstance(value, dict):
        return sentence("mapping", language)
    if isinstance(value, list):
        return sentence("list" if value else "empty_list", language)
    if isinstance(value, bool):
        return sentence("truth", language, shown=json.dumps(value))
    if isinstance(value, int) and abs(value) >= _LARGEST_SHOWN:
        return sentence("long_number", language)
    if isinstance(value, int | float):
        return sentence("number", language, shown=json.dumps(value))
    return quote(str(value))


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like the word, if any is like it at all."""
    return next(iter(get_close_matches(word, list(candidates), n=1)), None)


def hint(word: str, candidates: Iterable[str]) -> Fact:
    """`` (did you mean "v09"?)``, or nothing."""
    guess = closest(word, candidates)
    return "" if guess is None else partial(sentence, "hint", guess=quote(guess))
