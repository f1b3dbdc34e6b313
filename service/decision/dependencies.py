"""Owns what a decision is made with, wired once by the application."""

from dataclasses import dataclass
from typing import Protocol

from service.decision.context import Decision, DecisionContext
from service.decision.prompt import Asked
from service.llm.choose import Models
from service.memory.memory_store import MemoryStore
from service.settings import Settings
from service.store.quality import Checked
from service.store.session import Database
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True)
class Deciding:
    """A decision that was made and does not count yet. `thought` is that of the decision before, with what it wanted
    of a talk, and `last` what came of it: its action and facility (None: its model was not asked).
    """

    world_id: str
    at: WorldTime
    context: DecisionContext
    thread: str
    thought: str
    last: tuple[str, str | None] | None


class DecisionQuality(Protocol):
    """Whoever says how good a decision is before it counts."""

    def wants(self, world_id: str, person_id: str, at: WorldTime) -> bool:
        """Whether that decision is checked: the same whenever it is asked."""

    async def best(self, deciding: Deciding, first: Asked[Decision]) -> Checked[Asked[Decision]]:
        """What is decided instead of, or as, the `first`."""


@dataclass(frozen=True, kw_only=True)
class DecisionDependencies:
    """What a decision is made with."""

    settings: Settings
    database: Database
    memory: MemoryStore
    models: Models
    quality: DecisionQuality | None = None
