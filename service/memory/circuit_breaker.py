"""Owns the circuit breaker of a memory store outside our database: once it was found away, calls fail at once for a
while."""

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol, TypeVar

from sqlmodel import Session

from service.errors import EmbedderChanged, GraphUnavailable, MemoryOfAnother
from service.memory.store import (
    FACTS,
    Delivery,
    Embedded,
    Episode,
    Fact,
    FactDraft,
    Group,
    GroupDump,
    Item,
    Kind,
    MemoryStore,
    Recalled,
)
from world.time import WorldTime

T = TypeVar("T")

REST_SECONDS = 3.0
"""Machine time in which nobody asks again: a world asks its memory at every decision, and each would wait in vain."""


class RemoteMemory(MemoryStore, Delivery, Protocol):
    """A store that lies outside our database."""


class CircuitBreaker:
    """A RemoteMemory that is unavailable for `rest_seconds` after `inner` was, and does not ask it; `check` does."""

    def __init__(
        self,
        inner: RemoteMemory,
        *,
        rest_seconds: float = REST_SECONDS,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._rest_seconds = rest_seconds
        self._seconds = seconds
        self._away: GraphUnavailable | None = None
        self._rests_until = 0.0

    @property
    def name(self) -> str:
        """The inner one's."""
        return self._inner.name

    @property
    def delivery(self) -> Delivery:
        """Itself."""
        return self

    @property
    def embeds(self) -> bool:
        """The inner one's."""
        return self._inner.embeds

    def group_id(self, group: Group) -> str:
        """See MemoryStore."""
        return self._inner.group_id(group)

    async def embed(self, texts: Collection[str]) -> Embedded:
        """See MemoryStore."""
        return await self._inner.embed(texts)

    def remember(
        self, session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft], embedded: Embedded
    ) -> int:
        """See MemoryStore."""
        return self._inner.remember(session, group, episode, facts, embedded)

    def forget(self, session: Session, group: Group, partner_id: str | None = None) -> None:
        """See MemoryStore."""
        self._inner.forget(session, group, partner_id)

    async def deliver(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """See Delivery."""
        await self._ask(lambda: self._inner.deliver(group, episode, facts))

    async def holds(self, group: Group, conversation_id: str) -> bool:
        """See Delivery."""
        return await self._ask(lambda: self._inner.holds(group, conversation_id))

    async def erase(self, group: Group, partner_id: str | None = None) -> None:
        """See Delivery."""
        await self._ask(lambda: self._inner.erase(group, partner_id))

    async def write(self, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> None:
        """See Delivery."""
        await self._ask(lambda: self._inner.write(group, facts, episodes))

    async def erase_one(self, group: Group, kind: Kind, key: str) -> None:
        """See Delivery."""
        await self._ask(lambda: self._inner.erase_one(group, kind, key))

    def add(self, session: Session, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> int:
        """See MemoryStore."""
        return self._inner.add(session, group, facts, episodes)

    def replace(self, session: Session, group: Group, item: Fact | Episode) -> None:
        """See MemoryStore."""
        self._inner.replace(session, group, item)

    def remove(self, session: Session, group: Group, kind: Kind, key: str) -> None:
        """See MemoryStore."""
        self._inner.remove(session, group, kind, key)

    async def items(self, group: Group, at: WorldTime, *, forgotten: bool = False) -> list[Item]:
        """See MemoryStore."""
        return await self._ask(lambda: self._inner.items(group, at, forgotten=forgotten))

    async def forgotten(self, group: Group, at: WorldTime) -> dict[tuple[Kind, str], WorldTime]:
        """See MemoryStore."""
        return await self._ask(lambda: self._inner.forgotten(group, at))

    async def pending_vectors(self, group: Group, at: WorldTime) -> int:
        """See MemoryStore."""
        return await self._ask(lambda: self._inner.pending_vectors(group, at))

    async def fill_vectors(self, group: Group, at: WorldTime) -> int:
        """See MemoryStore."""
        return await self._ask(lambda: self._inner.fill_vectors(group, at))

    async def recall(
        self,
        group: Group,
        query: str,
        *,
        at: WorldTime,
        kinds: Collection[Kind] = FACTS,
        about: str | None = None,
        partner_id: str | None = None,
        limit: int = 10,
        history: bool = False,
        at_hand: bool = False,
        forgotten: bool = False,
        now: WorldTime | None = None,
    ) -> list[Recalled]:
        """See MemoryStore."""
        return await self._ask(
            lambda: self._inner.recall(
                group,
                query,
                at=at,
                kinds=kinds,
                about=about,
                partner_id=partner_id,
                limit=limit,
                history=history,
                at_hand=at_hand,
                forgotten=forgotten,
                now=now,
            )
        )

    async def export(self, group: Group) -> GroupDump:
        """See MemoryStore."""
        return await self._ask(lambda: self._inner.export(group))

    async def check(self) -> None:
        """See MemoryStore."""
        self._away = None
        await self._ask(self._inner.check)

    async def aclose(self) -> None:
        """See MemoryStore."""
        await self._inner.aclose()

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        if self._away is not None and self._seconds() < self._rests_until:
            raise GraphUnavailable(**self._away.facts)
        try:
            answer = await ask()
        except (MemoryOfAnother, EmbedderChanged):  # this holds of one group; the store answers for the others
            raise
        except GraphUnavailable as exc:
            self._away, self._rests_until = exc, self._seconds() + self._rest_seconds
            raise
        self._away = None
        return answer
