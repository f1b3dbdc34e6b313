"""Owns the sessions of a dialogue: the two meet on dates of the story, and our engine holds each conversation, in a
world of its own, so that they remember the last one, know how long ago it was, and stand to each other as it left them.

What happened to a person since the last session is true of it, as its author's facts are; what happened before stands
in its memory.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, Field

from kataribe import Game, Statement
from service.public.files import CharacterProfile, Content
from service.public.models import ChatModel, PromptValues, Templates
from service.public.words import (
    MINUTES_PER_DAY,
    MINUTES_PER_HOUR,
    Language,
    Phrase,
    WorldTime,
    ago,
    iso,
    sentence,
    sentences,
    to_datetime,
)
from studio.generate.dataset import Dropped
from studio.generate.dialogues import fault
from studio.generate.making import spoken

TEMPLATES = Templates(__file__)

_FEWEST = 0.5
"""Share of the events asked for that must be there."""
_TOKENS_EACH = 80


class EventDraft(BaseModel, extra="forbid"):
    """An event as the model gives it; `caused_by` are numbers of earlier ones, the first of all being 1."""

    date: str = Field(min_length=10, max_length=10)
    event: str = Field(min_length=5, max_length=140)
    caused_by: list[Annotated[int, Field(ge=1, le=40)]] = Field(max_length=3)


class EventGraphDraft(BaseModel, extra="forbid"):
    """What the model answers."""

    events: list[EventDraft] = Field(min_length=1, max_length=40)


@dataclass(frozen=True, kw_only=True)
class EventGraphContext(PromptValues):
    """What the model is told. `themes`: what some of the events are about. `partners`: what happens to the partner.
    `faults`: what was wrong with its first answer.
    """

    person: CharacterProfile
    partner_name: str
    first: date
    last: date
    count: int
    themes: tuple[str, ...]
    partners: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LifeEvent:
    """Something that happened to a person: `text` has no subject, as a fact of a profile. `causes` are ids."""

    id: str
    on: date
    text: str
    causes: tuple[str, ...]


async def event_graph(model: ChatModel, context: EventGraphContext, prefix: str, thread: str = "") -> list[LifeEvent]:
    """The events by their dates; their ids begin with the prefix. `thread` says of which item they are.

    Raises:
        Dropped: twice they could not be.
        ModelError: the model failed.
    """
    for _ in range(2):
        most = 200 + _TOKENS_EACH * context.count
        prompt = TEMPLATES.question("event_graph", "closing", context, EventGraphDraft, max_tokens=most, thread=thread)
        events = (await model.complete(prompt)).value.events
        faults = list(faults_of(events, context))
        if not faults:
            return _named(events, context, prefix)
        context = replace(context, faults=tuple(one.of(context.language) for one in faults))
    raise Dropped("event_graph")


def faults_of(events: Sequence[EventDraft], context: EventGraphContext) -> Iterator[Phrase]:
    """What is wrong with them. A cause comes before its effect, in the list and by date: so there is no circle."""
    for number, one in enumerate(events, 1):
        on = _date(one.date)
        if on is None or not context.first <= on <= context.last:
            told = {"date": one.date, "first": context.first, "last": context.last}
            yield Phrase("generate.faults.date", number=number, **told)
        for cause in one.caused_by:
            if cause >= number or events[cause - 1].date > one.date:
                yield Phrase("generate.faults.cause_later", number=number, cause=cause)
    if len(events) < _FEWEST * context.count:
        yield Phrase("generate.faults.few", count=context.count, there=len(events))
    if not any(one.caused_by for one in events):
        yield Phrase("generate.faults.unlinked")


def _named(drafts: Sequence[EventDraft], context: EventGraphContext, prefix: str) -> list[LifeEvent]:
    """By date; what is more than was asked for is left out, and led to nothing that stays."""
    ordered = sorted(enumerate(drafts, 1), key=lambda one: one[1].date)[: context.count]
    ids = {number: f"{prefix}{place}" for place, (number, _) in enumerate(ordered, 1)}
    return [
        LifeEvent(
            id=ids[number],
            on=date.fromisoformat(one.date),
            text=one.event.strip().rstrip(".。"),
            causes=tuple(ids[cause] for cause in dict.fromkeys(one.caused_by)),
        )
        for number, one in ordered
    ]


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


_EARLIEST, _LATEST = 9, 20
"""Hours of the day at which a session begins."""
_EVENT_HOUR = 12
_COUNTED_DAYS = 13
"""Up to so many days ago people count them; what was before has a date."""


@dataclass(frozen=True, kw_only=True)
class DialogueTurn:
    """A turn, and the id by which questions name it."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True, kw_only=True)
class HeldSession:
    """A session as it was held and remembered; `observations`: what each took for its memory, with the turn."""

    at: WorldTime
    turns: tuple[DialogueTurn, ...]
    summary: str
    observations: tuple[Mapping[str, str], ...]

    @property
    def on(self) -> date:
        """The day it was held."""
        return to_datetime(self.at).date()


