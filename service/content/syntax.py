"""Owns why a file is no JSON or YAML, in words for who wrote it."""

import re

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

_KEY = re.compile(r"\s*(?:- )?\w+(?:(?P<wide>：)|:(?=[^\s/]))")
"""A line whose key has no colon that counts: a full-width one, or one without the space that belongs behind it."""


def why_no_yaml(problem: str, text: str, line: int) -> Phrase:
    """Why the YAML `text` cannot be read, where the parser met `problem` in that line, counted from 0: the line's own
    key or the one above it, where that is at fault.
    """
    for number, words in list(enumerate(text.splitlines(), 1))[max(line - 1, 0) : line + 1]:
        if key := _KEY.match(words):
            return Phrase("content.syntax.wide_colon" if key["wide"] else "content.syntax.no_space", number=number)
    return why_broken(problem)


def why_broken(problem: str) -> Phrase:
    """What a parser of JSON or YAML says, in our words; what we have no words for, as it says it."""
    found = next((key for begin, key in _FOUND.items() if problem.startswith(begin)), "other")
    return Phrase(f"content.syntax.{found}", problem=problem)
