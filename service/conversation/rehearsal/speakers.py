"""Owns the two speakers of a rehearsal, as handlers of their scenes: rules and authored words, no language model."""

import random

from pydantic import BaseModel

from service.conversation.rehearsal.character import speak_character
from service.conversation.rehearsal.npc import speak_npc, speak_partner
from service.conversation.scene import CharacterScene, NpcScene, PartnerScene
from service.llm.rehearsal import Handler

__all__ = ["HANDLERS", "speak_character", "speak_npc", "speak_partner"]


def _character(scene: CharacterScene, rng: random.Random) -> BaseModel:
    return speak_character(scene, rng)


def _npc(scene: NpcScene, rng: random.Random) -> BaseModel:
    return speak_npc(scene, rng)


def _partner(scene: PartnerScene, rng: random.Random) -> BaseModel:
    return speak_partner(scene, rng)


HANDLERS: dict[type, Handler] = {CharacterScene: _character, NpcScene: _npc, PartnerScene: _partner}
