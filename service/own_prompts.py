"""Owns the check of a game's own prompts: each is rendered as the service's are, from examples of what it is told; and
what a person's file costs in them. Of the examples one says all there is to say, and others say hardly anything: they
are made by the types of what they hold, so a field that is added later has something in it, too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from jinja2 import Environment, TemplateError, TemplateSyntaxError, nodes
from pydantic import BaseModel, create_model

from service.content.check import examine
from service.content.fields import ContentProblem, T, hint, problem, quote
from service.content.load import Content, ContentRefused, load_content
from service.content.profile import Mood, NpcProfile
from service.conversation import prompt as speaking
from service.conversation.context_selection import PERSONA_TOKENS
from service.conversation.interventions import LongTermContext
from service.conversation.moderator import AttitudeContext, ModeratorContext, ModulatorContext
from service.conversation.prompt import ActionOutcome, PromptContext
from service.conversation.sketch import SketchContext
from service.conversation.surveys import AnswerForm, ScanContext, SurveyContext
from service.conversation.writing import AsideContext, Form, WriteContext
from service.decision import context as deciding
from service.decision.context import DecisionContext, Offer, Other, PastTalk, PlanContext
from service.llm.chat import OwnPrompts, Templates, estimate_tokens
from service.locales import Language
from service.memory import mind as reflecting
from service.memory.closing import ask as closing
from service.memory.closing.context import ClosingContext, OpenPromise, Participant, SpokenLine
from service.memory.closing.verify import Claim, VerifyContext
from service.memory.mind import ReflectionContext
from service.store.phase import CallState

_RAISED = (TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a template can end with."""


def load_game(directory: Path) -> Content:
    """Read and check the content files, and the game's own prompts.

    Raises:
        ContentErrors: they have errors; it names all of those of the files, or of the prompts.
    """
    content = load_content(directory)
    problems = [*check_prompts({language: content.cast(language).own_prompts for language in content.casts})]
    if problems:
        raise ContentRefused(directory, problems)
    return content


def game_problems(directory: Path) -> list[ContentProblem]:
    """Everything wrong with the content files and the game's own prompts."""
    checked = examine(directory)
    return [*checked.problems, *check_prompts(checked.own_prompts)]


_LISTED = ("tendencies", "identity", "goals", "facts", "lines")
"""What of a profile stands in prompts, beside two texts."""


@dataclass(frozen=True, kw_only=True)
class PersonaCost:
    """What a person's file takes of each prompt in which it speaks, in estimated tokens; and what comes in at most when
    two meet and the moment asks for it.
    """

    person_id: str
    always: int
    moment: int


def persona_costs(content: Content, language: Language) -> Iterator[PersonaCost]:
    """What each person costs, by the game's own prompts where it has some."""
    cast = content.cast(language)
    for person in (*cast.npcs.values(), *cast.characters.values()):
        nobody = person.model_copy(update={"personality": "", "custom_prompt": "", **dict.fromkeys(_LISTED, ())})
        told, untold = (
            bare(PromptContext, speaker=one, begins=False, language=language, own_prompts=cast.own_prompts)
            for one in (person, nobody)
        )
        system, frame = (speaking.render_record(one).system for one in (told, untold))
        yield PersonaCost(
            person_id=person.id,
            always=estimate_tokens(system) - estimate_tokens(frame),
            moment=min(PERSONA_TOKENS, sum(estimate_tokens(line.told) for line in person.persona)),
        )


def check_prompts(own: Mapping[Language, OwnPrompts]) -> Iterator[ContentProblem]:
    """Everything wrong with a game's own prompts: by their form, and, where that is right, when they are rendered."""
    for language, prompts in own.items():
        if not prompts:
            continue
        wrong = [found for name, source in prompts for found in _form(language, name, source)]
        yield from wrong or _rendered(language, prompts)


