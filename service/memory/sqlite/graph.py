"""Owns the memory graph without a server: one SQLite file for all groups, full text, vectors and bi-temporal facts."""

import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from service.errors import KataribeError
from service.memory.embedding.embedder import Embedder, Vectors
from service.memory.graph import Episode, Fact, FactDraft, Group, GroupDump, Recalled
from service.memory.sqlite import read as sqlite_read
from service.memory.sqlite import write as sqlite_write
from service.memory.sqlite.database import SqliteDatabase
from service.memory.sqlite.search import Found, Question, search
from service.memory.sqlite.vector_cache import DEFAULT_BYTES, VectorCache
from service.memory.sqlite.write import GroupWriter
from world.time import WorldTime

FILL_BATCH = 64

log = logging.getLogger(__name__)


class SqliteGraph:
    """The memory graph of one process, in one file.

    Vectors are made outside of any transaction. Where the embedder fails, nothing is lost: the facts are written
    without, found by their words, and given their vectors by a later recall, `FILL_BATCH` a time, as are facts
    embedded by another model. Facts chosen by `about` or `partner_id` all answer a query, best first; without
    either, a fact that shares nothing with the query is no answer.

    An episode may arrive after a later one. It then closes what it replaces if that is still open, with
    `invalid_at` not before the closed fact's `valid_at` and `expired_at` not before its `created_at`; what the later
    episode has closed already stays as it is.
    """

    def __init__(
        self, path: Path | Literal[":memory:"], embedder: Embedder | None = None, *, cache_bytes: int = DEFAULT_BYTES
    ) -> None:
        self._database = SqliteDatabase(path)
        self._embedder = embedder
        self._model = "" if embedder is None else embedder.name
        self._cache = VectorCache(cache_bytes)

    @property
    def name(self) -> str:
        """``sqlite``."""
        return "sqlite"

    async def remember(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """See MemoryGraph."""
        if await self.holds(group, episode.id):
            return
        vectors = await self._passages([fact.statement for fact in facts])
        await self._database.write(lambda c: GroupWriter(c, group).remember(episode, facts, vectors, self._model))

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
        """See MemoryGraph. Where the embedder fails, words alone are searched."""
        if limit <= 0 or await self._holds_nothing(group):
            return []
        asked = Question(
            group=group,
            query=query,
            at=at,
            about=about,
            partner_id=partner_id,
            limit=limit,
            history=history,
            vector=await self._query(query),
            model=self._model,
        )
        found = await self._search(asked)
        if found.unembedded and await self._fill(group):
            found = await self._search(asked)
        return found.facts

    async def holds(self, group: Group, episode_id: str) -> bool:
        """See MemoryGraph."""
        return await self._database.read(lambda c: sqlite_read.has_episode(c, group, episode_id))

    async def history(self, group: Group, fact_id: str) -> list[Fact]:
        """See MemoryGraph."""
        return await self._database.read(lambda c: sqlite_read.read_chain(c, group, fact_id))

    async def episodes(self, group: Group, *, partner_id: str | None = None, limit: int = 20) -> list[Episode]:
        """See MemoryGraph."""
        return await self._database.read(lambda c: sqlite_read.read_episodes(c, group, partner_id, limit))

    async def export(self, group: Group) -> GroupDump:
        """See MemoryGraph."""
        return await self._database.read(lambda c: sqlite_read.read_group(c, group))

    async def load(self, group: Group, dump: GroupDump) -> None:
        """See MemoryGraph. The facts are there at once; their vectors are made before this returns."""
        await self._database.write(lambda c: GroupWriter(c, group).load(dump))
        while await self._fill(group):
            pass

    async def forget(self, group: Group) -> None:
        """See MemoryGraph."""
        self._drop(await self._database.write(lambda c: sqlite_write.delete_group(c, group)))

    async def forget_world(self, world_id: str) -> None:
        """See MemoryGraph."""
        self._drop(await self._database.write(lambda c: sqlite_write.delete_world(c, world_id)))

    async def check(self) -> None:
        """See MemoryGraph."""
        await self._database.write(lambda c: c.execute("SELECT 1 FROM groups LIMIT 1").fetchone())

    async def aclose(self) -> None:
        """Close the file. The embedder is its maker's to close."""
        await self._database.aclose()

    async def _holds_nothing(self, group: Group) -> bool:
        """Found out before the query is embedded: that takes longer than everything else."""
        if self._embedder is None:
            return False
        return await self._database.read(lambda c: sqlite_read.group_key(c, group)) is None

    async def _search(self, asked: Question) -> Found:
        return await self._database.read(lambda c: search(c, self._cache, asked))

    def _drop(self, group_keys: list[int]) -> None:
        for key in group_keys:
            self._cache.drop(key)

    async def _fill(self, group: Group) -> bool:
        """Give a batch of facts the vectors they lack, the newest first; whether there were any."""
        missing = await self._database.read(lambda c: sqlite_read.read_unembedded(c, group, self._model, FILL_BATCH))
        vectors = await self._passages([statement for _, statement in missing])
        if vectors is None:
            return False

        def store(c: sqlite3.Connection) -> None:
            key = sqlite_read.group_key(c, group)
            if key is not None:
                sqlite_write.add_vectors(c, key, self._model, [fact_key for fact_key, _ in missing], vectors)

        await self._database.write(store)
        return True

    async def _query(self, query: str) -> Vectors | None:
        if self._embedder is None or not query.strip():
            return None
        try:
            return await self._embedder.query(query)
        except KataribeError as exc:
            log.warning("recall by words alone: %s", exc)
            return None

    async def _passages(self, texts: Sequence[str]) -> Vectors | None:
        if self._embedder is None or not texts:
            return None
        try:
            return await self._embedder.passages(texts)
        except KataribeError as exc:
            log.warning("%d facts are remembered without a vector for now: %s", len(texts), exc)
            return None
