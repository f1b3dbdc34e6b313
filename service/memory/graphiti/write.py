"""Owns writing to Neo4j: an episode and its facts in one transaction, what they close, vectors, and forgetting.

Every write locks its group's node (KataribeGroup) first, so one at a time holds between processes too, and ends by
raising the group's `revision`; a fact that was added or closed carries the revision of that write. A process that
holds a group in memory (index.py) reads only what has a greater revision than it has seen.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neo4j import AsyncManagedTransaction

from service.memory.embedding.embedder import Vectors
from service.memory.graphiti.connection import Neo4jConnection, run
from service.memory.graphiti.rows import (
    NewFact,
    entity_node,
    entity_uuid,
    episode_marks,
    episode_node,
    episode_uuid,
    fact_edge,
    mention,
    moment,
    new_fact,
    pack,
)
from service.memory.graphiti.vendor import EpisodicEdge, EpisodicNode, GraphDriver, add_nodes_and_edges_bulk_tx
from service.memory.lexical import normal
from service.memory.store import Episode, Fact, FactDraft, Group

DELETE_BATCH = 5_000

# Setting a property, even to itself, takes the lock.
_LOCK = """
    MERGE (g:KataribeGroup {id: $group})
    ON CREATE SET g.world_id = $world, g.person_id = $person, g.epoch = $epoch, g.revision = 0, g.next_seq = 0
    SET g.revision = g.revision
    RETURN g.revision AS revision, g.next_seq AS next_seq
"""
_UNLOCK = "MATCH (g:KataribeGroup {id: $group}) SET g.revision = $revision, g.next_seq = $next_seq"
_EPISODES_THERE = "MATCH (n:Episodic) WHERE n.uuid IN $uuids RETURN n.uuid AS uuid"
_ENTITIES_THERE = "MATCH (n:Entity) WHERE n.uuid IN $uuids RETURN n.uuid AS uuid"
_FACTS_THERE = """
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id IN $ids RETURN e.fact_id AS id
"""
_MARK_EPISODES = """
    UNWIND $marks AS mark MATCH (n:Episodic {uuid: mark.uuid}) SET n += mark
"""
_CLOSE = """
    UNWIND $closings AS c
    MATCH ()-[e:RELATES_TO]->()
    WHERE e.group_id = $group AND e.fact_id = c.old AND e.invalid_at IS NULL AND e.expired_at IS NULL
    SET e.invalid_at = CASE WHEN c.valid_at < e.valid_at THEN e.valid_at ELSE c.valid_at END,
        e.expired_at = CASE WHEN c.at < e.created_at THEN e.created_at ELSE c.at END,
        e.replaced_by = c.new, e.revision = $revision