def _form(language: Language, name: str, source: str) -> Iterator[ContentProblem]:
    file = _file(language, name)
    users = [kind for kind, templates in _templates().items() if name in templates.names]
    if not users:
        known = sorted({one for templates in _templates().values() for one in templates.names})
        listed = ", ".join(map(quote, known))
        yield problem(file, (), "prompts.unknown_name", id=quote(name), known=listed, hint=hint(name, known))
        return
    try:
        tree = Environment(autoescape=False).parse(source)  # noqa: S701 - it is only read here
    except TemplateSyntaxError as exc:
        yield problem(file, (), "prompts.no_template", line=exc.lineno, reason=exc.message)
        return
    wanted = _templates()[users[0]].blocks(name, language)
    for block in sorted(set(wanted) - {found.name for found in tree.find_all(nodes.Block)}):
        yield problem(file, (), "prompts.missing_block", name=quote(block), known=", ".join(map(quote, wanted)))
    told = _examples().get(name) or [one for kind in users for one in _examples()[kind]]
    yield from _unknown(file, tree, told)


def _unknown(file: str, tree: nodes.Template, told: Iterable[object]) -> Iterator[ContentProblem]:
    """What the template asks of the scene, in whatever branch, and no scene has."""
    known = {name for example in told for name in dir(example) if not name.startswith("_")}
    for asked in tree.find_all(nodes.Getattr):
        if isinstance(asked.node, nodes.Name) and asked.node.name == "scene" and asked.attr not in known:
            facts = {"line": asked.lineno, "name": asked.attr, "hint": hint(asked.attr, known)}
            yield problem(file, (), "prompts.unknown_variable", **facts)


def _rendered(language: Language, own: OwnPrompts) -> Iterator[ContentProblem]:
    """The first error of each template."""
    seen: set[str] = set()
    for name, templates in _templates().items():
        for block in templates.blocks(name, language):
            for example in _examples()[name]:
                try:
                    templates.render(name, block, language, example, own)
                except _RAISED as exc:
                    place, line = templates.place_of(exc, language, own) or (name, 1)
                    if place not in seen:
                        seen.add(place)
                        yield problem(_file(language, place), (), "prompts.not_rendered", line=line, reason=str(exc))


def _file(language: Language, name: str) -> str:
    return f"prompts/{language}/{name}.j2"


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


@cache
def _examples() -> Mapping[str, Sequence[object]]:
    """By the name of the prompt. They are made for a game that has prompts of its own."""
    npc = bare(NpcProfile)
    closings = tuple(
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

    return {
        "speaker": (
            full(
                PromptContext, sets_goal=False, outcomes=tuple(full(ActionOutcome, state=state) for state in CallState)
            ),
            bare(PromptContext, speaker=npc, begins=False, nudge="broke_character"),
            bare(PromptContext, speaker=npc, begins=False, nudge="go_on"),
            bare(PromptContext, speaker=npc, begins=False, turns_left=1),
            bare(PromptContext, speaker=npc, begins=False, is_reached=True),
            *(bare(PromptContext, sets_goal=True, mood=mood) for mood in get_args(Mood)),
        ),
        "sketch": (
            full(SketchContext, people=2 * (full(PromptContext),), told=2 * ("Something.",)),
            bare(
                SketchContext, people=(bare(PromptContext), bare(PromptContext, speaker=npc)), told=2 * ("Something.",)
            ),
        ),
        "attitude": (full(AttitudeContext), bare(AttitudeContext)),
        "aside": (full(AsideContext), bare(AsideContext)),
        "moderator": (full(ModeratorContext), bare(ModeratorContext)),
        "modulator": (full(ModulatorContext), bare(ModulatorContext)),
        "write": (
            *(full(WriteContext, form=form, mood=mood) for form in get_args(Form) for mood in get_args(Mood)),
            bare(WriteContext, writer=npc),
        ),
        "survey": (
            *(full(SurveyContext, mood=mood) for mood in get_args(Mood)),
            bare(SurveyContext, person=npc, form=AnswerForm(least=1, most=5)),
            bare(SurveyContext, person=npc, form=AnswerForm()),
        ),
        "scan": (full(ScanContext), bare(ScanContext, person=npc)),
        "long_term": (full(LongTermContext), bare(LongTermContext)),
        "closing": closings,
        "verify": (full(VerifyContext, closing=closings[0], claims=(full(Claim), full(Claim, told_by="", mode=""))),),
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


@cache
def _templates() -> Mapping[str, Templates]:
    """By the name of the prompt."""
    return {
        name: templates
        for templates in (speaking.TEMPLATES, closing.TEMPLATES, reflecting.TEMPLATES, deciding.TEMPLATES)
        for name in _examples()
        if name in templates.names
    }
