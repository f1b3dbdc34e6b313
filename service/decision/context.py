"""Owns what a character's model is asked when it decides or plans its day: the values of its prompts, its answers, and
why one cannot be used.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, Field

from service.content.profile import CharacterProfile, RoutineBlock
from service.decision.options import minute_of
from service.errors import ModelBroken, ModelError
from service.llm.chat import ChatModel, Message, Prompt, PromptValues, T, Templates
from service.locales import sentence
from service.people.person import FeltNeed
from service.usage import Usage
from world.actions import TALK, Option
from world.places import ALWAYS_OPEN, Hours
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR

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
class Opening:
    """What a plan may name between certain hours only."""

    name: str
    open: tuple[Hours, ...] = ALWAYS_OPEN

    @property
    def hours(self) -> str:
        """When it is open; "" always."""
        return "" if self.open == ALWAYS_OPEN else ", ".join(hours.label for hours in self.open)

    def is_open(self, minute: int) -> bool:
        """Whether it is open at that minute of the day."""
        return any(hours.contain(minute) for hours in self.open)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanAction(Opening):
    """An action a plan may name: how long it takes, and what it costs and brings, in words ("": nothing)."""

    action_id: str
    minutes: int
    gains: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanPlace(Opening):
    """A facility a plan may name: its number, the way there in minutes, what can be done there, who stands there."""

    number: int
    facility_id: str
    minutes: int
    actions: tuple[PlanAction, ...]
    people: tuple[str, ...] = ()


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


def decision_fault(context: DecisionContext, decision: Decision) -> str | None:
    """Why the decision cannot be carried out as it is answered."""
    say, offer = partial(sentence, context.language), offer_of(context, decision)
    if offer is None:
        return say("decision.faults.choice", choice=decision.choice, last=len(context.offers))
    if offer.option.action_id != TALK:
        return None
    if not (decision.goal.strip() and decision.success_criteria.strip()):
        return say("decision.faults.goal")
    target = decision.target.strip()
    if target and not _is(target, offer):
        return say("decision.faults.target", choice=decision.choice, name=offer.partner_name, target=target)
    return None


def offer_of(context: DecisionContext, decision: Decision) -> Offer | None:
    """What it chose; None: no option has that number."""
    return context.offers[decision.choice - 1] if decision.choice <= len(context.offers) else None


def plan_fault(context: PlanContext, plan: DayPlan) -> str | None:
    """Why the plan cannot be lived: its order, a place or action that is not there, or not at that hour."""
    say, earlier = partial(sentence, context.language), -1
    # An hour ago at the earliest: what goes on already may be the first block. Blocks may run past midnight.
    begins = minute_of(context.at) - MINUTES_PER_HOUR
    for block in plan.blocks:
        offset = (minute_of(block.starts) - begins) % MINUTES_PER_DAY
        if offset <= earlier:
            return say("decision.faults.order", starts=context.at, at=block.starts)
        earlier = offset
        if block.place > len(context.places):
            return say("decision.faults.place", place=block.place, last=len(context.places))
        fault = _place_fault(context, block)
        if fault is not None:
            return fault
    return None


def plan_blocks(context: PlanContext, plan: DayPlan) -> tuple[RoutineBlock, ...]:
    """A checked plan as it is kept. What lies before its first block is free."""
    blocks = tuple(
        RoutineBlock(
            starts=minute_of(block.starts),
            activity=block.activity.strip(),
            facility_id=context.places[block.place - 1].facility_id if block.place else None,
            action_id=block.action.strip() or None,
        )
        for block in plan.blocks
    )
    begins = minute_of(context.at)
    if 0 < (blocks[0].starts - begins) % MINUTES_PER_DAY < MINUTES_PER_DAY - MINUTES_PER_HOUR:
        return RoutineBlock(starts=begins, activity=sentence(context.language, "decision.free")), *blocks
    return blocks


def _place_fault(context: PlanContext, block: PlannedBlock) -> str | None:
    say = partial(sentence, context.language)
    place: PlanPlace | None = context.places[block.place - 1] if block.place else None
    doings = {doing.action_id: doing for doing in (*(place.actions if place else ()), *context.at_home)}
    action = block.action.strip()
    if action and action not in doings:
        return say("decision.faults.action", action=action, name=place.name if place else say("decision.faults.home"))
    for one in filter(None, (place, doings.get(action))):
        if not one.is_open(minute_of(block.starts)):
            return say("decision.faults.closed", name=one.name, at=block.starts, hours=one.hours)
    return None


def _is(target: str, offer: Offer) -> bool:
    said, name = target.casefold(), offer.partner_name.casefold()
    return said in (name, (offer.option.target_id or "").casefold()) or (bool(name) and name in said)


TEMPLATES = Templates(__file__)


def decide_prompt(context: DecisionContext) -> Prompt[Decision]:
    """Ask the character what it does next."""
    return _asked("decide", context, Decision, max_tokens=400)


def plan_prompt(context: PlanContext) -> Prompt[DayPlan]:
    """Ask the character for its day."""
    return _asked("plan", context, DayPlan, max_tokens=900)


def _asked(name: str, context: BaseContext, answer: type[T], *, max_tokens: int) -> Prompt[T]:
    prompt = TEMPLATES.question(name, "decision", context, answer, max_tokens=max_tokens)
    if not context.fault:
        return prompt
    repair = TEMPLATES.render(name, "repair", context.language, context, context.own_prompts)
    wrong = Message(role="assistant", content=context.wrong_answer)
    return replace(prompt, messages=(*prompt.messages, wrong, Message(role="user", content=repair)))


S = TypeVar("S", bound=BaseContext)

IN_VAIN = Usage(failures=1)


@dataclass(frozen=True, kw_only=True)
class ModelReply(Generic[T]):
    """The outcome: an answer that passed the check, or the failure.

    `model` answered the `messages` of the last try ("": nobody was asked).
    """

    value: T | None = None
    usage: Usage = field(default_factory=Usage)
    failure: ModelError | None = None
    model: str = ""
    messages: tuple[Message, ...] = ()


async def ask(
    model: ChatModel, prompt: Callable[[S], Prompt[T]], context: S, fault: Callable[[S, T], str | None], thread: str
) -> ModelReply[T]:
    """The model's answer, repaired once if `fault` finds a fault in it. `thread` names the character that decides. It
    raises no ModelError.
    """
    asked = ModelReply[T](model=model.name)
    reason = ""
    for _ in range(2):
        question = replace(prompt(context), thread=thread)
        asked = replace(asked, messages=question.messages)
        try:
            answer = await model.complete(question)
        except ModelError as exc:
            return replace(asked, usage=asked.usage + exc.usage + IN_VAIN, failure=exc)
        asked = replace(asked, usage=asked.usage + answer.usage, model=answer.model)
        found = fault(context, answer.value)
        if found is None:
            return replace(asked, value=answer.value)
        asked, reason = replace(asked, usage=asked.usage + IN_VAIN), found
        context = replace(context, fault=found, wrong_answer=answer.value.model_dump_json())
    return replace(asked, failure=ModelBroken(model=model.name, reason=reason))
