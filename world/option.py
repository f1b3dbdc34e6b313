"""Owns what may be chosen: options, and refusals with their reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Facts = dict[str, str | int | float]


class Reason(StrEnum):
    """Why something is not possible; a refusal's `facts` say the rest."""

    CLOSED = "closed"
    """The facility is not open on arrival. Facts: hours, arrival (minutes of the day)."""
    WRONG_TIME = "wrong_time"
    """The action does not begin at this hour. Facts: hours, arrival."""
    NO_SEAT = "no_seat"
    """All seats are taken. Facts: seats."""
    TOO_LITTLE = "too_little"
    """Too little of a need, or too little to pay with. Facts: need_id, has, needs."""
    TOO_MUCH = "too_much"
    """A need is too well met. Facts: need_id, has, at_most."""
    NO_FACILITY = "no_facility"
    """The map has nothing of the kind."""
    NO_WAY = "no_way"
    """No open way leads there."""
    NOBODY = "nobody"
    """There is nobody to talk to."""
    BUSY = "busy"
    """The person cannot be spoken to now. Facts: doing (an action id)."""
    GONE = "gone"
    """The person is no longer there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """Something possible: walk `walk_minutes` to `node_id`, then do `action_id` for `minutes` (0: until it is over).

    `target_id` is who is spoken to; `talk_id` the talk of that one which is joined (None: a talk of its own).
    """

    action_id: str
    node_id: str
    """the node where it can be done"""
    walk_minutes: int = 0
    """world minutes to walk there; 0: it stands there"""
    minutes: int = 0
    """world minutes it takes; 0: until it is over"""
    facility_id: str | None = None
    target_id: str | None = None
    """who would be spoken to"""
    talk_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Something that is not possible now, and why."""

    action_id: str
    reason: Reason
    facility_id: str | None = None
    target_id: str | None = None
    facts: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Possibilities:
    """What can be done and what cannot; each in the author's order of actions, then by walking minutes, then by id."""

    options: tuple[Option, ...]
    refusals: tuple[Refusal, ...]
