"""Owns the prompts and answers that the tests of this folder share."""

from typing import Any

from service.conversation.acting import CharacterTurn
from service.llm.chat import Message, Prompt, Role
from service.locales import Language

TURN: dict[str, Any] = {
    "utterance": 'やあ、a "friend" 🦊!',
    "emotion": "happy",
    "act": "waves",
    "wants_to_end": False,
    "goal_achieved": True,
}


def ask(
    *messages: Message, role: Role = "character", max_tokens: int = 600, language: Language = "en"
) -> Prompt[CharacterTurn]:
    """A prompt for a character's turn."""
    return Prompt(
        name="turn",
        role=role,
        language=language,
        messages=messages or (Message(role="system", content="You are Ren."), Message(role="user", content="Speak.")),
        answer=CharacterTurn,
        max_tokens=max_tokens,
    )
