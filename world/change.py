"""Owns what a change to the world is: what it did, and the error when it is nobody's turn to make it."""

from dataclasses import dataclass

from world.errors import WorldError
from world.events import Event, Kind
from world.time import WorldTime


class OutOfTurn(WorldError):
    """Somebody was made to do what is not its turn: an answer came twice, or to a question nobody asked."""

    def __init__(self, who: str, state: str, wanted: str) -> None:
        super().__init__(f"{who!r} {state}: it cannot {wanted} now")
        self.who = who
        self.state = state
        self.wanted = wanted


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What one change did: events (some of them later than the change itself), whose lives it touched, a talk begun.

    `since`: of those touched, events foretold for then or later do not happen (`voids`).
    """

    events: tuple[Event, ...] = ()
    touched: tuple[str, ...] = ()
    talk_id: str | None = None
    since: WorldTime | None = None

    def voids(self, event: Event) -> bool:
        """Whether an event foretold before this change does not happen after it."""
        if self.since is None or event.person_id not in self.touched or event.time < self.since:
            return False
        return event.time > self.since or event.kind not in (Kind.ARRIVED, Kind.TALK_ENDED)
