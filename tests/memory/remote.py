"""Owns a memory store outside our database, for the tests of the way to it: it can be away, refuse, be slow, or die."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from sqlmodel import Session

from service.errors import GraphUnavailable
from service.memory.embedding.embedder import Vectors, VectorSpace
from service.memory.index import PersonIndex, key_of
from service.memory.memory_store import MemoryStore
from service.memory.outbox import leave_episode, leave_forgetting, leave_items, leave_removal
from service.memory.record import Embedded, Episode, Fact, FactDraft, Group, GroupDump, Item, Kind, Recalled
from world.time import WorldTime


class RemoteMemory(MemoryStore):
    """Takes what is delivered. `refused` is a conversation it cannot write; `taken` is what was written, in order."""

    name = "far"

    def __init__(self) -> None:
        self._embedder = None
        self.away = False
        self.dies_after = False
        self.refused = ""
        self.slow: asyncio.Event | None = None
        self.taken: list[str] = []
        self.held: dict[Group, dict[str, tuple[Episode, list[FactDraft]]]] = {}
        self.written: dict[Group, dict[tuple[Kind, str], Item]] = {}

    @property
    def delivery(self) -> "RemoteMemory":
        return self

    async def embed(self, texts: Collection[str]) -> Embedded:
        return Embedded()

    def remember(
        self, session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft], embedded: Embedded
    ) -> int:
        return leave_episode(session, group, episode, facts)

    def forget(self, session: Session, group: Group, partner_id: str | None = None) -> None:
        leave_forgetting(session, group, partner_id)

    async def deliver(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        self._require()
        if episode.conversation_id == self.refused:
            raise ValueError("cannot be written, ever")
        if self.slow is not None:
            await self.slow.wait()
        self.held.setdefault(group, {}).setdefault(episode.conversation_id, (episode, list(facts)))
        self.taken.append(episode.conversation_id)
        if self.dies_after:
            raise KeyboardInterrupt

    async def holds(self, group: Group, conversation_id: str) -> bool:
        self._require()
        return conversation_id in self.held.get(group, {})

    async def erase(self, group: Group, partner_id: str | None = None) -> None:
        self._require()
        if partner_id is None:
            self.held.pop(group, None)
            self.written.pop(group, None)
            return
        kept = {key: (one, facts) for key, (one, facts) in self.held[group].items() if one.partner_id != partner_id}
        self.held[group] = kept

    def add(self, session: Session, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> int:
        return leave_items(session, group, facts, episodes)

    def replace(self, session: Session, group: Group, item: Fact | Episode) -> None:
        facts, episodes = ([item], []) if isinstance(item, Fact) else ([], [item])
        leave_items(session, group, facts, episodes)

    def remove(self, session: Session, group: Group, kind: Kind, key: str) -> None:
        leave_removal(session, group, kind, key)

    async def write(self, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> None:
        self._require()
        if self.slow is not None:
            await self.slow.wait()
        every: list[Fact | Episode] = [*facts, *episodes]
        self.written.setdefault(group, {}).update({key_of(one): one for one in every})

    async def erase_one(self, group: Group, kind: Kind, key: str) -> None:
        self._require()
        self.written.get(group, {}).pop((kind, key), None)
        if kind is Kind.SUMMARY:  # with what was taken from it
            self.held.get(group, {}).pop(key, None)

    async def forgotten(self, group: Group, at: WorldTime) -> dict[tuple[Kind, str], WorldTime]:
        return {}

    async def items(self, group: Group, at: WorldTime, *, forgotten: bool = False) -> list[Item]:
        self._require()
        return [*(found.item for found in await self.recall(group, "")), *self.written.get(group, {}).values()]

    async def recall(self, group: Group, query: str, **asked: Any) -> list[Recalled]:
        self._require()
        held = self.held.get(group, {}).values()
        return [Recalled(item=_fact(episode, draft), score=1) for episode, drafts in held for draft in drafts]

    async def export(self, group: Group) -> GroupDump:
        self._require()
        items = [*(episode for episode, _ in self.held.get(group, {}).values()), *await self.items(group, WorldTime(0))]
        return GroupDump(
            episodes=tuple(one for one in items if isinstance(one, Episode)),
            facts=tuple(one for one in items if isinstance(one, Fact)),
        )

    async def check(self) -> None:
        self._require()

    async def aclose(self) -> None:
        pass

    def facts(self, group: Group) -> list[str]:
        """Statements of what the group holds."""
        return [fact.statement for _, facts in self.held.get(group, {}).values() for fact in facts]

    # It has no embedder, and searches without an index.

    async def _embedded_otherwise(self, space: VectorSpace) -> list[tuple[Group, VectorSpace]]:
        return []

    async def _reembed(self, group: Group, space: VectorSpace) -> int:
        return 0

    async def _add_vectors(self, group: Group, vectors: Sequence[tuple[Kind, str, Vectors]]) -> None: ...

    async def _current(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
        raise NotImplementedError

    def _require(self) -> None:
        if self.away:
            raise GraphUnavailable(backend="far", reason="connection refused", setting="KATARIBE_MEMORY__NEO4J_URI")


def _fact(episode: Episode, draft: FactDraft) -> Fact:
    return Fact(
        id=draft.id,
        subject=draft.subject,
        relation=draft.relation,
        object=draft.object,
        statement=draft.statement,
        valid_at=draft.valid_at,
        invalid_at=None,
        created_at=episode.at,
        expired_at=None,
        replaced_by=None,
        partner_id=episode.partner_id,
        conversation_id=episode.conversation_id,
        turn=draft.turn,
    )
