"""Owns writing to Neo4j: an episode and its facts in one transaction, what they close, vectors, and forgetting.

Every write locks its group's node (KataribeGroup) first, so one at a time holds between processes too, and ends by
raising the group's `revision`; a fact that was added or closed carries the revision of that write. A process that
holds a group in memory reads only what has a greater revision than it has seen. `facts` is how many edges of the group
are known to this service: where the group has others, `adopt` makes them known.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from neo4j import AsyncManagedTransaction

from service.memory.embedding.embedder import NO_VECTORS, Vectors, VectorSpace
from service.memory.graphiti.connection import Neo4jConnection, run
from service.memory.graphiti.groups import GraphGroup
from service.memory.graphiti.rows import (
    entity_node,
    entity_uuid,
    episode_marks,
    episode_node,
    episode_uuid,
    fact_edge,
    mention,
    moment,
    pack,
)
from service.memory.graphiti.vendor import EpisodicEdge, EpisodicNode, GraphDriver, add_nodes_and_edges_bulk_tx
from service.memory.lexical import normal
from service.memory.record import Embedded, Episode, Fact, FactDraft, Kind
from world.time import WorldTime

DELETE_BATCH = 5_000

# Setting a property, even to itself, takes the lock.
_LOCK = """
    MERGE (g:KataribeGroup {id: $group})
    ON CREATE SET g.world_id = $world, g.person_id = $person, g.installation = $installation,
        g.epoch = $epoch, g.revision = 0, g.facts = 0, g.embedder = '', g.dimensions = 0
    SET g.revision = g.revision
    RETURN g.revision AS revision, g.facts AS facts, g.installation AS installation,
        g.embedder AS embedder, g.dimensions AS dimensions
"""
_UNLOCK = """
    MATCH (g:KataribeGroup {id: $group})
    SET g.revision = $revision, g.facts = $facts, g.embedder = $embedder, g.dimensions = $dimensions
"""
_NAMES = "MATCH (n:Entity {group_id: $group}) RETURN n.uuid AS uuid, n.name AS name"
_ADD_NAME_VECTORS = """
    UNWIND $rows AS row MATCH (n:Entity {uuid: row.uuid})
    CALL db.create.setNodeVectorProperty(n, 'name_embedding', row.vector)
"""
_ENTITIES_THERE = "MATCH (n:Entity) WHERE n.uuid IN $uuids RETURN n.uuid AS uuid"
_EPISODE_THERE = "MATCH (n:Episodic {uuid: $uuid}) RETURN n.uuid AS uuid"
_MARK_EPISODE = "MATCH (n:Episodic {uuid: $marks.uuid}) SET n += $marks"
_CLOSE = """
    UNWIND $closings AS c
    MATCH ()-[e:RELATES_TO]->()
    WHERE e.group_id = $group AND e.fact_id = c.old AND e.invalid_at IS NULL AND e.expired_at IS NULL
    SET e.invalid_at = CASE WHEN c.valid_at < e.valid_at THEN e.valid_at ELSE c.valid_at END,
        e.expired_at = CASE WHEN c.at < e.created_at THEN e.created_at ELSE c.at END,
        e.replaced_by = c.new, e.revision = $revision
"""
_TELL_AGAIN = """
    UNWIND $tellings AS t
    MATCH ()-[e:RELATES_TO]->()
    WHERE e.group_id = $group AND e.fact_id = t.old AND e.invalid_at IS NULL AND e.expired_at IS NULL
    SET e.tellings = coalesce(e.tellings, 1) + 1, e.revision = $revision
    RETURN t.new AS id
"""
_NO_FACT_VECTOR = """
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id IN $ids REMOVE e.fact_embedding
"""
_NO_NAME_VECTOR = "MATCH (n:Entity) WHERE n.uuid IN $uuids REMOVE n.name_embedding"
_ADD_FACT_VECTORS = """
    UNWIND $rows AS row
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id = row.id
    SET e.vector = row.packed, e.vector_model = $model, e.revision = $revision
    WITH e, row CALL db.create.setRelationshipVectorProperty(e, 'fact_embedding', row.vector)
