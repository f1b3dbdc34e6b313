"""Owns how a scene becomes a prompt: who one is and the rules first, then the moment; a repair asks once more."""

from service.decision.scene import DayPlan, Decision, DecisionScene, PlanScene, Waking
from service.llm.chat import Message, Prompt
from service.llm.prompt import Templates

_templates = Templates(__file__)


def decide_prompt(scene: DecisionScene) -> Prompt[Decision]:
    """Ask the character what it does next."""
    return Prompt(
        name="decide",
        role="decision",
        language=scene.language,
        messages=_messages("decide", scene),
        answer=Decision,
        given=scene,
        max_tokens=400,
    )


def plan_prompt(scene: PlanScene) -> Prompt[DayPlan]:
    """Ask the character for its day."""
    return Prompt(
        name="plan",
        role="decision",
        language=scene.language,
        messages=_messages("plan", scene),
        answer=DayPlan,
        given=scene,
        max_tokens=900,
    )


def _messages(name: str, scene: Waking) -> tuple[Message, ...]:
    asked = (
        Message(role="system", content=_templates.render(name, "system", scene.language, scene)),
        Message(role="user", content=_templates.render(name, "user", scene.language, scene)),
    )
    if not scene.fault:
        return asked
    repair = _templates.render(name, "repair", scene.language, scene)
    return *asked, Message(role="assistant", content=scene.wrong_answer), Message(role="user", content=repair)
