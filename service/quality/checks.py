"""Owns what no line of a person may be, by its form: empty, a secret told, a forbidden word, a repetition, another
language, too long, the marks or the voice of a model; and the marks that are given for it: by rule, and by what a model
is asked about a line, one call for four marks, each with its reason. It may be asked for the line without its faults.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.prompt import data
from service.conversation.utterance import (
    TOO_LIKE,
    breaks_character,
    is_foreign,
    is_repetition,
    likeness,
    loops,
)
from service.errors import ModelError
from service.llm.chat import ChatModel, Message, Prompt, PromptValues, T, Templates
from service.locales import Language, sentence
from service.memory.lexical import share, telling
from service.memory.secrets import Discretion
from service.store.quality import Tally

Check = Literal[
    "empty",
    "secret",
    "forbidden",
    "repetition",
    "language",
    "length",
    "out_of_character",
]


_TELLING, _GIVEN_AWAY = 3, 0.6
"""A clause of a secret with so many telling words is told by this share of them."""

_CLAUSE = re.compile(r"[、,;:。.!?！？\n—…]+")
_MARKED_UP = re.compile(r"^\s*(?:#{1,4} |[-*] \*\*|```)|\*\*[^*\n]+\*\*|```", re.MULTILINE)
"""Headings, lists and code, as a chat assistant writes."""


class Exchange(NamedTuple):
    """What a person was told, and what it answered."""

    said: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Standard:
    """What a person's lines are held to. `never` are words that it may not say; `longest` is in characters."""

    speaker: CharacterProfile | NpcProfile
    language: Language
    discretion: Discretion
    never: tuple[str, ...] = ()
    longest: int = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What is wrong: a `Check`, or another of `testing.found` in the locales. `number`: the answer, from 0; None: the
    talk as a whole. `about` is the word, or the secret, it is wrong by ("": by itself).
    """

    check: str
    number: int | None = None
    quote: str = ""
    about: str = ""


def faults(talk: Sequence[Exchange], standard: Standard) -> list[Fault]:
    """Everything that is wrong with the answers, in their order."""
    return [
        Fault(check=check, number=number, quote=one.answer, about=about)
        for number, one in enumerate(talk)
        for check, about in wrong(one, talk[:number], standard)
    ]


def comparable(one: Exchange, before: Sequence[Exchange]) -> list[str]:
    """Earlier answers that it must not repeat: those to another question. The same question may get the same answer."""
    return [earlier.answer for earlier in before if not is_repetition(one.said, [earlier.said])]


def folded_in(word: str, text: str) -> bool:
    """Whether the text holds the word, whatever their width and case; an English word as a whole."""
    word, text = (unicodedata.normalize("NFKC", one).casefold() for one in (word, text))
    if word.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text) is not None
    return word in text


def wrong(one: Exchange, before: Sequence[Exchange], standard: Standard) -> Iterator[tuple[Check, str]]:
    """What is wrong with the answer, after those `before`, and by what (see `Fault.about`)."""
    text, speaker = one.answer, standard.speaker
    if not text.strip():
        yield "empty", ""
        return
    if (
        secret := next((fact for fact in standard.discretion.kept if not _keeps(text, fact, speaker)), None)
    ) is not None:
        yield "secret", secret
    yield from (("forbidden", word) for word in standard.never if folded_in(word, text))
    if loops(text) or is_repetition(text, comparable(one, before)):
        yield "repetition", ""
    if is_foreign(text, standard.language):
        yield "language", ""
    if len(text) > standard.longest:
        yield "length", str(standard.longest)
    authored = (speaker.name, speaker.personality, speaker.custom_prompt, *speaker.settled, *speaker.lines)
    is_marked_up = _MARKED_UP.search(text) and not any(map(_MARKED_UP.search, speaker.lines))
    if is_marked_up or breaks_character(text, authored):
        yield "out_of_character", ""


def _keeps(text: str, secret: str, speaker: CharacterProfile | NpcProfile) -> bool:
    """Whether a text gives nothing of a secret away: not half of it, and no clause that says something by itself, in
    words that no open fact has.
    """
    if not Discretion(kept=(secret,)).lets(text):
        return False
    known = telling("\n".join(speaker.settled))
    parts = (telling(clause) - known for clause in _CLAUSE.split(secret))
    return not any(len(part) >= _TELLING and share(part, text) >= _GIVEN_AWAY for part in parts)


Dimension = Literal["persona", "consistency", "fluency", "suitability", "similarity"]
"""Fits the person; contradicts nothing of its own; is well said; fits the moment; is nothing that was said before."""
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
HIGHEST = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """From 0, fails, to 9, flawless, and why."""

    score: int
    """0 (fails) to 9 (flawless)"""
    reason: str
    """why, in the world's language"""


Marks = Mapping[Dimension, Mark]
"""What was marked. Where a rule finds a fault, what only a model can tell is left out."""


def lowest(marks: Marks) -> int:
    """The lowest score: it decides whether a line passes."""
    return min(mark.score for mark in marks.values())


def rank(marks: Marks) -> tuple[int, float]:
    """Sorts lines, the better ones higher: by their lowest score, then by the mean."""
    return lowest(marks), sum(mark.score for mark in marks.values()) / len(marks)


def below(marks: Marks, threshold: int) -> list[str]:
    """The reasons of the marks below the threshold, the worst first."""
    found = sorted((mark for mark in marks.values() if mark.score < threshold), key=lambda mark: mark.score)
    return [mark.reason.rstrip("。. ") for mark in found]


def stored(marks: Marks) -> dict[str, list[int | str]]:
    """As its row keeps it: score and reason by dimension, in the order of the dimensions."""
    return {name: [marks[name].score, marks[name].reason] for name in DIMENSIONS if name in marks}


