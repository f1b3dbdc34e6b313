"""Owns the Python API: what a program does with a game, and the values that it is answered with."""

from service.content.fields import ContentProblem as ContentProblem
from service.content.load import Cast as Cast
from service.content.load import Content as Content
from service.content.scenes import Scene as Scene
from service.conversation.asking import PersonAnswer as PersonAnswer
from service.errors import KataribeError as KataribeError
from service.errors import ModelError as ModelError
from service.llm.chat import Answer as Answer
from service.llm.chat import Prompt as Prompt
from service.llm.chat import PromptValues as PromptValues
from service.llm.chat import Templates as Templates
from service.llm.choose import Models as Models
from service.memory.recall import PersonMemory as PersonMemory
from service.memory.record import Memory as Memory
from service.memory.seed_lines import Statement as Statement
from service.memory.seed_lines import Summary as Summary
from service.memory.seed_lines import Turn as Turn
from service.people.worlds import WorldView as WorldView
from service.public.game import Game as Game
from service.public.game import check as check
from service.public.game import open as open
from service.public.talk import Talk as Talk
from service.public.world import World as World
from service.settings import Settings as Settings
from service.store.phase import EndReason as EndReason
from service.store.tables import EventRow as Event
from service.store.tables import SummaryRow as ConversationSummary
from service.store.tables import TurnRow as SpokenTurn
from world.time import WorldTime as WorldTime

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
