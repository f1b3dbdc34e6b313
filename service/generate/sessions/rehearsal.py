"""Owns what stands for a model where there is none: lives put together from authored events, and the questions that
their authors wrote for them.
"""

import random
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from service.generate.sessions.dialogue import EventDraft, EventGraphContext, EventGraphDraft
from service.generate.sessions.questions import (
    BorneDraft,
    Category,
    EvidenceContext,
    QuestionDraft,
    QuestionsDraft,
    TalkContext,
)
from service.locales import Language, room

_EVENTS = 3
"""Events of a life."""


class _Told(NamedTuple):
    """An event that an author wrote: what happened, what may be asked of it with the answer, and how to ask when."""

    event: str
    question: str
    answer: str
    when: str


class _Life(NamedTuple):
    """Events of which each leads to the next; and what is asked of the first two together, with the answer."""

    events: tuple[_Told, ...]
    question: str
    answer: str


def live(context: EventGraphContext, rng: random.Random) -> EventGraphDraft:
    """As many lives as give so many events, at most half of those there are, and none that the partner has."""
    lives = _lives(context.language)
    free = [name for name, life in lives.items() if life.events[0].event not in context.partners]
    chosen = rng.sample(free, k=min(-(-context.count // _EVENTS), len(lives) // 2))
    last = (context.last - context.first).days
    events: list[EventDraft] = []
    for name in chosen:
        day = -1
        for step, told in enumerate(lives[name].events):
            day = min(last, rng.randint(day + 1, max(day + 1, last * (step + 1) // _EVENTS)))
            on = context.first + timedelta(days=day)
            causes = [len(events)] if step else []
            events.append(EventDraft(date=on.isoformat(), event=told.event, caused_by=causes))
    return EventGraphDraft(events=events[: context.count])


def examine(context: TalkContext, rng: random.Random) -> QuestionsDraft:
    """What may be asked of the authored events that were told, in the words of their author."""
    found = list(_asked(context))
    rng.shuffle(found)
    return QuestionsDraft(questions=found[: context.count])


def bear(context: EvidenceContext, rng: random.Random) -> BorneDraft:
    """All of them: their authors wrote them with their answers."""
    return BorneDraft(borne=list(range(1, len(context.questions) + 1)))


def _asked(context: TalkContext) -> Iterator[QuestionDraft]:
    for name, events in context.events.items():
        texts = {event.text: event.id for event in events}
        for life in _lives(context.language).values():
            where = [_where(context, name, one.event) for one in life.events]
            for one, turn in zip(life.events, where, strict=True):
                if turn and one.event in texts:
                    yield _draft("single_hop", one.question, one.answer, [turn], name)
                    yield _draft("temporal", one.when, "", [turn], name, texts[one.event])
            first, second = where[:2]
            other = next(one for one in context.names if one != name)
            if first and life.events[0].event not in {event.text for event in context.events[other]}:
                yield _draft("adversarial", life.events[0].question, life.events[0].answer, [first], other)
            if first and second and first != second:
                yield _draft("multi_hop", life.question, life.answer, [first, second], name)


def _draft(
    category: Category, question: str, answer: str, evidence: list[str], name: str, event: str = ""
) -> QuestionDraft:
    said = question.format(name=name)
    return QuestionDraft(category=category, question=said, answer=answer, evidence=evidence, event=event)


def _where(context: TalkContext, name: str, event: str) -> str:
    """The first turn in which the person tells the event; "" where it tells it nowhere."""
    turns = (turn for one in context.sessions for turn in one.turns)
    return next((turn.id for turn in turns if turn.speaker == name and event in turn.text), "")


@cache
def _lives(language: Language) -> Mapping[str, _Life]:
    texts = room(language, "lives")
    names = sorted({key.partition(".")[0] for key in texts})
    return {
        name: _Life(tuple(_Told(*texts[f"{name}.{step}"]) for step in ("first", "then", "last")), *texts[f"{name}.why"])
        for name in names
    }
