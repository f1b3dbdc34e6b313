"""Owns how a question is asked: the answer is checked, and asked for once more with what was wrong; the cost is
counted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from service.decision.context import BaseContext
from service.errors import ModelBroken, ModelError
from service.llm.chat import ChatModel, Prompt
from service.usage import Usage

T = TypeVar("T", bound=BaseModel)
S = TypeVar("S", bound=BaseContext)


@dataclass(frozen=True, kw_only=True)
class Asked(Generic[T]):
    """The outcome: an answer that passed the check, or the failure. `failures` are calls that gave no answer to use."""

    value: T | None = None
    usage: Usage = field(default_factory=Usage)
    failures: int = 0
    failure: ModelError | None = None


async def ask(
    model: ChatModel, prompt: Callable[[S], Prompt[T]], context: S, fault: Callable[[S, T], str | None]
) -> Asked[T]:
    """The model's answer, repaired once if `fault` finds one in it. No ModelError leaves here."""
    usage, failures, reason = Usage(), 0, ""
    for _ in range(2):
        try:
            answer = await model.complete(prompt(context))
        except ModelError as exc:
            return Asked(usage=usage + exc.usage, failures=failures + 1, failure=exc)
        usage += answer.usage
        found = fault(context, answer.value)
        if found is None:
            return Asked(value=answer.value, usage=usage, failures=failures)
        failures, reason = failures + 1, found
        context = replace(context, fault=found, wrong_answer=answer.value.model_dump_json())
    return Asked(usage=usage, failures=failures, failure=ModelBroken(model=model.name, reason=reason))
