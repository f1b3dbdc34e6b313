"""Owns what happens: events and the one order in which a story tells them, whatever order they were worked out in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter

from world.time import WorldTime


class Kind(StrEnum):
    """What an event is, in the order of one minute: who arrives, what ends, what is decided, what begins.

    Arrivals come first: all of a minute are known before anything is decided in it.
    """

    ARRIVED = "arrived"
    ENDED = "ended"
    TALK_ENDED = "talk_ended"
    DECIDED = "decided"
    DEPARTED = "departed"
    STARTED = "started"
    FAILED = "failed"
    TALK_STARTED = "talk_started"
    TALK_JOINED = "talk_joined"
    TURN = "turn"
    TALK_LEFT = "talk_left"
    CHANGED = "changed"


_RANK = {kind: i for i, kind in enumerate(Kind)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """At `time`, `person_id` (of a talk: who began it) did or met `kind`. `data` names the rest by ids.

    ``ended``: action_id, because, facility_id?; ``arrived``, ``departed``: node_id; ``decided``: action_id, node_id,
    facility_id?, target_id?; ``started``: action_id, node_id, until, facility_id?; ``failed``: action_id, reason,
    facility_id?, target_id?; ``talk_started``, ``talk_ended``, ``turn``: talk_id, partner_id, of a turn also its index
    and who is there; ``talk_joined``, ``talk_left``: talk_id; ``changed``: what an author did.
    """

    time: WorldTime
    kind: Kind
    person_id: str
    data: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def order(self) -> tuple[int, int, str, str]:
        """Sorts events into the canonical order."""
        return (self.time, _RANK[self.kind], self.person_id, str(self.data.get("talk_id", "")))


def canonical(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events as the story tells them; two runs told the same story when these are equal."""
    return tuple(sorted(events, key=attrgetter("order")))


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
