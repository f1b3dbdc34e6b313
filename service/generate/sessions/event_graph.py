"""Owns the event graph of a person: life events on dates of the story, each led to by earlier ones; asked of a model,
checked, and asked for once more where it cannot be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated

from pydantic import BaseModel, Field

from service.content.profile import CharacterProfile
from service.generate.problem import Dropped
from service.llm.chat import ChatModel
from service.llm.prompt import PromptValues, Templates
from service.locales import Phrase

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
class Event:
    """Something that happened to a person: `text` has no subject, as a fact of a profile. `causes` are ids."""

    id: str
    on: date
    text: str
    causes: tuple[str, ...]


async def event_graph(model: ChatModel, context: EventGraphContext, prefix: str, thread: str = "") -> list[Event]:
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


def _named(drafts: Sequence[EventDraft], context: EventGraphContext, prefix: str) -> list[Event]:
    """By date; what is more than was asked for is left out, and led to nothing that stays."""
    ordered = sorted(enumerate(drafts, 1), key=lambda one: one[1].date)[: context.count]
    ids = {number: f"{prefix}{place}" for place, (number, _) in enumerate(ordered, 1)}
    return [
        Event(
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
