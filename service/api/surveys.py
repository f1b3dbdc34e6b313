"""Owns the endpoints by which people are asked outside of any talk: many at once, one about all that it remembers, and
for words in character. Nothing is kept of it but by who asks, unless it is to be remembered.
"""

import csv
import io
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import Field

from service.api.dependencies import (
    KNOWN_QUERY,
    PLAIN,
    AsAsked,
    In,
    Out,
    Serving,
    Slug,
    T,
    World,
    WorldTimeText,
    describe,
)
from service.api.problem import language_of
from service.api.schemas import FailureOut
from service.conversation.surveys import (
    AnswerForm,
    AnswerKind,
    Bar,
    MemorySummary,
    PersonAnswer,
    RestsOn,
    Survey,
    bars_of,
    require_actor,
    summarise,
)
from service.conversation.writing import Form, Wanted, Written, write
from service.core import Core, in_words
from service.errors import refuse
from service.locales import Language, Phrase
from service.offline.model import REHEARSAL
from service.people.worlds import WorldView
from service.store.events import Asked
from service.store.idempotency import Once, Replayed, require_new, write_once
from service.store.usage import CostOut
from service.usage import Usage

router = APIRouter(tags=["people"], dependencies=[KNOWN_QUERY])

MOST_PEOPLE = 1000

Question = Annotated[str, Field(min_length=1, max_length=500), PLAIN]
Bound = Annotated[float, Field(ge=-100_000, le=100_000)]


class RangeIn(In):
    """From where to where a number may be."""

    min: Bound = Field(description="the least that may be answered")
    max: Bound = Field(description="the most, which is above it")


class SurveyIn(
    In,
    examples={
        "a choice": {"question": "Would you move to the city?", "choices": ["yes", "no"]},
        "a number, of these two": {
            "question": "How safe is the pier?",
            "number": {"min": 1, "max": 5},
            "people": ["aoi", "npc_taro"],
        },
        "words on what they are shown": {"stimulus": "A ferry a day, free for a year!", "people": "characters"},
    },
):
    """What is asked, and who. At least one of `question` and `stimulus`; at most one of `choices` and `number`: without
    both, words are answered.
    """

    question: Question | None = Field(
        default=None, description="the question", examples=["Would you move to the city?"]
    )
    stimulus: Question | None = Field(
        default=None, description="what they are shown, before the question or without one"
    )
    choices: (
        Annotated[list[Annotated[str, Field(min_length=1, max_length=100), PLAIN]], Field(min_length=2, max_length=20)]
        | None
    ) = Field(default=None, description="one of these is answered, to the letter")
    number: RangeIn | None = Field(default=None, description="a number within these bounds is answered")
    people: (
        Literal["all", "npcs", "characters"] | Annotated[list[Slug], Field(min_length=1, max_length=MOST_PEOPLE)]
    ) = Field(default="all", description="who is asked: a kind, or ids. Players cannot be")
    remember: bool = Field(
        default=False, strict=True, description="true: each remembers from now on what it was asked, and its answer"
    )


class PersonAnswerOut(Out, of=PersonAnswer, shows="person_id answer because"):
    """What one answered."""

    name: str = Field(description="its name")
    kind: Literal["character", "npc"] = Field(description="what it is")
    rests_on: list[RestsOn] = Field(description="the memories it named, of those it was shown; empty: none")
    failure: FailureOut | None = Field(description="why it answered nothing, in the request's language; null: it did")


class SurveyOut(Out, of=Survey, shows="question stimulus"):
    """What all of them answered."""

    kind: AnswerKind = Field(description="what was to be answered")
    language: Language = Field(description="the language in which they answer")
    at: WorldTimeText = Field(description="the world time")
    answers: list[PersonAnswerOut] = Field(description="each one's, in the order in which they were named")
    bars: list[Bar] = Field(description="how often each was answered: every choice, or spans of numbers; words: none")
    mean: float | None = Field(description="of numbers; null: there are none")
    answered: int = Field(description="how many answered")
    failed: int = Field(description="how many did not")
    remembered: bool = Field(description="whether those who answered remember it")
    models: list[str] = Field(description="who answered: openai:gpt-4.1-mini, rehearsal")
    rehearsal: bool = Field(description="true where no language model answered, but the rehearsal")
    cost: CostOut = Field(description="what the model calls came to")
    csv: str = Field(description="the answers as a CSV file, which no spreadsheet takes for formulas")


