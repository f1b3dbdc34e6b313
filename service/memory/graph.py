"""Owns the long-term memory's contract: episodes, entities and bi-temporal facts, one group per character and world.

Times are world times. A fact is true from `valid_at` until before `invalid_at`, and was known from `created_at`
until before `expired_at`. Nothing is overwritten: a fact that is replaced is closed and keeps its history.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from world.time import WorldTime

_NAMESPACE = uuid.UUID("6f1d3c52-8f0e-5b0a-9a52-2b8a6f3d7c11")


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Group:
    """Whose memory: one character of one world."""

    world_id: str
    character_id: str

    @property
    def id(self) -> str:
        """``world--character``: ASCII ``[A-Za-z0-9_-]+``, unique because ids hold no ``--``."""
        return f"{self.world_id}--{self.character_id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """Something the character lived through. `partner_id` is the other person; `body` a summary in prose."""

    id: str
    name: str
    body: str
    partner_id: str
    conversation_id: str
    at: WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class FactDraft:
    """A fact to be remembered. `subject` and `object` are entity names; `replaces` are ids of facts it supersedes."""

    id: str
    subject: str
    relation: str
    object: str
    statement: str
    turn: int | None
    valid_at: WorldTime
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A remembered fact with its two times and its provenance (fact -> episode -> conversation -> turn)."""

    id: str
    subject: str
    relation: str
    object: str
    statement: str
    valid_at: WorldTime
    invalid_at: WorldTime | None
    created_at: WorldTime
    expired_at: WorldTime | None
    replaced_by: str | None
    episode_id: str
    partner_id: str
    conversation_id: str
    turn: int | None

    def known_at(self, t: WorldTime) -> bool:
        """Whether it was held true at world time `t`, by what was known at `t`.

        When a fact is closed, its end (`invalid_at`) is learned at `expired_at`: before that nobody knew of it, and the
        fact was held true, even if it was over by then.
        """
        if not (self.created_at <= t and self.valid_at <= t):
            return False
        if self.expired_at is not None:
            return t < self.expired_at
        return self.invalid_at is None or t < self.invalid_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """A fact found by a search; `score` orders the answers of one search and means nothing beyond it."""

    fact: Fact
    score: float


class MemoryGraph(Protocol):
    """Where a character's long-term memory lives. Every implementation passes tests/memory/contract.py."""

    @property
    def name(self) -> str:
        """``sqlite`` or ``graphiti``."""
        ...

    async def remember(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """Write an episode with its facts, all or nothing.

        The second write of the same episode changes nothing. A fact in `replaces` that is still open is closed:
        its `invalid_at` becomes the new fact's `valid_at` (never before its own) and its `expired_at` the
        episode's `at`. Ids in `replaces` that the group does not hold are passed over. One write at a time per group.

        Raises:
            GraphUnavailable: nothing was written; the same call may be made again.
        """
        ...

    async def recall(
        self,
        group: Group,
        query: str,
        *,
        at: WorldTime,
        about: str | None = None,
        partner_id: str | None = None,
        limit: int = 10,
        history: bool = False,
    ) -> list[Recalled]:
        """The facts that answer `query`, best first: full text, embedding and nearness fused by rank.

        Only facts known and valid at `at`, unless `history` asks for the closed ones known by then too.
        `about` names an entity and `partner_id` a person: facts that touch the entity or were heard from the
        person; with both, either suffices. An empty query orders by nearness to `about`, then newest first.

        Raises:
            GraphUnavailable.
        """
        ...

    async def holds(self, group: Group, episode_id: str) -> bool:
        """Whether the group has that episode.

        Raises:
            GraphUnavailable.
        """
        ...

    async def history(self, group: Group, fact_id: str) -> list[Fact]:
        """The fact and all it replaced or was replaced by, oldest first. Empty when the group does not hold it."""
        ...

    async def episodes(self, group: Group, *, partner_id: str | None = None, limit: int = 20) -> list[Episode]:
        """Episodes, newest first."""
        ...

    async def export(self, group: Group) -> "GroupDump":
        """Everything the group holds, oldest first."""
        ...

    async def load(self, group: Group, dump: "GroupDump") -> None:
        """Write a dump into a group, as it was; what is there already under the same ids stays."""
        ...

    async def forget(self, group: Group) -> None:
        """Remove the group wholly."""
        ...

    async def forget_world(self, world_id: str) -> None:
        """Remove every group of the world."""
        ...

    async def check(self) -> None:
        """Raises: GraphUnavailable: with the setting to look at."""
        ...

    async def aclose(self) -> None:
        """Release what is held."""
        ...


@dataclass(frozen=True, kw_only=True)
class GroupDump:
    """A group's content for export and copy."""

    episodes: tuple[Episode, ...]
    facts: tuple[Fact, ...]


def episode_id(group: Group, conversation_id: str) -> str:
    """The id of the episode of a conversation in one character's memory: the same on every retry."""
    return str(uuid.uuid5(_NAMESPACE, f"{group.id}/{conversation_id}"))


def fact_id(episode: str, index: int) -> str:
    """The id of an episode's fact number `index`: the same on every retry."""
    return str(uuid.uuid5(_NAMESPACE, f"{episode}/{index}"))