"""
_NO_FACT_VECTOR = """
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id IN $ids REMOVE e.fact_embedding
"""
_NO_NAME_VECTOR = "MATCH (n:Entity) WHERE n.uuid IN $uuids REMOVE n.name_embedding"
_ADD_VECTORS = """
    UNWIND $rows AS row
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.seq = row.seq
    SET e.vector = row.packed, e.vector_model = $model, e.revision = $revision
    WITH e, row CALL db.create.setRelationshipVectorProperty(e, 'fact_embedding', row.vector)
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
    "MATCH (n:Entity {group_id: $group}) WHERE NOT (n)--() DELETE n",
    "MATCH (g:KataribeGroup {id: $group}) SET g.epoch = $epoch",
)
_DELETE_NODES = tuple(
    f"MATCH (n:{label} {{group_id: $group}}) WITH n LIMIT $batch DETACH DELETE n RETURN count(*) AS deleted"
    for label in ("Entity", "Episodic", "Community", "Saga")
)
_DELETE_GROUP = "MATCH (g:KataribeGroup {id: $group}) DELETE g RETURN 0 AS deleted"


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Vectors made before the transaction: of the facts, by their place, and of entities, by their normal name."""

    facts: Mapping[int, Vectors]
    names: Mapping[str, Vectors]
    model: str


class GroupWriter:
    """Writes into one group."""

    def __init__(self, connection: Neo4jConnection, group: Group) -> None:
        self._connection = connection
        self._group = group

    async def remember(self, episode: Episode, drafts: Sequence[FactDraft], embedded: Embedded) -> None:
        """An episode with its facts; nothing when the episode is there already."""
        facts = [new_fact(draft, episode) for draft in drafts]

        async def work(tx: AsyncManagedTransaction) -> None:
            write = await self.lock(tx)
            if not await write.add_episodes([episode], facts):
                return
            added = await write.add_facts(facts, embedded)
            await write.close(drafts, added, episode)
            await write.unlock()

        await self._connection.write(work)

    async def add_vectors(self, seqs: Sequence[int], vectors: Vectors, model: str) -> None:
        """Give facts the vectors they lack; a fact that was forgotten meanwhile gets none."""
        rows = [
            {"seq": seq, "packed": pack(vector), "vector": vector.tolist()}
            for seq, vector in zip(seqs, vectors, strict=True)
        ]

        async def work(tx: AsyncManagedTransaction) -> None:
            write = await self.lock(tx)
            await run(tx, _ADD_VECTORS, group=self._group.id, rows=rows, model=model, revision=write.revision)
            await write.unlock()

        await self._connection.write(work)

    async def forget(self) -> None:
        """Remove all of the group, a batch at a time; the group's own node last, so that a rest is found again."""
        for query in (_DELETE_FACTS, *_DELETE_NODES, _DELETE_GROUP):
            while await self._delete(query):
                pass

    async def forget_partner(self, partner_id: str) -> None:
        """Remove what came of conversations with the partner; who holds the group in mind reads it anew."""

        async def work(tx: AsyncManagedTransaction) -> None:
            write = await self.lock(tx)
            given = {"group": self._group.id, "partner": partner_id, "epoch": str(uuid.uuid4())}
            for query in _DELETE_OF_PARTNER:
                await run(tx, query, **given)
            await write.unlock()

        await self._connection.write(work)

    async def _delete(self, query: str) -> int:
        async def work(tx: AsyncManagedTransaction) -> int:
            rows = await run(tx, query, group=self._group.id, batch=DELETE_BATCH)
            return int(rows[0]["deleted"]) if rows else 0

        return await self._connection.write(work)

    async def lock(self, tx: AsyncManagedTransaction) -> "Write":
        """Begin a write: what follows in the transaction has the group for itself."""
        group = self._group
        (row,) = await run(
            tx, _LOCK, group=group.id, world=group.world_id, person=group.person_id, epoch=str(uuid.uuid4())
        )
        graphiti = await self._connection.graphiti()
        return Write(tx, graphiti, group, revision=row["revision"] + 1, next_seq=row["next_seq"])


