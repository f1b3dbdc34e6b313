"""Owns the questions about a dialogue: asked of a model, and kept where a second call finds that the turns they name
bear their answers.

Dates are not the model's: of a question about when, it names the event, and the answer is that event's date. What is
checked here is form: turns and events that are there, and nothing told before it happened.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from service.generate.sessions.dialogue import TEMPLATES, Event, HeldSession, Turn
from service.llm.chat import ChatModel, PromptValues
from service.locales import Language, sentence, sentences
from service.memory.lexical import squeezed

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
    events: Mapping[str, Sequence[Event]]
    sessions: Sequence[HeldSession]
    count: int


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question whose turns and event are there. An `adversarial` one has no answer but what one might wrongly say;
    `event` is what a `temporal` one is about.
    """

    category: Category
    question: str
    answer: str
    evidence: tuple[Turn, ...]
    event: Event | None = None

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
    questions: Sequence[Question]


async def questions(
    asking: ChatModel, verifying: ChatModel, context: TalkContext, thread: str = ""
) -> tuple[list[Question], Counter[str]]:
    """Those that may stand, and how many may not, by what is wrong with them; by one call that asks for them and one
    that holds them against their evidence. `thread` says of which item.

    Raises:
        ModelError: a model failed.
    """
    most = 200 + _TOKENS_EACH * context.count
    prompt = TEMPLATES.question("questions", "closing", context, QuestionsDraft, max_tokens=most, thread=thread)
    refused = Counter[str]()
    formed: dict[str, Question] = {}
    for draft in (await asking.complete(prompt)).value.questions:
        found = _formed(draft, context)
        key = squeezed(draft.question)
        if isinstance(found, Question) and key not in formed:
            formed[key] = found
        else:
            refused["twice" if isinstance(found, Question) else found] += 1
    if not formed:
        return [], refused
    held = EvidenceContext(language=context.language, talk=context, questions=list(formed.values()))
    check = TEMPLATES.question("evidence", "verify", held, BorneDraft, max_tokens=most, thread=thread)
    borne = set((await verifying.complete(check)).value.borne)
    kept = [one for number, one in enumerate(held.questions, 1) if number in borne]
    refused["not_in_evidence"] += len(held.questions) - len(kept)
    return kept, +refused


def _formed(draft: QuestionDraft, context: TalkContext) -> Question | Refused:
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
    return Question(
        category=draft.category, question=draft.question.strip(), answer=answer, evidence=evidence, event=event
    )


def date_of(on: date, language: Language) -> str:
    """The date as an answer has it."""
    month = sentences(language, "time.month_names")[on.month - 1]
    return sentence(language, "generate.date", day=on.day, month=month, year=on.year)