"""
_ADD_EPISODE_VECTORS = """
    UNWIND $rows AS row MATCH (n:Episodic {uuid: row.uuid})
    SET n.vector = row.packed, n.vector_model = $model, n.revision = $revision
"""
# What plain graphiti-core wrote: in the group, and not by an episode that is being read for us just now.
_FOREIGN = """
    MATCH (g:KataribeGroup {id: $group})
    MATCH (a)-[e:RELATES_TO]->(b)
    WHERE e.group_id = $group AND e.fact_id IS NULL
        AND none(x IN coalesce(e.episodes, []) WHERE x IN coalesce(g.reading, []))
    RETURN e.uuid AS uuid, a.name AS subject, b.name AS object
"""
# It was dated by the machine's clock where it is later than the world's: then it holds since it became known.
_ADOPT = """
    UNWIND $rows AS row
    MATCH ()-[e:RELATES_TO]->() WHERE e.uuid = row.uuid
    WITH e, row, CASE WHEN e.reference_time < $at THEN e.reference_time ELSE $at END AS known
    SET e += row, e.revision = $revision, e.partner_id = '', e.conversation_id = '',
        e.created_at = known,
        e.valid_at = CASE WHEN e.valid_at < $at THEN e.valid_at ELSE known END,
        e.invalid_at = CASE WHEN e.invalid_at > $at THEN $at ELSE e.invalid_at END,
        e.expired_at = CASE WHEN e.expired_at IS NULL THEN NULL ELSE $at END
"""
_CLOSED_BY_OTHERS = """
    MATCH ()-[e:RELATES_TO]->()
    WHERE e.group_id = $group AND e.fact_id IS NOT NULL AND e.expired_at IS NOT NULL AND e.revision < $revision
        AND e.replaced_by IS NULL AND e.closed_in IS NULL
    SET e.closed_in = '', e.revision = $revision,
        e.expired_at = CASE WHEN $at < e.created_at THEN e.created_at ELSE $at END,
        e.invalid_at = CASE WHEN e.invalid_at < e.valid_at THEN e.valid_at WHEN e.invalid_at > $at THEN $at
            ELSE e.invalid_at END
"""
_COUNT = "MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id IS NOT NULL RETURN count(e) AS facts"
_NEW_EPOCH = "MATCH (g:KataribeGroup {id: $group}) SET g.epoch = $epoch"
_DELETE_SOME = """
    UNWIND $ids AS id
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id = id
    DELETE e RETURN count(*) AS deleted
"""
_DELETE_EPISODE = "MATCH (n:Episodic {uuid: $uuid}) DETACH DELETE n"
_DELETE_LONELY = "MATCH (n:Entity {group_id: $group}) WHERE NOT (n)--() DELETE n"
_REWRITE_EPISODE = """
    MATCH (n:Episodic {uuid: $uuid}) SET n.content = $content, n.topics = $topics, n.revision = $revision
    REMOVE n.vector, n.vector_model
    RETURN n.uuid AS uuid
