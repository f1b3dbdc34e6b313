"""Owns the reading of an answer that is still being written: the utterance so far, out of a prefix of a JSON text."""

from enum import Enum, auto

_OPEN, _CLOSE = "<think>", "</think>"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
_HEX = frozenset("0123456789abcdefABCDEF")


class _In(Enum):
    PROSE = auto()  # before the object: fences, chatter
    THOUGHT = auto()  # inside a think block
    OBJECT = auto()  # inside the object, outside of strings
    STRING = auto()  # inside a string of no interest
    KEY = auto()  # inside a key of the top level
    WANTED = auto()  # inside the string that is reported
    DONE = auto()  # after the object, unless that turns out to have been a draft in a thought


class PartialString:
    """The growing value of one top-level string of a JSON object, fed in pieces of any size; O(1) per character.

    Only whole characters are ever shown: an escape or a surrogate pair is held back until it is complete. Think
    blocks and prose before the object are passed over; prose in braces is not taken for the object.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._value = ""
        self._new: list[str] = []  # of the value, since the last feed
        self._recent = ""  # the last characters outside of strings, long enough to hold a think tag
        self._restart()

    def _restart(self, state: _In = _In.PROSE) -> None:
        self._state = state
        self._depth = 0
        self._fresh = False  # the object has just begun: only a key or its end may follow
        self._key_next = False
        self._seen_key = ""
        self._escape: str | None = None  # what follows a backslash, so far
        self._high: int | None = None  # first half of a surrogate pair
        self._value = ""
        self._new.clear()

    def feed(self, piece: str) -> str:
        """Read on; returns the whole value so far ("" before it begins)."""
        for char in piece:
            if self._state in (_In.STRING, _In.KEY, _In.WANTED):
                self._inside_string(char)
            else:
                self._outside_string(char)
        if self._new:
            self._value += "".join(self._new)
            self._new.clear()
        return self._value

    def _outside_string(self, char: str) -> None:
        self._recent = (self._recent + char)[-len(_CLOSE) :]
        if self._recent.endswith(_CLOSE):
            self._restart()  # also without an opening tag, which some chat templates write themselves
        elif self._state is _In.PROSE:
            if self._recent.endswith(_OPEN):
                self._state = _In.THOUGHT
            elif char == "{":
                self._state, self._depth, self._fresh, self._key_next = _In.OBJECT, 1, True, True
        elif self._state is _In.OBJECT:
            self._in_object(char)

    def _in_object(self, char: str) -> None:
        if self._fresh and not char.isspace():
            self._fresh = False
            if char not in '"}':
                self._restart()
                return
        if char == '"':
            self._open_string()
        elif char in "{[":
            self._depth += 1
        elif char in "}]":
            self._depth -= 1
            if self._depth == 0:
                self._state = _In.DONE
        elif char == "," and self._depth == 1:
            self._key_next = True
        elif char == ":" and self._depth == 1:
            self._key_next = False

    def _open_string(self) -> None:
        if self._depth != 1:
            self._state = _In.STRING
        elif self._key_next:
            self._state, self._seen_key = _In.KEY, ""
        elif self._seen_key == self._key:
            self._state, self._value = _In.WANTED, ""  # of a key that comes twice, JSON takes the last
            self._new.clear()
        else:
            self._state = _In.STRING

    def _inside_string(self, char: str) -> None:
        if self._escape is not None:
            self._in_escape(char)
        elif char == "\\":
            self._escape = ""
        elif char == '"':
            self._flush()
            self._state = _In.OBJECT
        else:
            self._take(ord(char))

    def _in_escape(self, char: str) -> None:
        if self._escape == "" and char != "u":
            self._escape = None
            self._take(ord(_ESCAPES.get(char, char)))
            return
        self._escape = f"{self._escape}{char}"
        if len(self._escape) == 5:
            digits, self._escape = self._escape[1:], None
            self._take(int(digits, 16) if _HEX.issuperset(digits) else 0xFFFD)

    def _take(self, unit: int) -> None:
        """One UTF-16 unit or code point: halves of a pair come from escapes, or from servers that split a pair."""
        if self._high is not None and unit in _LOW:
            unit = 0x10000 + ((self._high - 0xD800) << 10) + (unit - 0xDC00)
            self._high = None
        self._flush()
        if unit in _HIGH:
            self._high = unit
        else:
            self._show("\ufffd" if unit in _LOW else chr(unit))

    def _flush(self) -> None:
        if self._high is not None:
            self._high = None
            self._show("\ufffd")

    def _show(self, char: str) -> None:
        if self._state is _In.WANTED:
            self._new.append(char)
        elif self._state is _In.KEY:
            self._seen_key += char
