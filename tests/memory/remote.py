"""Owns a graph outside our database, for the tests of the way to it: it can be away, refuse, be slow, or die."""

import asyncio
from collections.abc import Sequence

from service.errors import GraphUnavailable
from service.memory.embedding.embedder import VectorSpace
from service.memory.projection import Changes, Found
from service.memory.record import Episode, Group


class RemoteGraph:
    """A Projection that keeps what it is given. `refused` is a person whose memory it cannot write; `taken` is whose
    was written, in order.
    """

    reads_episodes = False

    def __init__(self) -> None:
        self.away = False
        self.dies_after = False
        self.refused = ""
        self.slow: asyncio.Event | None = None
        self.taken: list[str] = []
        self.held: dict[Group, dict[str, str]] = {}

    def group_id(self, group: Group) -> str:
        return group.id

    async def write(self, changes: Changes) -> bool:
        self._require()
        if changes.group.person_id == self.refused:
            raise ValueError("cannot be written, ever")
        if self.slow is not None:
            await self.slow.wait()
        held = {} if changes.is_whole else self.held.setdefault(changes.group, {})
        held |= {one.conversation_id: one.text for one in changes.episodes}
        self.held[changes.group] = held | {one.memory.id: one.text for one in changes.facts}
        self.taken.append(changes.group.person_id)
        if self.dies_after:
            raise KeyboardInterrupt
        return True

    async def read(self, group: Group, episode: Episode, space: VectorSpace) -> Sequence[Found]:
        raise NotImplementedError

    async def check(self) -> None:
        self._require()

    async def aclose(self) -> None:
        return

    def _require(self) -> None:
        if self.away:
            raise GraphUnavailable(backend="far", reason="connection refused", setting="KATARIBE_MEMORY__NEO4J_URI")