@dataclass(frozen=True, kw_only=True)
class TwoPeople:
    """The two of a dialogue, and what happens to each: by person id."""

    content: Content
    language: Language
    people: tuple[CharacterProfile, CharacterProfile]
    events: Mapping[str, Sequence[LifeEvent]]
    max_turns: int


def session_times(start: WorldTime, months: int, count: int, rng: random.Random) -> list[WorldTime]:
    """When they meet: once in each of `count` equal parts of the time, in its second half."""
    part = months * 30 / count
    days = (int((number + rng.uniform(0.5, 0.95)) * part) for number in range(count))
    midnight = start - start % MINUTES_PER_DAY
    return [
        WorldTime(midnight + day * MINUTES_PER_DAY + rng.randrange(_EARLIEST, _LATEST) * MINUTES_PER_HOUR)
        for day in sorted(days)
    ]


async def hold(game: Game, world_id: str, two: TwoPeople, times: Sequence[WorldTime]) -> list[HeldSession]:
    """Hold all sessions: the clock goes on to each, what happened since the last is part of everybody's past, and the
    two talk.

    Raises:
        Dropped: what was said in one is not good enough.
        GenerationStopped: a model cannot be had.
    """
    held: list[HeldSession] = []
    authored = [text for person in two.people for text in (person.name, person.personality, *person.settled)]
    for number, at in enumerate(times):
        since = times[number - 1] if number else 0
        new = {one.id: [event for event in two.events[one.id] if since <= noon(event) < at] for one in two.people}
        world = game.playing(_knowing(two, new, at)).world(world_id)
        await world.skip_to(at)
        for person in two.people:
            past = (
                Statement(
                    id=event.id,
                    statement=sentence(two.language, "generate.happened", name=person.name, event=event.text),
                    about=person.id,
                    at=iso(noon(event)),
                    importance=7,
                )
                for event in new[person.id]
            )
            await world.remember(person.id, *past, by="kataribe generate")
        opener, partner = two.people if number % 2 == 0 else two.people[::-1]
        goal, success = _goal(two.language, partner, new[opener.id])
        talk = await world.converse(
            opener.id,
            partner.id,
            goal=goal,
            success=success,
            max_turns=two.max_turns,
            talk_id=f"s{number + 1}",
        )
        turns = tuple(
            DialogueTurn(id=turn_id(number, turn.turn), speaker=turn.speaker_name, text=turn.text)
            for turn in spoken(talk)
        )
        if found := fault([(turn.speaker, turn.text) for turn in turns], two.language, authored):
            raise Dropped(found)
        changes: Mapping[str, Any] = talk.row.changes or {}
        known = [one for one in await world.summaries(min(talk.people)) if one.conversation_id == talk.id]
        held.append(
            HeldSession(
                at=at,
                turns=turns,
                summary=known[0].summary if known else "",
                observations=tuple(
                    {"person": person.name, "text": fact["statement"], "dia_id": turn_id(number, fact["turn"])}
                    for person, side in ((opener, changes), (partner, changes["partner"]))
                    for fact in side["facts"]
                ),
            )
        )
    return held


def told(event: LifeEvent, at: WorldTime, language: Language) -> str:
    """The event as its person tells it then: from its words and those of the session, its day can be counted."""
    happened = noon(event)
    if at - happened < _COUNTED_DAYS * MINUTES_PER_DAY:
        when = ago(happened, at, language)
    else:
        month = sentences(language, "time.month_names")[event.on.month - 1]
        when = sentence(language, "generate.on_day", day=event.on.day, month=month)
    return sentence(language, "generate.told", event=event.text, when=when)


def noon(event: LifeEvent) -> WorldTime:
    """When on its day it is taken to have been."""
    days = (event.on - date(1, 1, 1)) // timedelta(days=1)
    return WorldTime(days * MINUTES_PER_DAY + _EVENT_HOUR * MINUTES_PER_HOUR)


def _knowing(two: TwoPeople, new: Mapping[str, Sequence[LifeEvent]], at: WorldTime) -> Content:
    """The content, in which what has just happened to the two is true of them."""
    cast = two.content.cast(two.language)
    people = {
        one.id: one.model_copy(update={"facts": (*one.facts, *(told(e, at, two.language) for e in new[one.id]))})
        for one in two.people
    }
    return replace(two.content, casts={two.language: replace(cast, characters={**cast.characters, **people})})


def _goal(language: Language, partner: CharacterProfile, new: Sequence[LifeEvent]) -> tuple[str, str]:
    """What the opener comes for, to tell the last thing that happened and to hear what is new; and when it has that."""
    names = {"name": partner.name[:40]}
    if new:
        goal = sentence(language, "generate.goal.tell", **names, event=new[-1].text)
    else:
        goal = sentence(language, "generate.goal.hear", **names)
    return goal[:200], sentence(language, "generate.goal.criteria", **names)


def turn_id(session: int, turn: int) -> str:
    """``D1:1`` is the first turn of the first session."""
    return f"D{session + 1}:{turn + 1}"
