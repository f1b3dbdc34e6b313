"""Owns how a context becomes a prompt: who one is and the rules first, then the moment; a repair asks once more."""

from dataclasses import replace

from service.decision.context import BaseContext, DayPlan, Decision, DecisionContext, PlanContext
from service.llm.chat import Message, Prompt, T
from service.llm.prompt import Templates

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
