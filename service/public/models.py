"""Owns what a program that asks models itself needs: prompts and who answers them, what calls cost, and how answers are
checked.
"""

from typing import TYPE_CHECKING

from service.public.by_name import by_name

if TYPE_CHECKING:
    from service.errors import (
        ModelBroken,
        ModelEmpty,
        ModelError,
        ModelNotConfigured,
        ModelOutOfCharacter,
        ModelRefused,
        ModelTruncated,
    )
    from service.llm.chat import (
        Answer,
        ChatModel,
        ModelWrapper,
        Prompt,
        PromptValues,
        Role,
        T,
        Templates,
        TextListener,
        estimate_tokens,
        estimated,
        prompt_tokens,
    )
    from service.llm.choose import ROLES, LocalServer, Models, choose_models, find_local_servers
    from service.logs import write_logs
    from service.offline.model import REHEARSAL, Handler, OfflineModel
    from service.quality.checks import Exchange, Fault, Standard, faults, folded_in
    from service.settings import USUAL_CONTEXT, CassetteMode, Settings, read_settings
    from service.store.phase import AUTHOR
    from service.usage import Usage
else:
    __getattr__ = by_name(__name__)

__all__ = [
    "AUTHOR",
    "REHEARSAL",
    "ROLES",
    "USUAL_CONTEXT",
    "Answer",
    "CassetteMode",
    "ChatModel",
    "Exchange",
    "Fault",
    "Handler",
    "LocalServer",
    "ModelBroken",
    "ModelEmpty",
    "ModelError",
    "ModelNotConfigured",
    "ModelOutOfCharacter",
    "ModelRefused",
    "ModelTruncated",
    "ModelWrapper",
    "Models",
    "OfflineModel",
    "Prompt",
    "PromptValues",
    "Role",
    "Settings",
    "Standard",
    "T",
    "Templates",
    "TextListener",
    "Usage",
    "choose_models",
    "estimate_tokens",
    "estimated",
    "faults",
    "find_local_servers",
    "folded_in",
    "prompt_tokens",
    "read_settings",
    "write_logs",
]
