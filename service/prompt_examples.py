"""Owns examples of what prompts are made from: one that says all there is to say, and others that say hardly anything.

They are made by the types of what they hold: a field that is added later has something in it, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, create_model

from service.content.profile import Mood, NpcProfile
from service.conversation.directing import AttitudeContext, ModeratorContext, ModulatorContext
from service.conversation.long_term import LongTermContext
from service.conversation.prompt import Outcome, PromptContext
from service.conversation.surveys import AnswerForm, ScanContext, SurveyContext
from service.conversation.writing import AsideContext, Form, WriteContext
from service.decision.context import DecisionContext, Offer, Other, PastTalk, PlanContext
from service.memory.closing.context import ClosingContext, OpenPromise, Participant, SpokenLine
from service.memory.closing.verify import Claim, VerifyContext
from service.memory.reflections import ReflectionContext
from service.store.phase import CallState

T = TypeVar("T")

_PLAIN: Mapping[object, object] = {bool: True, int: 1, float: 1.0, str: "Something."}


def full(kind: type[T], **told: Any) -> T:
    """One of that kind with something in every field."""
    return _made(kind, told, is_full=True)


def bare(kind: type[T], **told: Any) -> T:
    """One of that kind with what it cannot be without."""
    return _made(kind, told, is_full=False)


def _made(kind: type[T], told: dict[str, Any], *, is_full: bool) -> T:
    if issubclass(kind, BaseModel):
        types = {name: one.annotation for name, one in kind.model_fields.items() if is_full or one.is_required()}
        return kind.model_construct(**{name: _sample(one, is_full) for name, one in types.items()} | told)
    hints = get_type_hints(kind)
    wanted = [one.name for one in fields(kind) if is_full or one.default is one.default_factory is MISSING]  # type: ignore[arg-type]
    return kind(**{name: _sample(hints[name], is_full) for name in wanted if name != "own_prompts"} | told)


def _sample(kind: Any, is_full: bool) -> Any:
    """Something of that type; of several types, of the first."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Annotated, Union, UnionType):
        return _sample(inside[0], is_full)
    if origin is Literal:
        return inside[0]
    if origin is tuple:
        many = inside[:1] if inside[-1] is Ellipsis else inside
        return tuple(_sample(one, is_full) for one in many)
    if origin is type:
        return create_model("Arguments")
    if hasattr(kind, "__supertype__"):
        return _sample(kind.__supertype__, is_full)
    if is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return _made(kind, {}, is_full=is_full)  # type: ignore[arg-type]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return next(iter(kind))
    return _PLAIN.get(kind, frozenset() if origin is frozenset else {})


_NPC = bare(NpcProfile)

_CLOSING = tuple(
    full(
        ClosingContext,
        participants=(
            full(Participant, ref="a", person_id="aoi", mood=mood, is_player=False),
            bare(Participant, ref="b", person_id="taro", is_player=is_player),
        ),
        goal="Something." if is_player else "",
        goal_achieved=is_player,
        judges=not is_player,
        lines=(full(SpokenLine), full(SpokenLine, did="")),
        promises=(full(OpenPromise, by_id="aoi"),) if is_player else (),
    )
    for mood in get_args(Mood)
    for is_player in (True, False)
)

EXAMPLES: Mapping[str, Sequence[object]] = {
    "speaker": (
        full(PromptContext, sets_goal=False, outcomes=tuple(full(Outcome, state=state) for state in CallState)),
        bare(PromptContext, speaker=_NPC, begins=False, nudge="broke_character"),
        bare(PromptContext, speaker=_NPC, begins=False, nudge="go_on"),
        bare(PromptContext, speaker=_NPC, begins=False, turns_left=1),
        bare(PromptContext, speaker=_NPC, begins=False, is_reached=True),
        *(bare(PromptContext, sets_goal=True, mood=mood) for mood in get_args(Mood)),
    ),
    "attitude": (full(AttitudeContext), bare(AttitudeContext)),
    "aside": (full(AsideContext), bare(AsideContext)),
    "moderator": (full(ModeratorContext), bare(ModeratorContext)),
    "modulator": (full(ModulatorContext), bare(ModulatorContext)),
    "write": (
        *(full(WriteContext, form=form, mood=mood) for form in get_args(Form) for mood in get_args(Mood)),
        bare(WriteContext, writer=_NPC),
    ),
    "survey": (
        *(full(SurveyContext, mood=mood) for mood in get_args(Mood)),
        bare(SurveyContext, person=_NPC, form=AnswerForm(least=1, most=5)),
        bare(SurveyContext, person=_NPC, form=AnswerForm()),
    ),
    "scan": (full(ScanContext), bare(ScanContext, person=_NPC)),
    "long_term": (full(LongTermContext), bare(LongTermContext)),
    "closing": _CLOSING,
    "verify": (full(VerifyContext, closing=_CLOSING[0], claims=(full(Claim), full(Claim, told_by="", mode=""))),),
    "reflection": (full(ReflectionContext), bare(ReflectionContext)),
    "decide": (
        full(DecisionContext, today=6 * (full(PastTalk),)),
        full(
            DecisionContext,
            offers=(bare(Offer),),
            others=(full(Other), full(Other, talks_with=""), full(Other, talks_with="", doing="", is_free=False)),
        ),
        bare(DecisionContext),
    ),
    "plan": (full(PlanContext), bare(PlanContext)),
}
"""By the name of the prompt."""
