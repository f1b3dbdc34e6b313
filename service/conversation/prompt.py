"""Owns how a scene becomes a prompt: what stays the same first, then the lines as they grew, so that a cache hits."""

import json

from service.conversation.scene import (
    CharacterScene,
    CharacterTurn,
    NpcScene,
    NpcTurn,
    OpeningTurn,
    PartnerScene,
    Scene,
)
from service.llm.chat import Message, Prompt
from service.llm.prompt import Templates

_templates = Templates(__file__)


def opening_prompt(scene: CharacterScene) -> Prompt[OpeningTurn]:
    """Ask the character that nobody gave a goal for its goal and its first utterance, in one answer."""
    messages = _messages(scene)
    return Prompt(
        name="opening", role="character", language=scene.language, messages=messages, answer=OpeningTurn, given=scene
    )


def character_prompt(scene: CharacterScene) -> Prompt[CharacterTurn]:
    """Ask the character for its next utterance."""
    messages = _messages(scene)
    return Prompt(
        name="character",
        role="character",
        language=scene.language,
        messages=messages,
        answer=CharacterTurn,
        given=scene,
    )


def npc_prompt(scene: NpcScene) -> Prompt[NpcTurn]:
    """Ask the NPC for its next utterance."""
    messages = _messages(scene)
    return Prompt(name="npc", role="npc", language=scene.language, messages=messages, answer=NpcTurn, given=scene)


def partner_prompt(scene: PartnerScene) -> Prompt[NpcTurn]:
    """Ask a character that was spoken to for its next utterance."""
    messages = _messages(scene)
    return Prompt(
        name="partner", role="character", language=scene.language, messages=messages, answer=NpcTurn, given=scene
    )


def _messages(scene: Scene) -> tuple[Message, ...]:
    """The lines so far, own ones as the assistant's; a reminder, if any, ends the last message."""
    messages = [Message(role="system", content=_render(scene, "system"))]
    if scene.begins:
        messages.append(Message(role="user", content=_render(scene, "opening")))
    for line in scene.lines:
        if line.speaker_id == scene.speaker.id:
            own = json.dumps({"utterance": line.text}, ensure_ascii=False)
            messages.append(Message(role="assistant", content=own))
        else:
            messages.append(Message(role="user", content=line.text))
    reminder = _render(scene, "reminder")
    if reminder:
        messages[-1] = Message(role="user", content=f"{messages[-1].content}\n{reminder}")
    return tuple(messages)


def _render(scene: Scene, block: str) -> str:
    return _templates.render("speaker", block, scene.language, scene)
