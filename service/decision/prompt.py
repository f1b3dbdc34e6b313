"""Owns how a scene becomes a prompt: who one is and the rules first, then the moment; a repair asks once more."""

from service.decision.scene import DayPlan, Decision, DecisionScene, PlanScene, Waking
from service.llm.chat import Message, Prompt
from service.llm.prompt import Templates

TEMPLATES = Templates(__file__)


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
        Message(role="system", content=_render(name, "system", scene)),
        Message(role="user", content=_render(name, "user", scene)),
    )
    if not scene.fault:
        return asked
    repair = _render(name, "repair", scene)
    return *asked, Message(role="assistant", content=scene.wrong_answer), Message(role="user", content=repair)


def _render(name: str, block: str, scene: Waking) -> str:
    return TEMPLATES.render(name, block, scene.language, scene, scene.own_prompts)
