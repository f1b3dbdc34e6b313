"""Owns what every conversation is held with: the worlds, the stores, the models, their budget, and those who listen."""

from dataclasses import dataclass
from typing import Protocol

from service.conversation.stream import Stream
from service.errors import ModelError
from service.llm.chat import ChatModel, Role
from service.memory.memory_store import MemoryStore
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.budget import DailyBudget
from service.store.session import Database


class Models(Protocol):
    """The models of the three roles; they may be one and the same."""

    def for_role(self, role: Role) -> ChatModel:
        """The model that answers for the role."""

    def names(self) -> dict[Role, str]:
        """Who answers, per role."""

    def failing(self) -> dict[Role, ModelError]:
        """The roles whose last calls have all failed, and how the last one did."""

    def rewind(self, world_id: str) -> None:
        """The world was brought back to an earlier moment."""
        ...


@dataclass(frozen=True, kw_only=True)
class ConversationDependencies:
    """What every conversation is held with."""

    settings: Settings
    worlds: WorldRepository
    database: Database
    memory: MemoryStore
    models: Models
    budget: DailyBudget
    stream: Stream

    @property
    def models_missing(self) -> bool:
        """Nobody answers decisions: characters follow their routine."""
        return self.models.names()["decision"] == "none"
