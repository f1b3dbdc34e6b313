"""Owns the errors of the pure world. Each carries its facts; service/ gives them an HTTP status.

WorldError
├── BadWorldTime        a text that is no world time
├── UnknownPlace        a node, facility or map id that the map does not have
└── Unreachable         no open way between two places
"""


class WorldError(Exception):
    """Something about the world does not hold."""


class BadWorldTime(WorldError):
    """A text that is no world time."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no world time; expected YYYY-MM-DDTHH:MM, for example 2026-04-01T07:00")
        self.text = text


class UnknownPlace(WorldError):
    """A place the map does not have."""

    def __init__(self, kind: str, place_id: str) -> None:
        super().__init__(f"the map has no {kind} {place_id!r}")
        self.kind = kind
        self.place_id = place_id


class Unreachable(WorldError):
    """No open way leads from one node to the other."""

    def __init__(self, start: str, goal: str) -> None:
        super().__init__(f"no open way leads from {start!r} to {goal!r}")
        self.start = start
        self.goal = goal
