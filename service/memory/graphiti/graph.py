"""Owns the memory graph on Graphiti and Neo4j: graphiti-core's nodes and edges, written without a model call.

Words and nearness are the server's and the group index's (index.py); what is written is Graphiti's own form,
so that its tools, Neo4j's browser and `add_episode` (episode.py) see one graph.
"""

import logging
from collections.abc import Collection, Mapping, Sequence

from pydantic import SecretStr
from sqlmodel import Session

from service.errors import KataribeError
from service.memory.embedding.embedder import Embedder, Vectors
from service.memory.graphiti.connection import Neo4jConnection
from service.memory.graphiti.index import DEFAULT_BYTES, GroupIndexes
from service.memory.graphiti.search import GroupReader, Question
from service.memory.graphiti.write import Embedded as Delivered
from service.memory.graphiti.write import GroupWriter
from service.memory.lexical import normal
from service.memory.outbox import leave_episode, leave_forgetting
from service.memory.store import FACTS, Delivery, Embedded, Episode, FactDraft, Group, GroupDump, Kind, Recalled
from world.time import WorldTime

FILL_BATCH = 64

log = logging.getLogger(__name__)


class GraphitiMemory:
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

    @property
    def delivery(self) -> Delivery:
        """Itself: what it keeps is not in our database."""
        return self

    async def embed(self, texts: Collection[str]) -> Embedded:
        """Nothing: vectors are made when the facts are delivered."""
        return Embedded()

    def remember(
        self, session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft], embedded: Embedded
    ) -> int:
        """See MemoryStore. What is to be delivered goes by the outbox."""
        return leave_episode(session, group, episode, facts)

    def forget(self, session: Session, group: Group, partner_id: str | None = None) -> None:
        """See MemoryStore. What was delivered is erased by the outbox."""
        leave_forgetting(session, group, partner_id)

    async def deliver(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """See Delivery."""
        drafts = list(facts)
        async with self._connection.one_at_a_time(group.id):
            if await self.holds(group, episode.conversation_id):
                return
            embedded = await self._embed([(one.statement, one.subject, one.object) for one in drafts])
            await self._writer(group).remember(episode, drafts, embedded)

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
    ) -> list[Recalled]:
        """See MemoryStore. Where the embedder fails, words alone are searched."""
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

    async def export(self, group: Group) -> GroupDump:
        """See MemoryStore."""
        return await GroupReader(self._connection, group).dump()

    async def holds(self, group: Group, conversation_id: str) -> bool:
        """See Delivery."""
        return await GroupReader(self._connection, group).has_episode(conversation_id)

    async def erase(self, group: Group, partner_id: str | None = None) -> None:
        """See Delivery."""
        async with self._connection.one_at_a_time(group.id):
            if partner_id is None:
                await self._writer(group).forget()
            else:
                await self._writer(group).forget_partner(partner_id)
        self._indexes.drop(group.id)

    async def check(self) -> None:
        """See MemoryStore."""
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

    async def _embed(self, told: Sequence[tuple[str, str, str]]) -> Delivered:
        """Vectors of (statement, subject, object) and of the names in them, in one call of the embedder."""
        names = {normal(name): name for _, subject, obj in told for name in (subject, obj)}
        statements = [statement for statement, _, _ in told]
        vectors = await self._passages([*statements, *names.values()])
        if vectors is None:
            return Delivered(facts={}, names={}, model=self._model)
        by_name: Mapping[str, Vectors] = dict(zip(names, vectors[len(statements) :], strict=True))
        return Delivered(facts=dict(enumerate(vectors[: len(statements)])), names=by_name, model=self._model)

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