"""
_DELETE_FACTS = """
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group WITH e LIMIT $batch DELETE e RETURN count(*) AS deleted
"""
_DELETE_OF_PARTNER = (
    """
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.partner_id = $partner
    DELETE e
    """,
    "MATCH (n:Episodic {group_id: $group}) WHERE n.partner_id = $partner DETACH DELETE n",
    _DELETE_LONELY,
)
_DELETE_NODES = tuple(
    f"MATCH (n:{label} {{group_id: $group}}) WITH n LIMIT $batch DETACH DELETE n RETURN count(*) AS deleted"
    for label in ("Entity", "Episodic", "Community", "Saga")
)
_DELETE_GROUP = "MATCH (g:KataribeGroup {id: $group}) DELETE g RETURN 0 AS deleted"


class GroupWriter:
    """Writes into one group, if it is ours."""

    def __init__(self, connection: Neo4jConnection, group: GraphGroup) -> None:
        self._connection = connection
        self._group = group

    async def remember(self, episode: Episode, drafts: Sequence[FactDraft], embedded: Embedded) -> None:
        """An episode with its facts; nothing when the episode is there already."""

        async def work(write: "Write") -> None:
            if await write.has_episode(episode.conversation_id):
                return
            fitting = embedded if write.claim(embedded.space) else Embedded()
            retold = await write.tell_again(drafts)
            new = [draft for draft in drafts if draft.id not in retold]
            await write.add_episode(episode, new, fitting)
            await write.add_facts(episode, new, fitting)
            await write.close(new, episode)
            await write.unlock()

        await self._write(work)

    async def add_vectors(self, vectors: Sequence[tuple[Kind, str, Vectors]], space: VectorSpace) -> None:
        """Give facts and episodes the vectors they lack, if they are of the group's; what was forgotten meanwhile gets
        none.
        """

        async def work(write: "Write") -> None:
            if write.claim(space):
                await write.add_vectors(vectors)
                await write.unlock()

        await self._write(work)

    async def replace_vectors(
        self, vectors: Sequence[tuple[Kind, str, Vectors]], names: Sequence[tuple[str, Vectors]], space: VectorSpace
    ) -> None:
        """Give facts, episodes and entities (by their uuids) these vectors in the place of those they have."""

        async def work(write: "Write") -> None:
            write.space = space
            await write.add_vectors(vectors)
            await write.run(_ADD_NAME_VECTORS, rows=[{"uuid": key, "vector": one.tolist()} for key, one in names])
            await write.begin_epoch()
            await write.unlock()

        await self._write(work)

    async def names(self) -> dict[str, str]:
        """The names of the group's entities by their uuids."""
        rows = await self._connection.read(_NAMES, group=self._group.id)
        return {row["uuid"]: row["name"] for row in rows}

    async def adopt(self, at: WorldTime) -> None:
        """Make facts that others wrote into the group ours, known since `at`; notice what others closed or removed."""

        async def work(write: "Write") -> None:
            given = {"at": moment(at), "revision": write.revision}
            rows = [dict(row) | {"fact_id": row["uuid"]} for row in await write.run(_FOREIGN, **given)]
            await write.run(_ADOPT, rows=rows, **given)
            await write.run(_CLOSED_BY_OTHERS, **given)
            known, write.facts = write.facts + len(rows), await write.count_facts()
            if write.facts < known:
                await write.begin_epoch()
            await write.unlock()

        await self._write(work)

    async def erase(self) -> None:
        """Remove all of the group, whoever wrote it, a batch at a time; the group's own node last, so that a rest is
        found again.
        """
        for query in (_DELETE_FACTS, *_DELETE_NODES, _DELETE_GROUP):
            while await self._delete(query):
                pass

    async def erase_partner(self, partner_id: str) -> None:
        """Remove what came of conversations with the partner; who holds the group in mind reads it anew."""
        await self._erase(_DELETE_OF_PARTNER, partner=partner_id)

    async def write(self, facts: Sequence[Fact], episodes: Sequence[Episode], names: Embedded) -> None:
        """Facts and episodes as they stand, in the place of those with their ids; `names` are vectors of entities."""

        async def work(write: "Write") -> None:
            await write.rewrite(facts, episodes, names if write.claim(names.space) else Embedded())
            await write.unlock()

        await self._write(work)

    async def erase_one(self, kind: Kind, key: str) -> None:
        """Remove a fact or an episode; who holds the group in mind reads it anew."""
        gone = _DELETE_SOME if kind is Kind.FACT else _DELETE_EPISODE
        await self._erase((gone, _DELETE_LONELY), ids=[key], uuid=episode_uuid(self._group, key))

    async def _erase(self, queries: Sequence[str], **given: Any) -> None:
        async def work(write: "Write") -> None:
            for query in queries:
                await write.run(query, **given)
            write.facts = await write.count_facts()
            await write.begin_epoch()
            await write.unlock()

        await self._write(work)

    async def _write(self, work: Callable[["Write"], Awaitable[None]]) -> None:
        async def locked(tx: AsyncManagedTransaction) -> None:
            await work(await self.lock(tx))

        await self._connection.write(locked)

    async def _delete(self, query: str) -> int:
        async def work(tx: AsyncManagedTransaction) -> int:
            rows = await run(tx, query, group=self._group.id, batch=DELETE_BATCH)
            return int(rows[0]["deleted"]) if rows else 0

        return await self._connection.write(work)

    async def lock(self, tx: AsyncManagedTransaction) -> "Write":
        """Begin a write: what follows in the transaction has the group for itself.

        Raises:
            MemoryOfAnother: another installation wrote the group.
        """
        group = self._group
        (row,) = await run(
            tx,
            _LOCK,
            group=group.id,
            world=group.world_id,
            person=group.person_id,
            installation=group.installation,
            epoch=str(uuid.uuid4()),
        )
        group.require_own(row["installation"])
        graphiti = await self._connection.graphiti()
        write = Write(tx, graphiti, group, revision=row["revision"] + 1, facts=row["facts"])
        write.space = VectorSpace(row["embedder"], row["dimensions"])
        return write


