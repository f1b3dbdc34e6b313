"""Owns the errors of the pure world. Each carries its facts; service/ gives them an HTTP status.

WorldError
├── BadWorldTime        a text that is no world time
├── UnknownPlace        a node, facility or map id that the map does not have
├── Unreachable         no open way between two places
├── TalkTooShort        the shortest talk is over before the longest walk between two who can talk
└── OutOfTurn           somebody was made to do what is not its turn
"""

from typing import ClassVar


class WorldError(Exception):
    """Something about the world does not hold. `facts` are what its sentence is made of."""

    sentence: ClassVar[str]

    def __init__(self, *facts: str | int) -> None:
        self.facts = facts
        super().__init__(self.sentence.format(*facts))


class BadWorldTime(WorldError):
    """Facts: the text."""

    sentence = "{!r} is no world time; expected YYYY-MM-DDTHH:MM, for example 2026-04-01T07:00"


class UnknownPlace(WorldError):
    """Facts: the kind of place, its id."""

    sentence = "the map has no {} {!r}"


class Unreachable(WorldError):
    """Facts: the node where the way would begin, and the one where it would end."""

    sentence = "no open way leads from {!r} to {!r}"


class TalkTooShort(WorldError):
    """Running ahead would not be safe. Facts: the minutes of the shortest talk, and of the longest walk."""

    sentence = (
        "a talk takes at least {0} minutes, but two who can talk may stand {1} minutes apart; "
        "set the shortest talk to {1} or more"
    )


class OutOfTurn(WorldError):
    """An answer came twice, or to a question nobody asked. Facts: who (its id), how it stands, what it was to do."""

    sentence = "{!r} {}: it cannot {} now"
