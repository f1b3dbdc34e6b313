"""Owns why a file is no JSON or YAML, in words for who wrote it."""

import re
import unicodedata

from service.locales import Phrase

_FOUND = {
    "Expecting value": "value",
    "Expecting property name": "name",
    "Illegal trailing comma": "last_comma",
    "Expecting ',' delimiter": "comma",
    "Expecting ':' delimiter": "colon",
    "Extra data": "more",
    "Unterminated string": "open_quote",
    "found unexpected end of stream": "open_quote",
    "Invalid control character": "line_break",
    "Invalid \\": "escape",
    "found unknown escape character": "escape",
    "mapping values are not allowed here": "second_colon",
    "could not find expected ':'": "no_colon",
    "found character '\\t'": "tab",
    "found character": "special",
    "expected <block end>": "indent",
    "expected the node content": "open_bracket",
    "expected ',' or": "open_bracket",
    "found undefined alias": "alias",
    "found unhashable key": "key",
    "but found another document": "document",
}
"""How a parser's message begins, and the sentence that says it."""

_QUOTES = frozenset("“”„‟＂「」『』‘’")
"""What writers of Japanese and word processors write for a quote."""

_WIDE_COMMA = {"、": ",", "，": ","}

_OPENED = re.compile(r"""\s*(?:- +)*(?:\w+: +)?(?P<text>"(?:[^"\\]|\\.)*)$""")
"""A line with a text in quotes that goes on in the next."""

_WIDE_SPACE = re.compile(r"[ -]*\u3000")
"""A line that is indented by a full-width space."""

_KEY = re.compile(r"\s*(?:- )?\w+(?:(?P<wide>：)|:(?=[^\s/]))")
"""A line whose key has no colon that counts: a full-width one, or one without the space that belongs behind it."""


def why_no_yaml(problem: str, text: str, line: int) -> Phrase:
    """Why the YAML `text` cannot be read, where the parser met `problem` in that line, counted from 0: the line's own
    key or indent, or those of the one above it, where they are at fault, or a quote above that is still open.
    """
    for number, words in list(enumerate(text.splitlines(), 1))[max(line - 1, 0) : line + 1]:
        if key := _KEY.match(words):
            return Phrase("content.syntax.wide_colon" if key["wide"] else "content.syntax.no_space", number=number)
        if _WIDE_SPACE.match(words):
            return Phrase("content.syntax.wide_space", number=number)
    opened = _opened_above(text.splitlines()[:line]) if problem.startswith("expected <block end>") else None
    return why_broken(problem) if opened is None else Phrase("content.syntax.quote_of", number=opened)


def _opened_above(lines: list[str]) -> int | None:
    """The line, counted from 1, of the quote that is open at their end."""
    opened = next((i for i in range(len(lines) - 1, -1, -1) if _OPENED.match(lines[i])), None)
    if opened is None or sum(words.count('"') for words in lines[opened:]) % 2 == 0:
        return None
    return opened + 1


def why_no_json(problem: str, text: str, position: int) -> Phrase:
    """Why the JSON `text` cannot be read, where the parser met `problem` at that character: its width, where that is at
    fault.
    """
    found, before = text[position : position + 1], text[:position].rstrip()
    if found in _QUOTES and found:
        return Phrase("content.syntax.no_quote", found=found)
    wanted = _WIDE_COMMA.get(found) or unicodedata.normalize("NFKC", found)
    if found != wanted and wanted.isascii():
        return Phrase("content.syntax.wide", found=found, wanted=wanted)
    if found in ("]", "}") and before.endswith(","):
        return Phrase("content.syntax.last_comma")
    return why_broken(problem)


def why_broken(problem: str) -> Phrase:
    """What a parser of JSON or YAML says, in our words; what we have no words for, as it says it."""
    found = next((key for begin, key in _FOUND.items() if problem.startswith(begin)), "other")
    return Phrase(f"content.syntax.{found}", problem=problem)
