"""Owns how a character is asked: who one is and the rules first, then the moment; the answer is checked, and asked for
once more with what was wrong; the cost is counted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from service.decision.context import BaseContext, DayPlan, Decision, DecisionContext, PlanContext
from service.errors import ModelBroken, ModelError
from service.llm.chat import ChatModel, Message, Prompt, T, Templates
from service.usage import Usage

TEMPLATES = Templates(__file__)


def decide_prompt(context: DecisionContext) -> Prompt[Decision]:
    """Ask the character what it does next."""
    return _asked("decide", context, Decision, max_tokens=400)


def plan_prompt(context: PlanContext) -> Prompt[DayPlan]:
    """Ask the character for its day."""
    return _asked("plan", context, DayPlan, max_tokens=900)


def _asked(name: str, context: BaseContext, answer: type[T], *, max_tokens: int) -> Prompt[T]:
    prompt = TEMPLATES.question(name, "decision", context, answer, max_tokens=max_tokens)
    if not context.fault:
        return prompt
    repair = TEMPLATES.render(name, "repair", context.language, context, context.own_prompts)
    wrong = Message(role="assistant", content=context.wrong_answer)
    return replace(prompt, messages=(*prompt.messages, wrong, Message(role="user", content=repair)))


S = TypeVar("S", bound=BaseContext)


@dataclass(frozen=True, kw_only=True)
class Asked(Generic[T]):
    """The outcome: an answer that passed the check, or the failure. `failures` are calls that gave no answer to use.

    `model` answered the `messages` of the last try ("": nobody was asked).
    """

    value: T | None = None
    usage: Usage = field(default_factory=Usage)
    failures: int = 0
    failure: ModelError | None = None
    model: str = ""
    messages: tuple[Message, ...] = ()


async def ask(
    model: ChatModel, prompt: Callable[[S], Prompt[T]], context: S, fault: Callable[[S, T], str | None], thread: str
) -> Asked[T]:
    """The model's answer, repaired once if `fault` finds one in it. `thread` says who decides. No ModelError leaves
    here.
    """
    asked = Asked[T](model=model.name)
    reason = ""
    for _ in range(2):
        question = replace(prompt(context), thread=thread)
        asked = replace(asked, messages=question.messages)
        try:
            answer = await model.complete(question)
        except ModelError as exc:
            return replace(asked, usage=asked.usage + exc.usage, failures=asked.failures + 1, failure=exc)
        asked = replace(asked, usage=asked.usage + answer.usage, model=answer.model)
        found = fault(context, answer.value)
        if found is None:
            return replace(asked, value=answer.value)
        asked, reason = replace(asked, failures=asked.failures + 1), found
        context = replace(context, fault=found, wrong_answer=answer.value.model_dump_json())
    return replace(asked, failure=ModelBroken(model=model.name, reason=reason))
