"""Owns the judge: a model that is asked whether a sentence holds of a talk, or of what was written. One call."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from service.llm.chat import Answer, ChatModel, PromptValues, Templates
from service.quality.checks import Exchange

TEMPLATES = Templates(__file__)


class Verdict(BaseModel, extra="forbid"):
    """What the judge answers."""

    reason: str = Field(max_length=400)
    quote: str = Field(max_length=400)
    holds: bool


@dataclass(frozen=True, kw_only=True)
class JudgeContext(PromptValues):
    """What the judge is told. `written` is what the authors wrote of the person."""

    name: str
    claim: str
    written: tuple[str, ...]
    player: str = ""
    talk: Sequence[Exchange] = ()


async def verdict(model: ChatModel, context: JudgeContext, thread: str) -> Answer[Verdict]:
    """Whether the claim holds of the talk.

    Raises:
        ModelError: the model failed.
    """
    prompt = TEMPLATES.question("judge", "closing", context, Verdict, max_tokens=400, thread=thread)
    return await model.complete(prompt)
