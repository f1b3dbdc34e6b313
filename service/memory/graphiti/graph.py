"""Owns the memory graph on Graphiti and Neo4j: graphiti-core's nodes and edges, written without a model call.

Words and nearness are the server's and the group index's (index.py); what is written is Graphiti's own form,
so that its tools, Neo4j's browser and `add_episode` (episode.py) see one graph.
"""

import logging
from collections.abc import Mapping, Sequence

from pydantic import SecretStr

from service.errors import KataribeError
from service.memory.embedding.embedder import Embedder, Vectors
from service.memory.graph import Episode, Fact, FactDraft, Group, GroupDump, Recalled
from service.memory.graphiti.connection import Neo4jConnection
from service.memory.graphiti.index import DEFAULT_BYTES, GroupIndexes
from service.memory.graphiti.search import GroupReader, Question, read_world
from service.memory.graphiti.write import Embedded, GroupWriter
from service.memory.lexical import normal
from world.time import WorldTime

FILL_BATCH = 64
LOAD_BATCH = 500

log = logging.getLogger(__name__)


class GraphitiGraph:
    """The memory graph of many processes on one Neo4j (5.26 or later is what it is tested with).

    Vectors are made outside of any transaction. Where the embedder fails, nothing is lost: the facts are written
    without, found by their words, and given their vectors by a later recall, `FILL_BATCH` a time, as are facts
    embedded by another model. Nothing is asked of the server before the first call, so a service starts without it.
    """

    def __init__(
        self,
        uri: str,
        user: str,
        password: SecretStr,
        database: str = "neo4j",
        embedder: Embedder | None = None,
        *,
        cache_bytes: int = DEFAULT_BYTES,
    ) -> None:
        self._connection = Neo4jConnection(uri, user, password, database)
        self._embedder = embedder
        self._model = "" if embedder is None else embedder.name
        self._indexes = GroupIndexes(0 if embedder is None else embedder.dimensions, cache_bytes)

    @property
    def name(self) -> str:
        """``graphiti``."""
        return "graphiti"

    async def remember(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """See MemoryGraph."""
        drafts = list(facts)
        async with self._connection.one_at_a_time(group.id):
            if await self.holds(group, episode.id):
                return
            embedded = await self._embed([(one.statement, one.subject, one.object) for one in drafts])
            await self._writer(group).remember(episode, drafts, embedded)

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
        if limit <= 0:
            return []
        asked = Question(
            query=query,
            at=at,
            about=about,
            partner_id=partner_id,
            limit=limit,
            history=history,
            vector=await self._query(query),
            model=self._model,
        )
        reader = GroupReader(self._connection, group)
        found = await reader.search(self._indexes, asked)
        if found.unembedded and await self._fill(group, found.unembedded[:FILL_BATCH]):
            found = await reader.search(self._indexes, asked)
        return found.facts

    async def holds(self, group: Group, episode_id: str) -> bool:
        """See MemoryGraph."""
        return await GroupReader(self._connection, group).has_episode(episode_id)

    async def history(self, group: Group, fact_id: str) -> list[Fact]:
        """See MemoryGraph."""
        return await GroupReader(self._connection, group).chain(fact_id)

    async def episodes(self, group: Group, *, partner_id: str | None = None, limit: int = 20) -> list[Episode]:
        """See MemoryGraph."""
        return await GroupReader(self._connection, group).episodes(partner_id, limit)

    async def export(self, group: Group) -> GroupDump:
        """See MemoryGraph."""
        return await GroupReader(self._connection, group).dump()

    async def load(self, group: Group, dump: GroupDump) -> None:
        """See MemoryGraph. Written `LOAD_BATCH` facts a transaction; one that was cut off is finished by another."""
        async with self._connection.one_at_a_time(group.id):
            writer = self._writer(group)
            if dump.episodes and not dump.facts:
                await writer.load(dump.episodes, (), await self._embed([]))
            for start in range(0, len(dump.facts), LOAD_BATCH):
                facts = dump.facts[start : start + LOAD_BATCH]
                embedded = await self._embed([(one.statement, one.subject, one.object) for one in facts])
                await writer.load(dump.episodes if start == 0 else (), facts, embedded)

    async def forget(self, group: Group) -> None:
        """See MemoryGraph."""
        async with self._connection.one_at_a_time(group.id):
            await self._writer(group).forget()
        self._indexes.drop(group.id)

    async def forget_world(self, world_id: str) -> None:
        """See MemoryGraph."""
        for group in await read_world(self._connection, world_id):
            await self.forget(group)

    async def check(self) -> None:
        """See MemoryGraph."""
        await self._connection.check()

    async def aclose(self) -> None:
        """Close the connections. The embedder is its maker's to close."""
        await self._connection.aclose()

    def _writer(self, group: Group) -> GroupWriter:
        return GroupWriter(self._connection, group)

    async def _fill(self, group: Group, seqs: Sequence[int]) -> bool:
        """Give facts the vectors they lack; whether it could be done."""
        facts = await GroupReader(self._connection, group).facts(seqs)
        vectors = await self._passages([fact.statement for fact in facts.values()])
        if vectors is None:
            return False
        async with self._connection.one_at_a_time(group.id):
            await self._writer(group).add_vectors(list(facts), vectors, self._model)
        return True

    async def _embed(self, told: Sequence[tuple[str, str, str]]) -> Embedded:
        """Vectors of (statement, subject, object) and of the names in them, in one call of the embedder."""
        names = {normal(name): name for _, subject, obj in told for name in (subject, obj)}
        statements = [statement for statement, _, _ in told]
        vectors = await self._passages([*statements, *names.values()])
        if vectors is None:
            return Embedded(facts={}, names={}, model=self._model)
        by_name: Mapping[str, Vectors] = dict(zip(names, vectors[len(statements) :], strict=True))
        return Embedded(facts=dict(enumerate(vectors[: len(statements)])), names=by_name, model=self._model)

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
            log.warning("%d texts are remembered without a vector for now: %s", len(texts), exc)
            return None
