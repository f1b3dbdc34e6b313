"""One thing wrong in a content file: which file, which key, what was found and what was expected."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import ValidationError

from service.locales import Language, Phrase, room
from world.ids import SLUG_MAX

Key = tuple[str | int, ...]
"""Where in a file: the keys and list positions from the top down."""

_PLAIN_KEY = re.compile(r"\w+(-\w+)*")
_LONGEST_QUOTE = 60
_MOST_SHOWN = 8
_LARGEST_SHOWN = 10**30


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentProblem:
    """`file` is relative to the content directory; `key_path` (``routine[2].starts``) is empty for the file as a
    whole.
    """

    file: str
    key_path: str
    said: Phrase

    def message(self, language: Language) -> str:
        """What was found and what was expected."""
        return self.said.of(language)

    def line(self, language: Language) -> str:
        """File, key path and message in one line."""
        return ": ".join(part for part in (self.file, self.key_path, self.message(language)) if part)


def problem(file: str, key: Key, sentence: str, /, **facts: object) -> ContentProblem:
    """A problem at that key, in the sentence of that name with these facts."""
    return ContentProblem(file=file, key_path=key_path(key), said=Phrase(sentence, **facts))


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


def listed(ids: Sequence[str]) -> str | Phrase:
    """The first of the ids, quoted; "nothing" if there are none."""
    if not ids:
        return Phrase("common.nothing")
    return ", ".join(map(quote, ids[:_MOST_SHOWN])) + (f", … ({len(ids)})" if len(ids) > _MOST_SHOWN else "")


def found(value: object) -> str | Phrase:
    """What a value is, for people. Lists and mappings are named, not printed: they may be endless."""
    if value is None:
        return Phrase("content.found.null")
    if isinstance(value, dict):
        return Phrase("content.found.mapping")
    if isinstance(value, list):
        return Phrase("content.found.list" if value else "content.found.empty_list")
    if isinstance(value, bool):
        return Phrase("content.found.truth", shown=json.dumps(value))
    if isinstance(value, int) and abs(value) >= _LARGEST_SHOWN:
        return Phrase("content.found.long_number")
    if isinstance(value, int | float):
        return Phrase("content.found.number", shown=json.dumps(value))
    return quote(str(value))


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like the word, if any is like it at all."""
    return next(iter(get_close_matches(word, list(candidates), n=1)), None)


def hint(word: str, candidates: Iterable[str]) -> str | Phrase:
    """`` (did you mean "v09"?)``, or nothing."""
    guess = closest(word, candidates)
    return "" if guess is None else Phrase("common.hint", guess=quote(guess))


def reason_of(error: ValidationError) -> Phrase:
    """The first thing that is wrong with a record: where, what was found and what was expected."""
    first = error.errors()[0]
    where, kind = key_path(tuple(first["loc"])), first["type"]
    if kind == "missing":
        return Phrase("export.missing", where=where)
    if kind == "extra_forbidden":
        return Phrase("export.extra_forbidden", where=where)
    if kind == "json_invalid":
        return Phrase("export.no_json", reason=first["ctx"]["error"])
    if kind == "literal_error":
        return Phrase("export.mismatch", at=_at(where), found=found(first["input"]), expected=first["ctx"]["expected"])
    if kind in room("en", "export.expected"):
        return mismatch(kind, where, first["input"])
    return Phrase("export.refused", at=_at(where), found=found(first["input"]), reason=first["msg"])


def mismatch(kind: str, where: str, value: object) -> Phrase:
    """That something else was expected there."""
    expected = Phrase(f"export.expected.{kind}", most=SLUG_MAX)
    return Phrase("export.mismatch", at=_at(where), found=found(value), expected=expected)


def _at(where: str) -> str:
    return f"{where}: " if where else ""
