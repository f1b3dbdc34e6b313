"""Owns what every conversation is held with: the worlds, the stores, the models, their budget, and those who listen."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from service.conversation.prompt import PromptContext
from service.conversation.stream import Stream
from service.llm.chat import Answer, Role
from service.llm.choose import Models
from service.memory.memory_store import MemoryStore
from service.memory.projection import Projection
from service.memory.record import Group
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.budget import DailyBudget
from service.store.quality import CheckedAnswer, Tally
from service.store.session import Database
from service.store.tables import ConversationKey

Again = Callable[[str], Awaitable[Answer[Any] | None]]
"""Has a turn said anew, with a note for this once; None: what came cannot be used. Raises ModelError."""


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A turn that was made and is not said yet: what its speaker knew (`context`), as it was `told` it."""

    key: ConversationKey
    turn: int
    context: PromptContext
    told: str


class TurnQuality(Protocol):
    """A judge of turns: it is asked how good one is before it is said."""

    def wants(self, key: ConversationKey, turn: int, role: Role) -> bool:
        """Whether that turn is checked: the same whenever it is asked."""

    async def best(self, spoken: Spoken, first: Answer[Any], again: Again, tally: Tally) -> CheckedAnswer[Answer[Any]]:
        """Choose the answer that is said: the `first` one, or a better one made `again`. It counts each call in `tally`
        as soon as it is answered.
        """


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
    quality: TurnQuality | None = None
    projection: Projection | None = None
    """The graph that holds what people remember too; None: there is none."""

    def group_id(self, group: Group) -> str:
        """What the person's memory is called, in the graph too."""
        return group.id if self.projection is None else self.projection.group_id(group)

    @property
    def models_missing(self) -> bool:
        """Whether no model answers decisions: then characters follow their routine."""
        return self.models.names()["decision"] == "none"
