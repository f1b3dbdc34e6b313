"""Owns the questions about a dialogue: asked of a model, and kept where the turns they name bear their answers.

Dates are not the model's: of a question about when, it names the event, and the answer is that event's date. Questions
that nothing answers are made here, from those that something does: about the other of the two.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from service.generate.sessions.dialogue import HeldSession
from service.generate.sessions.event_graph import TEMPLATES, Event
from service.llm.chat import ChatModel
from service.llm.prompt import PromptValues
from service.locales import Language, sentence, sentences
from service.memory.lexical import share, squeezed, telling

Asked = Literal["single_hop", "multi_hop", "temporal", "open_domain"]
Category = Literal[Asked, "adversarial"]
Checked = Literal["words", "event", "evidence"]
"""How an answer was checked: its words stand in the evidence; it is the day of the event that the evidence tells; or
only that the evidence is there, and bears on the question.
"""
Refused = Literal[
    "no_such_turn", "too_little_evidence", "not_in_evidence", "no_such_event", "before_it_happened", "twice"
]

_BORNE = 0.6
"""Share of an answer's telling words that its evidence must hold."""
_TELLS = 0.5
"""The same of an event's words, for a turn that tells it."""
_ADVERSARIAL_SHARE = 5
"""One in so many questions is one that nothing answers."""
_TOKENS_EACH = 130


class QuestionDraft(BaseModel, extra="forbid"):
    """A question as the model gives it."""

    category: Asked
    question: str = Field(min_length=5, max_length=300)
    answer: str = Field(max_length=300)
    evidence: list[Annotated[str, Field(max_length=10)]] = Field(max_length=8)
    event: str = Field(max_length=10)


class QuestionsDraft(BaseModel, extra="forbid"):
    """What the model answers."""

    questions: list[QuestionDraft] = Field(max_length=80)


@dataclass(frozen=True, kw_only=True)
class TalkContext(PromptValues):
    """What the model is told: the whole dialogue, and what happened to the two: `events` by their names."""

    names: tuple[str, str]
    events: Mapping[str, Sequence[Event]]
    sessions: Sequence[HeldSession]
    count: int


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that may stand. One that nothing answers has no answer, but what one might wrongly say."""

    category: Category
    question: str
    answer: str | None
    evidence: tuple[str, ...]
    checked: Checked
    misleading: str | None = None

    def stored(self) -> dict[str, Any]:
        """As it is written."""
        told = {"question": self.question, "answer": self.answer, "category": self.category}
        wrong = {} if self.misleading is None else {"adversarial_answer": self.misleading}
        return {**told, **wrong, "evidence": list(self.evidence), "checked": self.checked}


async def questions(model: ChatModel, context: TalkContext, thread: str = "") -> tuple[list[Question], Counter[str]]:
    """Those that may stand, and how many may not, by what is wrong with them; by one call. `thread` says of which item.

    Raises:
        ModelError: the model failed.
    """
    most = 200 + _TOKENS_EACH * context.count
    prompt = TEMPLATES.question("questions", "closing", context, QuestionsDraft, max_tokens=most, thread=thread)
    draft = (await model.complete(prompt)).value
    talk = _Talk(context)
    refused = Counter[str]()
    kept: dict[str, Question] = {}
    for one in draft.questions:
        found = talk.check(one)
        key = squeezed(one.question)
        if isinstance(found, Question) and key not in kept:
            kept[key] = found
        else:
            refused["twice" if isinstance(found, Question) else found] += 1
    asked = list(kept.values())
    return [*asked, *talk.adversarial(asked)], refused


class _Talk:
    """A dialogue, by which questions are checked."""

    def __init__(self, context: TalkContext) -> None:
        self._context = context
        self._names = telling(" ".join(context.names))
        self._turns = {turn.id: turn for one in context.sessions for turn in one.turns}
        self._days = {turn.id: one.on for one in context.sessions for turn in one.turns}
        self._events = {event.id: event for events in context.events.values() for event in events}

    def check(self, draft: QuestionDraft) -> "Question | Refused":
        """The question, or what is wrong with it."""
        evidence = tuple(dict.fromkeys(draft.evidence))
        if any(one not in self._turns for one in evidence):
            return "no_such_turn"
        if len(evidence) < (2 if draft.category == "multi_hop" else 1):
            return "too_little_evidence"
        if draft.category == "temporal":
            return self._dated(draft, evidence)
        text = self._text(evidence)
        about = telling(f"{draft.question} {draft.answer}") - self._names
        if not all(share(about, self._turns[one].text) > 0 for one in evidence):
            return "not_in_evidence"
        is_open = draft.category == "open_domain"
        if not draft.answer.strip() or not (is_open or self._bears(text, draft.answer)):
            return "not_in_evidence"
        return Question(
            category=draft.category,
            question=draft.question.strip(),
            answer=draft.answer.strip(),
            evidence=evidence,
            checked="evidence" if is_open else "words",
        )

    def adversarial(self, asked: Sequence[Question]) -> list[Question]:
        """What is answered of one of the two, asked of the other, of whom it is not true."""
        found = []
        for one in asked:
            about = [name for name in self._context.names if name in one.question]
            if one.category != "single_hop" or len(about) != 1 or one.answer is None:
                continue
            other = next(name for name in self._context.names if name != about[0])
            if not self._bears(f"{self._said_by(other)}\n{self._happened_to(other)}", one.answer):
                swapped = one.question.replace(about[0], other)
                found.append(
                    Question(
                        category="adversarial",
                        question=swapped,
                        answer=None,
                        evidence=one.evidence,
                        checked="words",
                        misleading=one.answer,
                    )
                )
        return found[: max(1, self._context.count // _ADVERSARIAL_SHARE)]

    def _dated(self, draft: QuestionDraft, evidence: tuple[str, ...]) -> "Question | Refused":
        event = self._events.get(draft.event)
        if event is None:
            return "no_such_event"
        if share(telling(event.text) - self._names, self._text(evidence)) < _TELLS:
            return "not_in_evidence"
        if any(self._days[one] < event.on for one in evidence):
            return "before_it_happened"
        return Question(
            category="temporal",
            question=draft.question.strip(),
            answer=date_of(event.on, self._context.language),
            evidence=evidence,
            checked="event",
        )

    def _bears(self, text: str, answer: str) -> bool:
        wanted = telling(answer) - self._names
        if not {one for one in wanted if one.isdigit()} <= telling(text):
            return False
        return share(wanted, text) >= _BORNE if wanted else squeezed(answer) in squeezed(text)

    def _text(self, evidence: Sequence[str]) -> str:
        return "\n".join(self._turns[one].text for one in evidence)

    def _said_by(self, name: str) -> str:
        return "\n".join(turn.text for turn in self._turns.values() if turn.speaker == name)

    def _happened_to(self, name: str) -> str:
        return "\n".join(event.text for event in self._context.events[name])


def date_of(on: date, language: Language) -> str:
    """The date as an answer has it."""
    month = sentences(language, "time.month_names")[on.month - 1]
    return sentence(language, "generate.date", day=on.day, month=month, year=on.year)
