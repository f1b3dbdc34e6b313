"""Owns the reading of an answer that is still being written: the utterance so far, out of a prefix of a JSON text."""

import re
from typing import Any

from pydantic_core import from_json

from service.llm.answer import mend_surrogates, without_thought

_OBJECT = re.compile(r'\{\s*(?=["}]|$)')
"""Where the answer's object begins; prose in braces has another letter next."""
_HALF = re.compile("[\ud800-\udbff]$")
"""The first half of a character that a server sends in two chunks."""


class PartialString:
    """The growing value of one top-level string of a JSON object, fed in pieces of any size.

    Only whole characters are ever shown: an escape or a surrogate pair is held back until it is complete. Think
    blocks and prose before the object are passed over; prose in braces is not taken for the object.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._text = ""
        self._answer = ""
        self._value = ""
        self._found: dict[str, Any] = {}

    def feed(self, piece: str) -> str:
        """Read on; returns the whole value so far ("" before it begins)."""
        self._text += piece
        answer = without_thought(_HALF.sub("", self._text))
        if not answer.startswith(self._answer):
            self._value = ""  # what looked like the answer was a draft in a thought
        self._answer = answer
        begins = _OBJECT.search(answer)
        if begins is not None:
            self._value = self._read(answer[begins.start() :])
        return self._value

    def before(self, key: str) -> str | None:
        """The string of that key, where it stands before this one."""
        keys = [*self._found]
        value = self._found.get(key)
        known = key in keys and self._key in keys and keys.index(key) < keys.index(self._key)
        return value if known and isinstance(value, str) else None

    def _read(self, text: str) -> str:
        try:
            self._found = found = from_json(mend_surrogates(text), allow_partial="trailing-strings")
        except ValueError:  # half a character, or something behind the object: what was read stays
            return self._value
        value = found.get(self._key)
        return value if isinstance(value, str) else self._value
