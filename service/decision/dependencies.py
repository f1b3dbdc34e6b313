"""Owns what a decision is made with, wired once by the application."""

from dataclasses import dataclass
from typing import Protocol

from service.llm.chat import ChatModel, Role
from service.memory.memory_store import MemoryStore
from service.settings import Settings
from service.store.session import Database


class ModelOfRole(Protocol):
    """Whoever knows which model answers for a role."""

    def for_role(self, role: Role) -> ChatModel:
        """Who answers for that role."""
        ...


@dataclass(frozen=True, kw_only=True)
class DecisionDependencies:
    """What a decision is made with."""

    settings: Settings
    database: Database
    memory: MemoryStore
    models: ModelOfRole
