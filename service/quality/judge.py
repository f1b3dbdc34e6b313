"""Owns what a model is asked about a line: one call for four marks, each with its reason; and, where that is allowed,
one for the line with its faults taken out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.prompt import data
from service.errors import ModelError
from service.llm.chat import ChatModel, Message, Prompt, PromptValues, T, Templates
from service.quality.checks import Exchange, Standard
from service.quality.marks import HIGHEST, Dimension, Mark, Marks
from service.quality.rules import by_rule
from service.store.quality import Tally

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
            self.tally.add(exc.usage, failures=min(exc.usage.calls, 1))
            raise
        self.tally.add(answer.usage)
        self.name = answer.model
        return answer.value
