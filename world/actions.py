"""Owns what can be done in a world, the author's action definitions, and what may be chosen: options, and refusals with
their reasons.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from world.needs import Needs
from world.places import ALWAYS_OPEN, Hours
from world.time import MINUTES_PER_HOUR, WorldTime, minute_of_day

GO = "go"
"""Walk somewhere and decide again there."""
TALK = "talk"
"""Speak to an NPC or a character."""
WAIT = "wait"
"""Do nothing for a while; also what follows when something chosen turns out to be impossible."""
WALK = "walk"
"""The way to where something is done; nobody chooses it."""
HOLD = "hold"
"""Stand until somebody outside says what to do: a character in a client's hands. Nobody speaks to who holds."""
BUILT_IN = frozenset({GO, TALK, WAIT, WALK, HOLD})


class Where(StrEnum):
    """Where an action can be done: in a facility with one of its tags, at the character's home, or anywhere."""

    FACILITY = "facility"
    HOME = "home"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, kw_only=True, slots=True)
class Between:
    """A precondition: the need's level lies within, both ends included."""

    need_id: str
    at_least: float = float("-inf")
    at_most: float = float("inf")


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionDef:
    """Something a character can do for `minutes`.

    `tags`: the facility carries one of them. `seats`: how many can do it in one facility at once (None: any number).
    `hours`: when it may begin, beside the facility's own hours. `cost` is paid at the beginning, `effects` come evenly
    over the whole of `minutes` (who is cut short gets a part), both in points of a need. Only who does something
    `interruptible` can be spoken to. `ends_day`: it is the night's sleep.

    Raises:
        ValueError: no minutes, no seats, seats or tags in the wrong place, or the name of something built in.
    """

    id: str
    name: str = ""
    where: Where = Where.FACILITY
    tags: frozenset[str] = frozenset()
    minutes: int = 30
    seats: int | None = None
    hours: tuple[Hours, ...] = ALWAYS_OPEN
    requires: tuple[Between, ...] = ()
    cost: Mapping[str, float] = field(default_factory=dict)
    effects: Mapping[str, float] = field(default_factory=dict)
    interruptible: bool = True
    ends_day: bool = False

    def __post_init__(self) -> None:
        if self.id in BUILT_IN:
            raise ValueError(f"action {self.id!r}: the name belongs to a built-in action")
        if self.minutes < 1 or (self.seats is not None and self.seats < 1):
            raise ValueError(f"action {self.id!r}: it takes a minute and a seat or more")
        if (self.where is Where.FACILITY) != bool(self.tags):
            raise ValueError(f"action {self.id!r}: tags name the facilities of an action done in a facility")
        if self.seats is not None and self.where is not Where.FACILITY:
            raise ValueError(f"action {self.id!r}: only a facility has seats")

    @property
    def per_hour(self) -> Mapping[str, float]:
        """The effects as rates, points an hour."""
        return {need_id: points * MINUTES_PER_HOUR / self.minutes for need_id, points in self.effects.items()}

    @property
    def needs(self) -> tuple[str, ...]:
        """The needs that it asks for, costs or moves."""
        return (*self.cost, *self.effects, *(bound.need_id for bound in self.requires))

    def may_begin(self, t: WorldTime) -> bool:
        """Whether its own hours allow it."""
        return any(h.contain(minute_of_day(t)) for h in self.hours)


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """A world's needs and actions, in the author's order. `talk_effects`: points a need gains in an hour of talking.

    Raises:
        ValueError: two actions of one id, or a need that is not there.
    """

    needs: Needs
    actions: tuple[ActionDef, ...]
    talk_effects: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = [action.id for action in self.actions]
        if len(set(ids)) != len(ids):
            raise ValueError(f"two actions of one id: {ids}")
        named = {*self.talk_effects, *(need_id for action in self.actions for need_id in action.needs)}
        if unknown := sorted(need_id for need_id in named if need_id not in self.needs):
            raise ValueError(f"actions name needs which there are not: {unknown}")

    def action(self, action_id: str) -> ActionDef:
        """Raises: KeyError."""
        return self._by_id[action_id]

    def find(self, action_id: str | None) -> ActionDef | None:
        """The author's action of that id; None: there is none."""
        return self._by_id.get(action_id or "")

    def knows(self, action_id: str) -> bool:
        """Whether there is such an action, built in or the author's."""
        return action_id in BUILT_IN or action_id in self._by_id

    @cached_property
    def _by_id(self) -> Mapping[str, ActionDef]:
        return {action.id: action for action in self.actions}


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
    """of actions.json, or built in (walk, talk, wait)"""
    node_id: str
    """the node where it can be done"""
    walk_minutes: int = 0
    """world minutes to walk there; 0: it stands there"""
    minutes: int = 0
    """world minutes it takes; 0: until it is over"""
    facility_id: str | None = None
    """where, if it is in a facility; else null"""
    target_id: str | None = None
    """who would be spoken to"""
    talk_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Something that is not possible now, and why."""

    action_id: str
    """of actions.json, or built in (walk, talk, wait)"""
    reason: Reason
    facility_id: str | None = None
    """where, if it is in a facility; else null"""
    target_id: str | None = None
    """who would be spoken to; else null"""
    facts: Mapping[str, str | int | float] = field(default_factory=dict)
    """what the reason is about: which need, which hours, who"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Possibilities:
    """What can be done and what cannot; each in the author's order of actions, then by walking minutes, then by id."""

    options: tuple[Option, ...]
    refusals: tuple[Refusal, ...]