class SummaryIn(In, examples={"whom she trusts": {"question": "Whom does she trust, and why?"}}):
    """What is to be summed up."""

    question: Question = Field(description="what it is about", examples=["Whom does she trust, and why?"])


@router.post(
    "/surveys",
    response_model=SurveyOut,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The answers"},
        **describe(404, 409),
    },
)
async def ask_many(
    body: SurveyIn,
    request: Request,
    deps: Serving,
    world: World,
    asked: AsAsked,
    form: Annotated[
        Literal["json", "csv"] | None, Query(alias="as", description="csv: the table alone; left out: as `Accept` says")
    ] = None,
    accept: Annotated[str | None, Header(description="text/csv: the table alone")] = None,
) -> Any:
    """Ask many people the same, a model call each, at once as far as the models' limit lets them. Each answers from its
    persona and from what it remembers that bears on the question; it keeps nothing secret, for nobody of its world
    hears it. An answer that is none costs that person alone. Nothing of it is stored or remembered, unless `remember`
    says so; what it costs is counted for `survey`.
    """
    survey = _survey(body)
    deps.require_models()
    people = _asked_of(world, body.people)

    def told(answers: Sequence[PersonAnswer]) -> SurveyOut:
        return _out(world, survey, answers, remembered=body.remember, language=language_of(request))

    known_as = Once.of(world.id, asked, is_read_anew=True, shown=told)
    database = deps.conversation.database
    try:
        await database.read(lambda s: require_new(s, known_as, read_anew=True))
        out = told(await deps.survey(world, survey, people, remember=body.remember, asked=asked, request=known_as))
    except Replayed as known:
        out = SurveyOut(**known.answer)
    if form == "csv" or (form is None and (accept or "").startswith("text/csv")):
        return Response(out.csv, media_type="text/csv; charset=utf-8")
    return out


@router.post("/people/{person_id}/summary", responses=describe(502))
async def summarise_memory(
    person_id: Slug, body: SummaryIn, deps: Serving, world: World, asked: AsAsked
) -> MemorySummary:
    """Sum up what a person knows of a question, out of everything that it remembers, for what a search cannot answer.
    Its memories are read in parts, a model call each, and what was found becomes one. What another fact has replaced is
    not read; what it keeps secret is. Nothing of it is stored.
    """
    require_actor(world, person_id)
    deps.require_models()
    return await _kept(deps, world, asked, await summarise(deps.conversation, world, person_id, body.question))


async def _kept(deps: Core, world: WorldView, asked: Asked, answer: T) -> T:
    """The answer, which costs model calls and changes nothing; the same request again is not asked of them again."""
    request = Once.of(world.id, asked)
    if request is not None:
        await write_once(deps.conversation.database, request, lambda _: answer)
    return answer


def _survey(body: SurveyIn) -> Survey:
    """Raises: Invalid: nothing is asked, or in two ways; bounds between which there is nothing; a choice twice."""
    choices, number = body.choices or [], body.number
    refuse(
        (body.question is None and body.stimulus is None, "body.question", "answers.invalid_fields.nothing_asked"),
        (bool(choices) and number is not None, "body.number", "answers.invalid_fields.one_answer"),
        (len(set(choices)) < len(choices), "body.choices", "answers.invalid_fields.same_choices"),
        (number is not None and number.min >= number.max, "body.number.max", "answers.invalid_fields.no_range"),
    )
    form = AnswerForm(choices=tuple(choices), least=number.min if number else None, most=number.max if number else None)
    return Survey(question=body.question or "", stimulus=body.stimulus or "", form=form)


def _asked_of(world: WorldView, people: str | Sequence[str]) -> list[str]:
    """Raises: NotFound; Invalid: a player is asked, or too many are."""
    kinds = {"npcs": [*world.cast.npcs], "characters": [*world.cast.characters]}
    kinds["all"] = kinds["npcs"] + kinds["characters"]
    ids = list(kinds[people]) if isinstance(people, str) else list(dict.fromkeys(people))
    too_many = Phrase("answers.invalid_fields.too_many_asked", count=len(ids), most=MOST_PEOPLE)
    refuse((len(ids) > MOST_PEOPLE, "body.people", too_many))
    return [require_actor(world, one).id for one in ids]


