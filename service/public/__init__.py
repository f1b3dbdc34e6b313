"""Owns the Python API: what a program does with a game, and the values that it is answered with."""

from typing import TYPE_CHECKING

from service.public.by_name import by_name

if TYPE_CHECKING:
    from service.content.fields import ContentProblem
    from service.content.load import Cast, Content
    from service.content.scenes import Scene
    from service.conversation.surveys import PersonAnswer
    from service.errors import KataribeError, ModelError
    from service.llm.chat import Answer, Prompt, PromptValues, Templates
    from service.llm.choose import Models
    from service.memory.recall import PersonMemory
    from service.memory.record import Memory
    from service.memory.seed_lines import Statement, Summary, Turn
    from service.people.worlds import WorldView
    from service.public.game import Game, check, open
    from service.public.talk import Talk
    from service.public.world import World
    from service.settings import Settings
    from service.store.phase import EndReason
    from service.store.tables import EventRow as Event
    from service.store.tables import SummaryRow as ConversationSummary
    from service.store.tables import TurnRow as SpokenTurn
    from world.time import WorldTime
else:
    __getattr__ = by_name(__name__)

__all__ = [
    "Answer",
    "Cast",
    "Content",
    "ContentProblem",
    "ConversationSummary",
    "EndReason",
    "Event",
    "Game",
    "KataribeError",
    "Memory",
    "ModelError",
    "Models",
    "PersonAnswer",
    "PersonMemory",
    "Prompt",
    "PromptValues",
    "Scene",
    "Settings",
    "SpokenTurn",
    "Statement",
    "Summary",
    "Talk",
    "Templates",
    "Turn",
    "World",
    "WorldTime",
    "WorldView",
    "check",
    "open",
]
