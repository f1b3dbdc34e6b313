"""Owns what a character knows when it decides or plans its day: the values its prompts are rendered from, and its
answers.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from service.content.profile import CharacterProfile
from service.llm.chat import PromptValues
from service.people.person import FeltNeed
from world.option import Option
from world.places import ALWAYS_OPEN, Hours

MAX_BLOCKS = 10
MIN_BLOCKS = 2


class Decision(BaseModel, extra="forbid"):
    """What a character answers: the number of an option, and, of a talk, what it wants of it."""

    thought: str = Field(max_length=200)
    choice: int = Field(ge=1, le=99)
    target: str = Field(max_length=80, description="name of whom or where, or empty")
    goal: str = Field(max_length=200, description="of a talk, else empty")
    success_criteria: str = Field(max_length=200, description="of a talk, else empty")


class PlannedBlock(BaseModel, extra="forbid"):
    """One block of a planned day. `place` is the number of a listed facility, 0 is home."""

    starts: Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description="HH:MM")]
    activity: str = Field(min_length=1, max_length=80)
    place: int = Field(ge=0, le=99)
    action: str = Field(max_length=80, description="an action id listed, or empty")


class DayPlan(BaseModel, extra="forbid"):
    """What a character answers when it plans its day."""

    blocks: list[PlannedBlock] = Field(min_length=MIN_BLOCKS, max_length=MAX_BLOCKS)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanLine:
    """A block of the day. `at` is ``HH:MM``; `place` is its facility's name, "" for home."""

    at: str
    activity: str
    facility_id: str | None
    place: str
    action_id: str | None
    is_current: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Other:
    """Somebody in sight, NPC or character, `minutes` away. `doing` is in words; `talks_with` are names, or ""."""

    id: str
    name: str
    minutes: int
    doing: str
    talks_with: str
    is_free: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PastTalk:
    """A talk of this day: with whom, and how it is told."""

    partner_id: str
    partner_name: str
    told: str


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Something the character may choose: its number, the option, and how it reads. `is_planned`: the day's block wants
    it. `helps` is the need it is for, `keeps` the promise that it keeps ("": none), `is_night` marks the night's
    sleep.
    """

    number: int
    option: Option
    text: str
    partner_name: str = ""
    is_planned: bool = False
    helps: str = ""
    is_night: bool = False
    keeps: str = ""


@dataclass(frozen=True, kw_only=True)
class BaseContext(PromptValues):
    """What both prompts share: who, when and where, what is announced (`notices`), and what is on the
    character's mind. `at` is the hour, ``HH:MM``.

    `fault` is why its first answer could not be used, and `wrong_answer` that answer; both "" when asked first.
    """

    speaker: CharacterProfile
    now: str
    at: str
    place: str
    needs: tuple[FeltNeed, ...]
    notices: tuple[str, ...] = ()
    day: tuple[PlanLine, ...] = ()
    items: tuple[str, ...] = ()
    today: tuple[PastTalk, ...] = ()
    mid_term: tuple[str, ...] = ()
    wrong_answer: str = ""
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class DecisionContext(BaseContext):
    """`ended` says what ended and why, `ended_id` is its action; `remembered` is what its long-term memory brings up,
    each with when; `refusals` are what is not possible and why, in words.
    """

    ended: str
    ended_id: str
    others: tuple[Other, ...] = ()
    remembered: tuple[str, ...] = ()
    offers: tuple[Offer, ...]
    refusals: tuple[str, ...] = ()

    @property
    def not_offered(self) -> tuple[Other, ...]:
        """Those in sight with whom no talk is offered, because they are busy or there are too many."""
        offered = {offer.option.target_id for offer in self.offers}
        return tuple(other for other in self.others if other.id not in offered)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanAction:
    """An action a plan may name: how long it takes, and what it costs and brings, in words ("": nothing)."""

    action_id: str
    name: str
    minutes: int
    gains: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanPlace:
    """A facility a plan may name: its number, the way there in minutes, when it is open, what can be done there, and
    who stands there.
    """

    number: int
    facility_id: str
    name: str
    minutes: int
    open: tuple[Hours, ...]
    actions: tuple[PlanAction, ...]
    people: tuple[str, ...] = ()

    @property
    def hours(self) -> str:
        """When it is open; "" always."""
        return "" if self.open == ALWAYS_OPEN else ", ".join(hours.label for hours in self.open)

    def is_open(self, minute: int) -> bool:
        """Whether it is open at that minute of the day."""
        return any(hours.contain(minute) for hours in self.open)


@dataclass(frozen=True, kw_only=True)
class PlanContext(BaseContext):
    """`day` is the routine, or the plan that broke, and `broken` why it did ("": a new day). The plan is about what
    follows `at`. `at_home` are the actions of home.
    """

    places: tuple[PlanPlace, ...]
    at_home: tuple[PlanAction, ...]
    broken: str = ""

    @property
    def actions(self) -> tuple[PlanAction, ...]:
        """Every action that may be named, once."""
        everywhere = (*self.at_home, *(doing for place in self.places for doing in place.actions))
        return tuple({doing.action_id: doing for doing in everywhere}.values())