def _out(
    world: WorldView, survey: Survey, answers: Sequence[PersonAnswer], *, remembered: bool, language: Language
) -> SurveyOut:
    told = [_answer_out(world, one, language) for one in answers]
    models = sorted({one.model for one in answers if one.model})
    numbers = [one.answer for one in answers if isinstance(one.answer, int | float)]
    return SurveyOut(
        question=survey.question,
        stimulus=survey.stimulus,
        kind=survey.form.kind,
        language=world.language,
        at=world.now,
        answers=told,
        bars=bars_of(survey.form, answers),
        mean=round(sum(numbers) / len(numbers), 3) if numbers else None,
        answered=sum(one.failure is None for one in answers),
        failed=sum(one.failure is not None for one in answers),
        remembered=remembered,
        models=models,
        rehearsal=REHEARSAL in models,
        cost=CostOut.of(sum((one.usage for one in answers), Usage())),
        csv=_csv(told),
    )


def _answer_out(world: WorldView, one: PersonAnswer, language: Language) -> PersonAnswerOut:
    person, wrong = world.cast.actor(one.person_id), one.failure
    return PersonAnswerOut(
        person_id=person.id,
        name=person.name,
        kind=person.kind,
        answer=one.answer,
        because=one.because,
        rests_on=[RestsOn(refs=list(memory.sources), text=memory.text) for memory in one.rests_on],
        failure=wrong and FailureOut(type=wrong.slug, role=person.kind, detail=wrong.sentence(language)),
    )


_COLUMNS = ("person_id", "name", "kind", "answer", "because", "rests_on", "refs", "failure")


def _csv(answers: Sequence[PersonAnswerOut]) -> str:
    """The table; it begins as spreadsheets want it that read Japanese."""
    file = io.StringIO("\ufeff", newline="")
    file.seek(0, io.SEEK_END)
    table = csv.writer(file)
    table.writerow(_COLUMNS)
    for one in answers:
        told = one.model_dump(include=set(_COLUMNS))
        told["failure"] = one.failure.detail if one.failure is not None else ""
        told["refs"] = " | ".join(ref for memory in one.rests_on for ref in memory.refs)
        told["rests_on"] = " | ".join(memory.text for memory in one.rests_on)
        table.writerow(_cell(told[column]) for column in _COLUMNS)
    return file.getvalue()


def _cell(value: str | float | None) -> str:
    """A text that a spreadsheet would take for a formula begins with an apostrophe; a number stays one."""
    text = in_words(value)
    return f"'{text}" if isinstance(value, str) and text.lstrip()[:1] in ("=", "+", "-", "@", "|", "\t") else text


class WriteIn(
    In,
    examples={
        "a line in passing": {"kind": "bark", "about": "the weather"},
        "a letter": {"kind": "letter", "to": "aoi"},
        "a page of a diary": {"kind": "diary"},
    },
):
    """What is to be written."""

    kind: Form = Field(
        description="bark: a short line said in passing; letter: to somebody, signed; diary: of the writer's day"
    )
    about: Annotated[str, Field(max_length=300), PLAIN] = Field(
        default="", description="what about; left out: whatever is on the writer's mind", examples=["the festival"]
    )
    to: Slug | None = Field(default=None, description="id of the person whom a letter is for; only with a letter")


@router.post("/people/{person_id}/write")
async def write_as_person(person_id: Slug, body: WriteIn, deps: Serving, world: World, asked: AsAsked) -> Written:
    """Words in character that are no conversation, by one model call: what the writer does not know does not come into
    them, nor what it keeps secret from whom it writes to. Nothing is stored, and nobody remembers it.
    """
    wanted = Wanted(person_id=person_id, form=body.kind, to_id=body.to, about=body.about.strip())
    deps.require_models()
    return await _kept(deps, world, asked, await write(deps.conversation, world, wanted))