_OF: Mapping[Check, Dimension] = {
    "empty": "suitability",
    "secret": "suitability",
    "forbidden": "suitability",
    "length": "suitability",
    "repetition": "similarity",
    "language": "fluency",
    "out_of_character": "persona",
}
"""Which dimension a fault is one of."""

_UNLIKE = 0.2
"""A likeness that nobody notices between two lines of one person."""


def by_rule(one: Exchange, before: Sequence[Exchange], standard: Standard) -> tuple[dict[Dimension, Mark], bool]:
    """The marks that rules give, and whether one is for a fault: then the model is not asked for the others."""
    found: dict[Dimension, Mark] = {}
    for check, about in wrong(one, before, standard):
        # who said it may not know the secret, and reads the reason
        key = "marks.secret" if check == "secret" else f"testing.found.{check}"
        found.setdefault(_OF[check], Mark(score=0, reason=sentence(standard.language, key, about=about)))
    return {"similarity": _similarity(one, before, standard), **found}, bool(found)


def _similarity(one: Exchange, before: Sequence[Exchange], standard: Standard) -> Mark:
    """9 for what is like nothing said before, 0 for what counts as a repetition, and evenly between."""
    like = likeness(one.answer, comparable(one, before))
    share = min(max((TOO_LIKE - like) / (TOO_LIKE - _UNLIKE), 0), 1)
    reason = sentence(standard.language, "marks.likeness", percent=round(100 * like))
    return Mark(score=round(HIGHEST * share), reason=reason)


TEMPLATES = Templates(__file__)
LATELY = 8
"""How many of the last lines are shown."""
_MARKS_TOKENS, _CORRECTION_TOKENS = 500, 600
_LONGEST = 400

ASKED: tuple[Dimension, ...] = ("persona", "consistency", "fluency", "suitability")
"""What a model is asked. How like a line is to earlier ones is worked out."""


class GivenMark(BaseModel, extra="forbid"):
    """A mark, as it is answered."""

    reason: str = Field(max_length=200)
    score: int = Field(ge=0, le=HIGHEST)


class GivenMarks(BaseModel, extra="forbid"):
    """The one structured answer about a line."""

    persona: GivenMark
    consistency: GivenMark
    fluency: GivenMark
    suitability: GivenMark

    @property
    def marks(self) -> dict[Dimension, Mark]:
        """As they are compared and kept."""
        given = {name: getattr(self, name) for name in ASKED}
        return {name: Mark(score=one.score, reason=" ".join(one.reason.split())) for name, one in given.items()}


@dataclass(frozen=True, kw_only=True)
class CheckContext(PromptValues):
    """All that a line is judged from: whose it is, what that one was told, the last `lines` that it perceived, and the
    line. `is_decision`: it is what somebody does next, and why. `reasons` are its faults and `parts` the texts in it,
    by name, where it is to be corrected.
    """

    speaker: CharacterProfile | NpcProfile
    told: str
    line: str
    lines: tuple[str, ...] = ()
    is_decision: bool = False
    reasons: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()


def correct_prompt(context: CheckContext, thread: str) -> Prompt[Any]:
    """Ask for the parts without their faults."""
    blocks = [TEMPLATES.render("quality", block, context.language, context) for block in ("correct_system", "correct")]
    return Prompt(
        name="correct",
        role="quality",
        language=context.language,
        messages=(Message(role="system", content=blocks[0]), Message(role="user", content=blocks[1])),
        answer=corrected(tuple(name for name, _ in context.parts)),
        given=context,
        max_tokens=_CORRECTION_TOKENS,
        thread=thread,
    )


@lru_cache(maxsize=32)
def corrected(names: tuple[str, ...]) -> type[BaseModel]:
    """The answer that has these parts."""
    fields: Mapping[str, Any] = {name: (Annotated[str, Field(max_length=_LONGEST)], ...) for name in names}
    return create_model("Corrected", __config__=ConfigDict(extra="forbid"), **fields)


def feedback(context: CheckContext, reasons: Sequence[str]) -> str:
    """What whoever said it is told, to say it anew."""
    told = replace(context, reasons=tuple(map(data, reasons)))
    return TEMPLATES.render("quality", "again", context.language, told)


@dataclass(kw_only=True)
class Judge:
    """Judges what one person says or decides at one moment. Every call is counted in `tally`; `name` is that of the
    model that judged last.
    """

    model: ChatModel
    context: CheckContext
    standard: Standard
    thread: str
    tally: Tally
    name: str = ""

    async def marks(self, line: str, one: Exchange, before: Sequence[Exchange]) -> Marks:
        """By rule, and of a line without a fault by the model. Raises: ModelError: it failed."""
        found, is_wrong = by_rule(one, before, self.standard)
        if is_wrong:
            return found
        context = replace(self.context, line=data(line))
        prompt = TEMPLATES.question(  # a game cannot replace it
            "quality", "quality", context, GivenMarks, max_tokens=_MARKS_TOKENS, thread=self.thread
        )
        answer = await self._ask(prompt)
        return {**answer.marks, **found}

    async def corrected(self, line: str, parts: Mapping[str, str], reasons: Sequence[str]) -> dict[str, str]:
        """The parts that have words, without their faults. Raises: ModelError: the model failed."""
        context = replace(self.context, line=line, parts=tuple(parts.items()), reasons=tuple(reasons))
        new = (await self._ask(correct_prompt(context, self.thread))).model_dump()
        return {name: new[name].strip() for name, text in parts.items() if text.strip() and new[name].strip()}

    async def _ask(self, prompt: Prompt[T]) -> T:
        try:
            answer = await self.model.complete(prompt)
        except ModelError as exc:
            self.tally.add(exc.usage.failed)
            raise
        self.tally.add(answer.usage)
        self.name = answer.model
        return answer.value