class Write:
    """One transaction that holds the group's lock."""

    def __init__(
        self, tx: AsyncManagedTransaction, graphiti: GraphDriver, group: GraphGroup, *, revision: int, facts: int
    ) -> None:
        self._tx = tx
        self._graphiti = graphiti
        self._group = group
        self.revision = revision
        self.facts = facts
        self.space = NO_VECTORS

    async def has_episode(self, conversation_id: str) -> bool:
        """Whether the conversation's episode is there."""
        return bool(await self.run(_EPISODE_THERE, uuid=episode_uuid(self._group, conversation_id)))

    async def count_facts(self) -> int:
        """How many edges with an id of ours there are."""
        (row,) = await self.run(_COUNT)
        return int(row["facts"])

    async def begin_epoch(self) -> None:
        """Something is gone: who holds the group in mind reads all of it again."""
        await self.run(_NEW_EPOCH, epoch=str(uuid.uuid4()))

    async def unlock(self) -> None:
        """Make the write known to who holds the group in memory."""
        await self.run(
            _UNLOCK,
            revision=self.revision,
            facts=self.facts,
            embedder=self.space.model,
            dimensions=self.space.dimensions,
        )

    def claim(self, space: VectorSpace) -> bool:
        """Whether such vectors may be written into the group; the first ones say which may from then on."""
        if not self.space.model:
            self.space = space
        return self.space == space

    async def add_vectors(self, vectors: Sequence[tuple[Kind, str, Vectors]]) -> None:
        """Vectors of the group's own space for facts and episodes."""
        facts = [
            {"id": key, "packed": pack(vector), "vector": vector.tolist()}
            for kind, key, vector in vectors
            if kind is Kind.FACT
        ]
        episodes = [
            {"uuid": episode_uuid(self._group, key), "packed": pack(vector)}
            for kind, key, vector in vectors
            if kind is Kind.SUMMARY
        ]
        given = {"model": self.space.model, "revision": self.revision}
        await self.run(_ADD_FACT_VECTORS, rows=facts, **given)
        await self.run(_ADD_EPISODE_VECTORS, rows=episodes, **given)

    async def tell_again(self, drafts: Sequence[FactDraft]) -> frozenset[str]:
        """Count the tellings of what is known already; the answer is the ids of the drafts that were nothing else."""
        tellings = [{"old": draft.retells, "new": draft.id} for draft in drafts if draft.retells is not None]
        found = await self.run(_TELL_AGAIN, tellings=tellings, revision=self.revision) if tellings else ()
        return frozenset(row["id"] for row in found)

    async def add_node(self, node: EpisodicNode) -> None:
        """An episode as Graphiti knows it."""
        await add_nodes_and_edges_bulk_tx(self._tx, [node], [], [], [], None, self._graphiti)

    async def add_episode(self, episode: Episode, facts: Sequence[FactDraft], embedded: Embedded) -> None:
        """An episode with the ids of the facts that follow."""
        await self.add_node(episode_node(self._group, episode, [fact.id for fact in facts]))
        await self.run(_MARK_EPISODE, marks=episode_marks(self._group, episode, self.revision, embedded))

    async def add_facts(self, episode: Episode, drafts: Sequence[FactDraft], embedded: Embedded) -> None:
        """Facts of an episode; entities and mentions come with them."""
        names = {normal(name): name for draft in drafts for name in (draft.subject, draft.object)}
        mentions = [mention(self._group, episode, name) for name in names.values()]
        await self._add([draft.learned(episode) for draft in drafts], mentions, embedded)
        self.facts += len(drafts)

    async def rewrite(self, facts: Sequence[Fact], episodes: Sequence[Episode], embedded: Embedded) -> None:
        """Facts and episodes as they stand, in the place of those with their ids."""
        given = {"revision": self.revision}
        gone = await self.run(_DELETE_SOME, ids=[fact.id for fact in facts])
        is_changed = bool(gone and gone[0]["deleted"])
        await self._add(facts, [], embedded)
        for episode in episodes:
            uuid = episode_uuid(self._group, episode.conversation_id)
            topics = list(episode.topics)
            if await self.run(_REWRITE_EPISODE, uuid=uuid, content=episode.summary, topics=topics, **given):
                is_changed = True
            else:
                await self.add_episode(episode, (), Embedded())
        self.facts = await self.count_facts()
        if is_changed:
            await self.begin_epoch()

    async def _add(self, facts: Sequence[Fact], mentions: Sequence[EpisodicEdge], embedded: Embedded) -> None:
        """Facts that are not there, with their entities."""
        names: dict[str, str] = {}
        since: dict[str, WorldTime] = {}
        for fact in facts:
            for name in (fact.subject, fact.object):
                key = entity_uuid(self._group, name)
                names.setdefault(key, name)
                since[key] = min(since.get(key, fact.created_at), fact.created_at)
        there = {row["uuid"] for row in await self.run(_ENTITIES_THERE, uuids=list(names))}
        fresh = [
            entity_node(self._group, name, since[key], embedded.vectors.get(name))
            for key, name in names.items()
            if key not in there
        ]
        edges = [fact_edge(self._group, fact, self.revision, embedded) for fact in facts]
        await add_nodes_and_edges_bulk_tx(self._tx, [], list(mentions), fresh, edges, None, self._graphiti)
        await self.run(_NO_FACT_VECTOR, ids=[one.id for one in facts if one.statement not in embedded.vectors])
        await self.run(_NO_NAME_VECTOR, uuids=[node.uuid for node in fresh if node.name not in embedded.vectors])

    async def close(self, drafts: Sequence[FactDraft], episode: Episode) -> None:
        """Close what the added facts replace. In their order: a fact is closed once."""
        closed_by: dict[str, FactDraft] = {}
        for draft in drafts:
            for old in draft.replaces:
                if old != draft.id:
                    closed_by.setdefault(old, draft)
        closings: list[dict[str, Any]] = [
            {"old": old, "new": draft.id, "valid_at": moment(draft.valid_at), "at": moment(episode.at)}
            for old, draft in closed_by.items()
        ]
        if closings:
            await self.run(_CLOSE, closings=closings, revision=self.revision)

    async def run(self, query: str, **given: Any) -> Sequence[Mapping[str, Any]]:
        """What a query on the group answers."""
        return await run(self._tx, query, group=self._group.id, **given)
