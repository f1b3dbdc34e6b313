"""Owns what people answer who are asked by nobody of their world: one call each, and nothing is remembered of it; and
what somebody knows of a question, out of all that it remembers. One who answers nonsense costs that one alone.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from sqlmodel import Session

from service.content.profile import CharacterProfile, Mood, NpcProfile
from service.conversation.context_selection import persona_told
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import told_prompt
from service.conversation.utterance import breaks_character
from service.conversation.writing import counted
from service.errors import ModelEmpty, ModelError, ModelOutOfCharacter, refuse
from service.llm.chat import Answer, Prompt, PromptValues, estimate_tokens
from service.locales import Language
from service.memory.closing.context import Ref, Sentence
from service.memory.mind import mid_term_memories, self_told
from service.memory.recall import on_mind_line, remembered
from service.memory.record import Group, HeardTurn, Item, Kind, Memory
from service.memory.telling import one_line, ref_of, remembered_as
from service.people.attitude import moods
from service.people.worlds import WorldView
from service.store.shown import Out, ToldWorldTime
from service.store.usage import CostOut
from service.usage import Usage

SHOWN_TOKENS = 400
"""Most tokens, by `estimate_tokens`, of the memories that somebody is shown who is asked."""
BATCH_TOKENS = 2000
"""The same of those that are read at once where all of them are."""
MOST_BARS = 10
MERGED = 8
"""So many parts of a summary at most become one."""
SURVEY_TOKENS, SCAN_TOKENS = 400, 900

AnswerKind = Literal["choice", "number", "words"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerForm:
    """What may be answered: one of `choices`, a number from `least` to `most`, or words."""

    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    @property
    def kind(self) -> AnswerKind:
        """As a word."""
        if self.choices:
            return "choice"
        return "words" if self.least is None else "number"


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """What many are asked. `stimulus` is what they are shown before it; without a question, what they say to that."""

    question: str
    """as it was asked; empty: there was none"""
    stimulus: str = ""
    """what they were shown; empty: nothing"""
    form: AnswerForm = AnswerForm()


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A memory as a prompt shows it, under the short `ref` that an answer may cite; `sources` refer to what it is of
    (``memory:…``, ``talk:…``).
    """

    ref: str
    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AskedContext(PromptValues):
    """What is asked of whom, and the memories of it that are shown."""

    person: CharacterProfile | NpcProfile
    now: str
    question: str
    shown: tuple[Shown, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SurveyContext(AskedContext):
    """What somebody knows who is asked. Nobody of its world hears the answer: it keeps nothing secret."""

    mood: Mood
    stimulus: str = ""
    form: AnswerForm
    persona: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ScanContext(AskedContext):
    """A part of what somebody remembers; `merging`: of what was found in such parts."""

    merging: bool = False


class ScanSentence(BaseModel, extra="forbid"):
    """A sentence of a summary, and the refs of what it rests on."""

    text: Sentence
    rests_on: list[Ref] = Field(max_length=12)


class ScanPart(BaseModel, extra="forbid"):
    """What is answered of a part."""

    sentences: list[ScanSentence] = Field(max_length=10)


@dataclass(frozen=True, kw_only=True)
class PersonAnswer:
    """What somebody answered; None: nothing, for `failure`. `rests_on`: which of the memories shown it named."""

    person_id: str
    """id of the person"""
    answer: str | float | None = None
    """the choice, the number or the words; null: see `failure`"""
    because: str = ""
    """why, in a sentence; empty: see `failure`"""
    rests_on: tuple[Shown, ...] = ()
    failure: ModelError | None = None
    usage: Usage = field(default_factory=Usage)
    model: str = ""


class Bar(Out):
    """How many answered so."""

    label: str = Field(description="a choice, a number, or a span of numbers")
    count: int = Field(description="how many")


class RestsOn(Out):
    """A memory that something rests on."""

    refs: list[str] = Field(description="what it is: `memory:…`, `turn:…`, `talk:…`, `promise:…`")
    text: str = Field(description="as the prompt showed it")


class SummarySentence(Out):
    """A sentence of a summary."""

    text: str = Field(description="the sentence, in the world's language")
    rests_on: list[RestsOn] = Field(description="the memories it rests on; at least one")


class MemorySummary(Out):
    """What a person knows of a question, out of all that it remembers."""

    person_id: str = Field(description="id of the person")
    question: str = Field(description="as it was asked")
    language: Language = Field(description="the language of the summary")
    at: ToldWorldTime = Field(description="the world time")
    sentences: list[SummarySentence] = Field(description="the summary; empty: nothing bears on the question")
    memories: int = Field(description="how many memories were read: all that it has and holds true")
    parts: int = Field(description="in how many parts they were read: a call each, and one for each 8 results")
    model: str = Field(description="which model made it; empty: there was nothing to read")
    cost: CostOut = Field(description="what the model calls came to")


@lru_cache(maxsize=256)
def answer_of(form: AnswerForm) -> type[BaseModel]:
    """The answer's schema: what it rests on and why, and then the answer."""
    wanted: Any = Annotated[str, Field(min_length=1, max_length=600)]
    if form.kind == "choice":
        wanted = Literal[form.choices]
    elif form.kind == "number":
        wanted = Annotated[float, Field(ge=form.least, le=form.most, allow_inf_nan=False)]
    return create_model(
        "SurveyAnswer",
        __config__=ConfigDict(extra="forbid"),
        rests_on=(Annotated[list[Ref], Field(max_length=6)], ...),
        because=(Annotated[str, Field(min_length=1, max_length=300)], ...),
        answer=(wanted, ...),
    )


def survey_prompt(context: SurveyContext) -> Prompt[BaseModel]:
    """The question as it is sent to one of those who are asked."""
    answer = answer_of(context.form)
    return told_prompt("survey", context.person.kind, context, answer, max_tokens=SURVEY_TOKENS)


def scan_prompt(context: ScanContext) -> Prompt[ScanPart]:
    """The question as it is sent of one part."""
    return told_prompt("scan", context.person.kind, context, ScanPart, max_tokens=SCAN_TOKENS)


async def ask_people(
    deps: ConversationDependencies, world: WorldView, survey: Survey, people: Sequence[str]
) -> list[PersonAnswer]:
    """What each of them answers, in their order: all are asked at once, as far as the models' limit lets them.

    Raises:
        NotFound: there is no such person.
        Invalid: a player is asked.
    """
    asked = [require_actor(world, person_id) for person_id in people]
    return list(await asyncio.gather(*(_ask(deps, world, survey, person) for person in asked)))


async def summarise(deps: ConversationDependencies, world: WorldView, person_id: str, question: str) -> MemorySummary:
    """What somebody knows of the question, out of all that it remembers: one call for each part of that, and one for
    each `MERGED` results, until there is one.

    Raises:
        NotFound: there is no such person.
        Invalid: it is a player.
        ModelError: a call failed; a summary of what is left would not be one of everything.
        GraphUnavailable.
    """
    person = require_actor(world, person_id)
    memories = await _everything(deps, world, person)
    context = ScanContext(
        language=world.language,
        person=person,
        now=world.sky,
        question=question,
        own_prompts=world.cast.own_prompts,
    )
    parts = [replace(context, shown=part) for part in in_parts(memories)]
    usage, model, merging = Usage(), "", parts
    found: list[tuple[Shown, ...]] = []
    while merging:
        answers = await _all([counted(deps, world, person_id, scan_prompt(one), "survey") for one in merging])
        usage, model = sum((one.usage for one in answers), usage), answers[0].model
        found = [
            told for one, answer in zip(merging, answers, strict=True) if (told := _carried(one.shown, answer.value))
        ]
        merging = [
            replace(context, shown=_numbered(found[first : first + MERGED]), merging=True)
            for first in range(0, len(found) if len(found) > 1 else 0, MERGED)
        ]
    texts = {source: one.text for one in memories for source in one.sources}
    return MemorySummary(
        person_id=person_id,
        question=question,
        language=world.language,
        at=world.now,
        sentences=[
            SummarySentence(text=one.text, rests_on=[RestsOn(refs=[ref], text=texts[ref]) for ref in one.sources])
            for one in (found[0] if found else ())
        ],
        memories=len(memories),
        parts=len(parts),
        model=model,
        cost=CostOut.of(usage),
    )


def bars_of(form: AnswerForm, answers: Sequence[PersonAnswer]) -> list[Bar]:
    """How many answered each choice, each whole number where these are few, else a tenth of the range."""
    given = [one.answer for one in answers if one.answer is not None]
    if form.choices:
        counts = Counter(given)
        return [Bar(label=choice, count=counts[choice]) for choice in form.choices]
    if form.least is None or form.most is None:
        return []
    least, width = form.least, (form.most - form.least) / MOST_BARS
    numbers = [float(one) for one in given]
    steps = int(form.most - least)
    if least.is_integer() and form.most.is_integer() and steps < MOST_BARS and all(map(float.is_integer, numbers)):
        return [Bar(label=f"{least + step:g}", count=numbers.count(least + step)) for step in range(steps + 1)]
    places = Counter(min(int((one - least) / width), MOST_BARS - 1) for one in numbers)
    edges = [f"{least + place * width:g}" for place in range(MOST_BARS + 1)]
    return [Bar(label=f"{edges[n]} – {edges[n + 1]}", count=places[n]) for n in range(MOST_BARS)]


def require_actor(world: WorldView, person_id: str) -> CharacterProfile | NpcProfile:
    """Somebody for whom a model can answer. Raises: NotFound, Invalid."""
    refuse((world.cast.person(person_id).kind == "player", "person_id", "answers.invalid_fields.player_asked"))
    return world.cast.actor(person_id)


def in_parts(shown: Iterable[Shown], tokens: int = BATCH_TOKENS) -> list[tuple[Shown, ...]]:
    """All of it, in parts of so many tokens at most; what is longer by itself is one."""
    parts: list[list[Shown]] = []
    room = 0
    for one in shown:
        cost = estimate_tokens(f"{one.ref} {one.text}")
        if not parts or cost > room:
            parts.append([])
            room = tokens
        parts[-1].append(one)
        room -= cost
    return [tuple(part) for part in parts]


async def _ask(
    deps: ConversationDependencies, world: WorldView, survey: Survey, person: CharacterProfile | NpcProfile
) -> PersonAnswer:
    context = await _gather(deps, world, survey, person)
    try:
        answer = await counted(deps, world, person.id, survey_prompt(context), "survey", partial(_fault, context))
    except ModelError as exc:
        return PersonAnswer(person_id=person.id, failure=exc, usage=exc.usage)
    told: Any = answer.value
    return PersonAnswer(
        person_id=person.id,
        answer=one_line(told.answer) if isinstance(told.answer, str) else told.answer,
        because=one_line(told.because),
        rests_on=tuple(one for one in context.shown if one.ref in told.rests_on),
        usage=answer.usage,
        model=answer.model,
    )


async def _all(calls: Sequence[Any]) -> list[Answer[ScanPart]]:
    """Every answer, when all have come. Raises: ModelError: the first one."""
    answers: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
    for one in answers:
        if isinstance(one, BaseException):
            raise one
    return answers


def _fault(context: SurveyContext, answer: Answer[BaseModel]) -> ModelError | None:
    """What is wrong with an answer of the right form."""
    told: Any = answer.value
    words = one_line(f"{told.answer} {told.because}") if isinstance(told.answer, str) else one_line(told.because)
    person = context.person
    own = (person.name, person.personality, person.custom_prompt, *person.identity, *person.facts, *context.persona)
    if isinstance(told.answer, str) and not one_line(told.answer):
        return ModelEmpty(model=answer.model)
    is_out = breaks_character(words, (*own, *person.lines, *context.secrets, context.question, context.stimulus))
    return ModelOutOfCharacter(model=answer.model) if is_out else None


async def _gather(
    deps: ConversationDependencies, world: WorldView, survey: Survey, person: CharacterProfile | NpcProfile
) -> SurveyContext:
    query = f"{survey.stimulus} {survey.question}".strip()
    cools, limit = deps.settings.memory.mood_cools_hours, deps.settings.memory.recall_limit

    def work(session: Session) -> tuple[list[Shown], Mood]:
        own = [_shown_of(world, one, person.id) for one in reversed(self_told(session, world, person.id)[person.id])]
        return [*_on_mind(session, world, person.id), *own], moods(session, world, [person.id], cools)[person.id]

    own, mood = await deps.database.read(work)
    found = await remembered(deps.memory, world, person.id, query, limit=limit, kinds=set(Kind))
    bearing = [_shown_of(world, one.item, person.id) for one in found if one.bears]
    return SurveyContext(
        language=world.language,
        person=person,
        now=world.sky,
        mood=mood,
        question=survey.question,
        stimulus=survey.stimulus,
        form=survey.form,
        persona=persona_told(world, person, query, []),
        secrets=tuple(secret.fact for secret in person.secrets),
        shown=next(iter(in_parts(_numbered([bearing, own]), SHOWN_TOKENS)), ()),
        own_prompts=world.cast.own_prompts,
    )


async def _everything(
    deps: ConversationDependencies, world: WorldView, person: CharacterProfile | NpcProfile
) -> tuple[Shown, ...]:
    """All that the person remembers and holds true, oldest first, and then what it has promised and was promised:
    neither a memory that has ended, nor the turn in which that was said.
    """
    group = Group(world_id=world.id, person_id=person.id)
    items = [one for one in await deps.memory.items(group, world.now) if one.known_from <= world.now]
    memories = [one for one in items if isinstance(one, Memory)]
    said = {
        holds: {
            (one.conversation_id, turn) for one in memories if one.known_at(world.now) is holds for turn in one.turns
        }
        for holds in (True, False)
    }
    over = said[False] - said[True]

    def is_held(one: Item) -> bool:
        if isinstance(one, Memory):
            return one.known_at(world.now)
        return not isinstance(one, HeardTurn) or (one.conversation_id, one.turn) not in over

    held = sorted(filter(is_held, items), key=lambda one: (one.known_from, ref_of(one)))
    own = await deps.database.read(lambda s: _on_mind(s, world, person.id))
    return _numbered([[_shown_of(world, one, person.id) for one in held], own])


def _on_mind(session: Session, world: WorldView, person_id: str) -> list[Shown]:
    """What is on the person's mind, and promised; the most urgent first."""
    found = reversed(mid_term_memories(session, world, person_id)[person_id])
    lines = (on_mind_line(world, one) for one in found)
    return [Shown(ref="", text=one_line(line.text), sources=(line.ref,)) for line in lines]


def _shown_of(world: WorldView, item: Item, person_id: str) -> Shown:
    return Shown(ref="", text=one_line(remembered_as(world, item, person_id)), sources=(ref_of(item),))


def _numbered(parts: Iterable[Iterable[Shown]]) -> tuple[Shown, ...]:
    """All of them, each once, with short refs of their own."""
    each = dict.fromkeys(one for part in parts for one in part)
    return tuple(replace(one, ref=f"m{number}") for number, one in enumerate(each, 1))


def _carried(shown: Sequence[Shown], part: ScanPart) -> tuple[Shown, ...]:
    """The sentences that rest on something that was shown, each with what that is of."""
    by_ref = {one.ref: one.sources for one in shown}
    told = (
        (one_line(one.text), dict.fromkeys(source for name in one.rests_on for source in by_ref.get(name, ())))
        for one in part.sentences
    )
    return tuple(Shown(ref="", text=text, sources=tuple(sources)) for text, sources in told if text and sources)
