"""Owns patience with a memory graph that is away: who has just waited for it in vain spares the others the wait."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from service.errors import GraphUnavailable
from service.memory.graph import Episode, Fact, FactDraft, Group, GroupDump, MemoryGraph, Recalled
from world.time import WorldTime

T = TypeVar("T")

REST_SECONDS = 3.0
"""Machine time. A world whose graph is away asks it at every decision: each would wait for the connection to fail."""


class Resting:
    """A MemoryGraph that, after `inner` was unavailable, is so for `rest_seconds` without asking it; `check` always asks."""

    def __init__(
        self,
        inner: MemoryGraph,
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

    async def remember(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """See MemoryGraph."""
        await self._ask(lambda: self._inner.remember(group, episode, facts))

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
        """See MemoryGraph."""
        return await self._ask(
            lambda: self._inner.recall(
                group, query, at=at, about=about, partner_id=partner_id, limit=limit, history=history
            )
        )

    async def holds(self, group: Group, episode_id: str) -> bool:
        """See MemoryGraph."""
        return await self._ask(lambda: self._inner.holds(group, episode_id))

    async def history(self, group: Group, fact_id: str) -> list[Fact]:
        """See MemoryGraph."""
        return await self._ask(lambda: self._inner.history(group, fact_id))

    async def episodes(self, group: Group, *, partner_id: str | None = None, limit: int = 20) -> list[Episode]:
        """See MemoryGraph."""
        return await self._ask(lambda: self._inner.episodes(group, partner_id=partner_id, limit=limit))

    async def export(self, group: Group) -> GroupDump:
        """See MemoryGraph."""
        return await self._ask(lambda: self._inner.export(group))

    async def load(self, group: Group, dump: GroupDump) -> None:
        """See MemoryGraph."""
        await self._ask(lambda: self._inner.load(group, dump))

    async def forget(self, group: Group) -> None:
        """See MemoryGraph."""
        await self._ask(lambda: self._inner.forget(group))

    async def forget_world(self, world_id: str) -> None:
        """See MemoryGraph."""
        await self._ask(lambda: self._inner.forget_world(world_id))

    async def check(self) -> None:
        """See MemoryGraph."""
        self._away = None
        await self._ask(self._inner.check)

    async def aclose(self) -> None:
        """See MemoryGraph."""
        await self._inner.aclose()

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        if self._away is not None and self._seconds() < self._rests_until:
            raise GraphUnavailable(**self._away.facts)
        try:
            answer = await ask()
        except GraphUnavailable as exc:
            self._away, self._rests_until = exc, self._seconds() + self._rest_seconds
            raise
        self._away = None
        return answer
