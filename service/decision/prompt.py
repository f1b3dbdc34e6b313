"""Owns how a context becomes a prompt: who one is and the rules first, then the moment; a repair asks once more."""

from service.decision.context import BaseContext, DayPlan, Decision, DecisionContext, PlanContext
from service.llm.chat import Message, Prompt
from service.llm.prompt import Templates

TEMPLATES = Templates(__file__)


def decide_prompt(context: DecisionContext) -> Prompt[Decision]:
    """Ask the character what it does next."""
    return Prompt(
        name="decide",
        role="decision",
        language=context.language,
        messages=_messages("decide", context),
        answer=Decision,
        given=context,
        max_tokens=400,
    )


def plan_prompt(context: PlanContext) -> Prompt[DayPlan]:
    """Ask the character for its day."""
    return Prompt(
        name="plan",
        role="decision",
        language=context.language,
        messages=_messages("plan", context),
        answer=DayPlan,
        given=context,
        max_tokens=900,
    )


def _messages(name: str, context: BaseContext) -> tuple[Message, ...]:
    asked = (
        Message(role="system", content=_render(name, "system", context)),
        Message(role="user", content=_render(name, "user", context)),
    )
    if not context.fault:
        return asked
    repair = _render(name, "repair", context)
    return *asked, Message(role="assistant", content=context.wrong_answer), Message(role="user", content=repair)


def _render(name: str, block: str, context: BaseContext) -> str:
    return TEMPLATES.render(name, block, context.language, context, context.own_prompts)