class Write:
    """One transaction that holds the group's lock."""

    def __init__(
        self, tx: AsyncManagedTransaction, graphiti: GraphDriver, group: Group, *, revision: int, next_seq: int
    ) -> None:
        self._tx = tx
        self._graphiti = graphiti
        self._group = group
        self._next_seq = next_seq
        self.revision = revision

    async def unlock(self) -> None:
        """Make the write known to who holds the group in memory."""
        await run(self._tx, _UNLOCK, group=self._group.id, revision=self.revision, next_seq=self._next_seq)

    async def held_episodes(self, ids: set[str]) -> set[str]:
        """Those of the ids that the group holds."""
        by_uuid = {episode_uuid(self._group, one): one for one in ids}
        rows = await run(self._tx, _EPISODES_THERE, uuids=list(by_uuid))
        return {by_uuid[row["uuid"]] for row in rows}

    async def add_episodes(self, episodes: Sequence[Episode], facts: Sequence[Fact]) -> int:
        """How many of them were new. `facts` are those that follow."""
        held = await self.held_episodes({one.conversation_id for one in episodes})
        new = [one for one in episodes if one.conversation_id not in held]
        told: dict[str, list[str]] = {}
        for fact in facts:
            told.setdefault(fact.conversation_id, []).append(fact.id)
        await self.add_nodes([episode_node(self._group, one, told.get(one.conversation_id, ())) for one in new])
        await run(self._tx, _MARK_EPISODES, marks=[episode_marks(self._group, one) for one in new])
        return len(new)

    async def add_nodes(self, nodes: Sequence[EpisodicNode]) -> None:
        """Episodes as Graphiti knows them."""
        await add_nodes_and_edges_bulk_tx(self._tx, list(nodes), [], [], [], None, self._graphiti)

    def take_seq(self) -> int:
        """The next fact's place."""
        self._next_seq += 1
        return self._next_seq - 1

    async def add_facts(self, facts: Sequence[Fact], embedded: Embedded) -> set[str]:
        """Ids of those that were new; entities and mentions come with them."""
        held = {row["id"] for row in await self._rows(_FACTS_THERE, ids=[fact.id for fact in facts])}
        new: dict[str, NewFact] = {}
        for index, fact in enumerate(facts):
            if fact.id in held or fact.id in new:
                continue
            vector = embedded.facts.get(index)
            new[fact.id] = NewFact(
                fact=fact, seq=self.take_seq(), revision=self.revision, vector=vector, model=embedded.model
            )
        await self._bulk([one.fact for one in new.values()], list(new.values()), embedded)
        return set(new)

    async def _bulk(self, facts: Sequence[Fact], new: Sequence[NewFact], embedded: Embedded) -> None:
        spelled: dict[str, tuple[str, Fact]] = {}
        mentions: dict[str, EpisodicEdge] = {}
        for fact in facts:
            for name in (fact.subject, fact.object):
                spelled.setdefault(entity_uuid(self._group, name), (name, fact))
                edge = mention(self._group, fact.conversation_id, name, fact.created_at)
                mentions.setdefault(edge.uuid, edge)
        there = {row["uuid"] for row in await run(self._tx, _ENTITIES_THERE, uuids=list(spelled))}
        vectors = {key: embedded.names.get(normal(name)) for key, (name, _) in spelled.items()}
        fresh = [
            entity_node(self._group, name, fact.created_at, vectors[key])
            for key, (name, fact) in spelled.items()
            if key not in there
        ]
        edges = [fact_edge(self._group, one) for one in new]
        await add_nodes_and_edges_bulk_tx(self._tx, [], list(mentions.values()), fresh, edges, None, self._graphiti)
        await self._rows(_NO_FACT_VECTOR, ids=[one.fact.id for one in new if one.vector is None])
        bare = [node.uuid for node in fresh if vectors[node.uuid] is None]
        await run(self._tx, _NO_NAME_VECTOR, uuids=bare)

    async def close(self, drafts: Sequence[FactDraft], added: set[str], episode: Episode) -> None:
        """Close what the added facts replace. In their order: a fact is closed once, and not by an earlier one."""
        closed_by: dict[str, FactDraft] = {}
        later = {draft.id for draft in drafts}
        for draft in drafts:
            if draft.id in added and draft.id in later:
                for old in draft.replaces:
                    if old not in later:
                        closed_by.setdefault(old, draft)
            later.discard(draft.id)
        closings: list[dict[str, Any]] = [
            {"old": old, "new": draft.id, "valid_at": moment(draft.valid_at), "at": moment(episode.at)}
            for old, draft in closed_by.items()
        ]
        if closings:
            await self._rows(_CLOSE, closings=closings, revision=self.revision)

    async def _rows(self, query: str, **given: Any) -> Sequence[Mapping[str, Any]]:
        return await run(self._tx, query, group=self._group.id, **given)
