"""Owns the two speakers of a rehearsal, as handlers of their scenes: rules and authored words, no language model."""

import random

from pydantic import BaseModel

from service.conversation.context import PromptContext
from service.conversation.rehearsal.character import speak_character
from service.conversation.rehearsal.npc import speak_npc, speak_partner
from service.llm.rehearsal import Handler

__all__ = ["HANDLERS", "speak_character", "speak_npc", "speak_partner"]


def _speak(context: PromptContext, rng: random.Random) -> BaseModel:
    if context.begins:
        return speak_character(context, rng)
    return speak_npc(context, rng) if context.speaker.kind == "npc" else speak_partner(context, rng)


HANDLERS: dict[type, Handler] = {PromptContext: _speak}
