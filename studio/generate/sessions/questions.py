"""Owns the questions about a dialogue: asked of a model, and kept where a second call finds that the turns they name
bear their answers. What stands for a model where there is none are authored lives, and the questions that their authors
wrote for them.

Dates are not the model's: of a question about when, it names the event, and the answer is that event's date. What is
checked here is form: turns and events that are there, and nothing told before it happened.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from service.public.models import ChatModel, PromptValues
from service.public.words import Language, room, sentence, sentences, squeezed
from studio.generate.sessions.dialogue import (
    TEMPLATES,
    DialogueTurn,
    EventDraft,
    EventGraphContext,
    EventGraphDraft,
    HeldSession,
    LifeEvent,
)

Category = Literal["single_hop", "multi_hop", "temporal", "open_domain", "adversarial"]
Refused = Literal[
    "no_such_turn", "too_little_evidence", "not_in_evidence", "no_such_event", "before_it_happened", "twice"
]

_TOKENS_EACH = 130


class QuestionDraft(BaseModel, extra="forbid"):
    """A question as the model gives it."""

    category: Category
    question: str = Field(min_length=5, max_length=300)
    answer: str = Field(max_length=300)
    evidence: list[Annotated[str, Field(max_length=10)]] = Field(max_length=8)
    event: str = Field(max_length=10)


class QuestionsDraft(BaseModel, extra="forbid"):
    """What the model answers."""

    questions: list[QuestionDraft] = Field(max_length=80)


class BorneDraft(BaseModel, extra="forbid"):
    """Which of the questions their evidence bears, by their numbers; the first is 1."""

    borne: list[Annotated[int, Field(ge=1, le=80)]] = Field(max_length=80)


@dataclass(frozen=True, kw_only=True)
class TalkContext(PromptValues):
    """What the model is told: the whole dialogue, and what happened to the two: `events` by their names."""

    names: tuple[str, str]
    events: Mapping[str, Sequence[LifeEvent]]
    sessions: Sequence[HeldSession]
    count: int


@dataclass(frozen=True, kw_only=True)
class EvidenceQuestion:
    """A question whose turns and event are there. An `adversarial` one has no answer but what one might wrongly say;
    `event` is what a `temporal` one is about.
    """

    category: Category
    question: str
    answer: str
    evidence: tuple[DialogueTurn, ...]
    event: LifeEvent | None = None

    def stored(self) -> dict[str, Any]:
        """As it is written."""
        is_trap = self.category == "adversarial"
        told = {"question": self.question, "answer": None if is_trap else self.answer, "category": self.category}
        wrong = {"adversarial_answer": self.answer} if is_trap else {}
        checked = "event" if self.event else "model"
        return {**told, **wrong, "evidence": [turn.id for turn in self.evidence], "checked": checked}


@dataclass(frozen=True, kw_only=True)
class EvidenceContext(PromptValues):
    """What the second call is told: the dialogue, and the questions."""

    talk: TalkContext
    questions: Sequence[EvidenceQuestion]


async def questions(
    asking: ChatModel, verifying: ChatModel, context: TalkContext, thread: str = ""
) -> tuple[list[EvidenceQuestion], Counter[str]]:
    """Those that may stand, and how many may not, by what is wrong with them; by one call that asks for them and one
    that holds them against their evidence. `thread` says of which item.

    Raises:
        ModelError: a model failed.
    """
    most = 200 + _TOKENS_EACH * context.count
    prompt = TEMPLATES.question("questions", "closing", context, QuestionsDraft, max_tokens=most, thread=thread)
    refused = Counter[str]()
    formed: dict[str, EvidenceQuestion] = {}
    for draft in (await asking.complete(prompt)).value.questions:
        found = _formed(draft, context)
        key = squeezed(draft.question)
        if isinstance(found, EvidenceQuestion) and key not in formed:
            formed[key] = found
        else:
            refused["twice" if isinstance(found, EvidenceQuestion) else found] += 1
    if not formed:
        return [], refused
    held = EvidenceContext(language=context.language, talk=context, questions=list(formed.values()))
    check = TEMPLATES.question("evidence", "verify", held, BorneDraft, max_tokens=most, thread=thread)
    borne = set((await verifying.complete(check)).value.borne)
    kept = [one for number, one in enumerate(held.questions, 1) if number in borne]
    refused["not_in_evidence"] += len(held.questions) - len(kept)
    return kept, +refused


def _formed(draft: QuestionDraft, context: TalkContext) -> EvidenceQuestion | Refused:
    """The question with its turns and its event, or what is wrong with its form."""
    days = {turn.id: one.on for one in context.sessions for turn in one.turns}
    turns = {turn.id: turn for one in context.sessions for turn in one.turns}
    named = dict.fromkeys(draft.evidence)
    if not named.keys() <= turns.keys():
        return "no_such_turn"
    if len(named) < (2 if draft.category == "multi_hop" else 1):
        return "too_little_evidence"
    answer, event = draft.answer.strip(), None
    if draft.category == "temporal":
        event = next((one for events in context.events.values() for one in events if one.id == draft.event), None)
        if event is None:
            return "no_such_event"
        if any(days[one] < event.on for one in named):
            return "before_it_happened"
        answer = date_of(event.on, context.language)
    if not answer:
        return "not_in_evidence"
    evidence = tuple(turns[one] for one in named)
    return EvidenceQuestion(
        category=draft.category, question=draft.question.strip(), answer=answer, evidence=evidence, event=event
    )


def date_of(on: date, language: Language) -> str:
    """The date as an answer has it."""
    month = sentences(language, "time.month_names")[on.month - 1]
    return sentence(language, "generate.date", day=on.day, month=month, year=on.year)


_EVENTS = 3
"""Events of a life."""


class _AuthoredEvent(NamedTuple):
    """An event that an author wrote: what happened, what may be asked of it with the answer, and how to ask when."""

    event: str
    question: str
    answer: str
    when: str


class _Life(NamedTuple):
    """Events of which each leads to the next; and what is asked of the first two together, with the answer."""

    events: tuple[_AuthoredEvent, ...]
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
        name: _Life(
            tuple(_AuthoredEvent(*texts[f"{name}.{step}"]) for step in ("first", "then", "last")), *texts[f"{name}.why"]
        )
        for name in names
    }
