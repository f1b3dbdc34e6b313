"""Owns what a program that asks models itself needs: prompts and who answers them, what calls cost, and how answers are
checked.
"""

from service.errors import ModelBroken, ModelEmpty, ModelError, ModelOutOfCharacter, ModelRefused, ModelTruncated
from service.llm.chat import (
    Answer,
    ChatModel,
    ModelWrapper,
    Prompt,
    PromptValues,
    T,
    Templates,
    TextListener,
    estimate_tokens,
    prompt_tokens,
)
from service.llm.choose import ROLES, Models
from service.offline.model import REHEARSAL, Handler
from service.quality.checks import Exchange, Fault, Standard, faults, folded_in
from service.settings import Settings
from service.store.phase import AUTHOR
from service.usage import Usage

__all__ = [
    "AUTHOR",
    "REHEARSAL",
    "ROLES",
    "Answer",
    "ChatModel",
    "Exchange",
    "Fault",
    "Handler",
    "ModelBroken",
    "ModelEmpty",
    "ModelError",
    "ModelOutOfCharacter",
    "ModelRefused",
    "ModelTruncated",
    "ModelWrapper",
    "Models",
    "Prompt",
    "PromptValues",
    "Settings",
    "Standard",
    "T",
    "Templates",
    "TextListener",
    "Usage",
    "estimate_tokens",
    "faults",
    "folded_in",
    "prompt_tokens",
]
