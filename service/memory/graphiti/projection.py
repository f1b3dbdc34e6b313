"""Owns the graph as a projection of memories: facts and episodes as graphiti-core would have written them, without a
model call.

What is written is Graphiti's own form, so that its tools, Neo4j's browser and `add_episode` (episode.py) see one graph.
Every write locks its group's node (KataribeGroup) first, which says how far the group is and whose it is.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any

from neo4j import AsyncManagedTransaction

from service.memory.embedding.embedder import NO_VECTORS, VectorSpace
from service.memory.graphiti.connection import GraphGroup, Neo4jConnection, another, run, start_of
from service.memory.graphiti.episode import (
    EpisodeReader,
    edge_values,
    entity_node,
    episode_marks,
    episode_node,
    episode_uuid,
    fact_edge,
    fact_uuid,
    mention,
)
from service.memory.graphiti.vendor import add_nodes_and_edges_bulk_tx
from service.memory.lexical import normal
from service.memory.projection import Changes, Fact, Found
from service.memory.record import Embedded, Episode, Group, State

# By the beginning of the id, which is indexed; a prefix may be called like a world, so the rest is compared too.
_OF_OTHERS = """
    UNWIND $starts AS start
    MATCH (g:KataribeGroup) WHERE g.id STARTS WITH start AND g.id = start + g.person_id
        AND coalesce(g.installation, '') <> $installation
    RETURN g.world_id AS world_id, g.person_id AS person_id ORDER BY g.id
"""
_TAKE_OVER = "UNWIND $groups AS id MATCH (g:KataribeGroup {id: id}) SET g.installation = $installation, g.revision = -1"
# Setting a property, even to itself, takes the lock.
_LOCK = """
    MERGE (g:KataribeGroup {id: $group})
    ON CREATE SET g.world_id = $world, g.person_id = $person, g.installation = $installation,
        g.epoch = 0, g.revision = -1, g.embedder = '', g.dimensions = 0
    SET g.revision = g.revision
    RETURN g.epoch AS epoch, g.revision AS revision, g.installation AS installation
"""
_SEAL = """
    MATCH (g:KataribeGroup {id: $group})
    SET g.epoch = $epoch, g.revision = $revision, g.embedder = $embedder, g.dimensions = $dimensions
"""
_HELD = """
    OPTIONAL MATCH (g:KataribeGroup {id: $group})
    RETURN g.installation AS installation, g.embedder AS embedder, g.dimensions AS dimensions
"""
_ENTITIES = "MATCH (n:Entity {group_id: $group}) RETURN n.uuid AS uuid, n.name AS name"
# What Graphiti itself has found keeps its ends and its name; where it has closed it, the memory says what holds.
_SET_FOUND = """
    UNWIND $rows AS row
    MATCH ()-[e:RELATES_TO]->() WHERE e.uuid = row.fact_id AND e.group_id = $group
    SET e += row
    RETURN e.uuid AS uuid
"""
_DELETE_SOME = "MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id IN $ids DELETE e"
_FACT_VECTORS = """
    UNWIND $rows AS row MATCH ()-[e:RELATES_TO]->() WHERE e.uuid = row.uuid
    CALL db.create.setRelationshipVectorProperty(e, 'fact_embedding', row.vector)
"""
_NAME_VECTORS = """
    UNWIND $rows AS row MATCH (n:Entity {uuid: row.uuid})
    CALL db.create.setNodeVectorProperty(n, 'name_embedding', row.vector)
"""
_NO_FACT_VECTOR = "MATCH ()-[e:RELATES_TO]->() WHERE e.uuid IN $uuids REMOVE e.fact_embedding"
_NO_NAME_VECTOR = "MATCH (n:Entity) WHERE n.uuid IN $uuids REMOVE n.name_embedding"
_MARK = "UNWIND $marks AS marks MATCH (n:Episodic {uuid: marks.uuid}) SET n += marks"
_MENTION = """
    UNWIND $mentions AS row
    MATCH (n:Episodic {uuid: row.episode}) MATCH (x:Entity {uuid: row.entity})
    MERGE (n)-[m:MENTIONS]->(x) ON CREATE SET m += row.edge
"""
_GONE = """
    MATCH (n:Episodic {group_id: $group}) WHERE n.conversation_id IS NOT NULL AND NOT n.uuid IN $episodes
    RETURN n.uuid AS uuid
"""
# What Graphiti found in an episode that is gone goes with it, and what it wrote of anybody in its own words.
_PRUNE = (
    """
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND (NOT e.fact_id IN $ids
        OR (e.fact_id IS NULL AND any(x IN e.episodes WHERE x IN $gone)))
    DELETE e
    """,
    "MATCH (x:Entity {group_id: $group}) WHERE x.summary <> '' SET x.summary = ''",
    "MATCH (n:Episodic) WHERE n.uuid IN $gone DETACH DELETE n",
)
_DELETE_LONELY = "MATCH (n:Entity {group_id: $group}) WHERE NOT (n)-[:RELATES_TO]-() DETACH DELETE n"
_ERASE = (
    *(
        f"MATCH (n:{label} {{group_id: $group}}) DETACH DELETE n"
        for label in ("Entity", "Episodic", "Community", "Saga")
    ),
    "MATCH (g:KataribeGroup {id: $group}) DELETE g",
)

Embed = Callable[[Collection[str]], Awaitable[Embedded]]
"""Vectors of texts, as far as they can be made."""
Worlds = Callable[[], Awaitable[Collection[str]]]
"""The worlds that there are."""


class GraphitiProjection:
    """A projection onto Neo4j, in the groups of one installation. Nothing is asked of the server before the first call,
    so a service starts without it.
    """

    def __init__(
        self,
        connection: Neo4jConnection,
        installation: str,
        prefix: str,
        embed: Embed,
        worlds: Worlds,
        reader: EpisodeReader | None,
    ) -> None:
        self._connection = connection
        self._own = {"installation": installation, "prefix": prefix}
        self._embed = embed
        self._worlds = worlds
        self._reader = reader

    @property
    def reads_episodes(self) -> bool:
        """Whether Graphiti itself finds facts in summaries."""
        return self._reader is not None

    def group_id(self, group: Group) -> str:
        """The `group_id` of what Graphiti keeps of the person."""
        return self._of(group).id

    async def read(self, group: Group, episode: Episode, space: VectorSpace) -> Sequence[Found]:
        """What Graphiti finds in an episode that was brought there. Raises: ModelError, GraphUnavailable."""
        assert self._reader is not None  # noqa: S101 - see reads_episodes
        return await self._reader.read(self._of(group), episode, space)

    async def write(self, changes: Changes) -> bool:
        """Bring changes to Neo4j, all of them or nothing. False, where the group is not as it was `before`."""
        group = self._of(changes.group)
        held = await self._held(group)
        if changes.is_nothing:
            await self._erase(group)
            return True
        if not changes.is_whole and not held.takes(changes.space):
            return False  # no width stands beside another: all is written anew
        names = await self._names(group, changes, held)
        space = changes.space if changes.space.model or not names.vectors else names.space

        async def work(tx: AsyncManagedTransaction) -> bool:
            write = _Write(self._connection, tx, group, names)
            if not await write.lock(changes):
                return False
            found = await write.facts(changes.facts)
            await write.episodes(changes, found)
            await write.seal(changes, space)
            return True

        return await self._connection.write(work)

    async def check(self) -> None:
        """Raises: GraphUnavailable; MemoryOfAnother: a group of a world of ours is another installation's."""
        await self._connection.check()
        for group in await self._of_others(await self._worlds()):
            raise another(group)

    async def take_over(self, world_id: str) -> int:
        """Make other installations' groups of the world ours, to be written anew; answers how many."""
        groups = [group.id for group in await self._of_others([world_id])]
        given = {"groups": groups, "installation": self._own["installation"]}
        await self._connection.write(lambda tx: run(tx, _TAKE_OVER, **given))
        return len(groups)

    async def purge(self, world_id: str) -> int:
        """Remove the groups of the world that another installation wrote; answers how many."""
        groups = await self._of_others([world_id])
        for group in groups:
            await self._erase(group)
        return len(groups)

    async def aclose(self) -> None:
        """Close the connection of the running loop."""
        await self._connection.aclose()

    def _of(self, group: Group) -> GraphGroup:
        """The person's group, as it has to be."""
        return GraphGroup(world_id=group.world_id, person_id=group.person_id, **self._own)

    async def _of_others(self, worlds: Iterable[str]) -> list[GraphGroup]:
        """Groups in the place of ours in these worlds that another installation wrote, by their ids."""
        starts = [start_of(self._own["prefix"], world) for world in worlds]
        rows = await self._connection.read(_OF_OTHERS, starts=starts, installation=self._own["installation"])
        return [self._of(Group(world_id=row["world_id"], person_id=row["person_id"])) for row in rows]

    async def _erase(self, group: GraphGroup) -> None:
        """Remove all of the group, whoever wrote it."""

        async def work(tx: AsyncManagedTransaction) -> None:
            for query in _ERASE:
                await run(tx, query, group=group.id)

        await self._connection.write(work)

    async def _held(self, group: GraphGroup) -> VectorSpace:
        """Which vectors the group has. Raises: MemoryOfAnother."""
        (row,) = await self._connection.read(_HELD, group=group.id)
        if row["installation"] is None:
            return NO_VECTORS
        group.require_own(row["installation"])
        return VectorSpace(row["embedder"], row["dimensions"])

    async def _names(self, group: GraphGroup, changes: Changes, held: VectorSpace) -> Embedded:
        """Vectors of the entities that are not there yet, of all where the group gets another embedder's, and of the
        facts that have none of their own.
        """
        there = await self._connection.read(_ENTITIES, group=group.id)
        known = {normal(row["name"]) for row in there}
        wanted = {name for one in changes.facts for name in (one.source, one.target)}
        wanted = {name for name in wanted if normal(name) not in known}
        if held != changes.space:
            wanted |= {row["name"] for row in there}
        wanted |= {one.text for one in changes.facts if one.vector is None}
        embedded = await self._embed(wanted)
        return embedded if (changes.space if changes.space.model else held).takes(embedded.space) else Embedded()


class _Write:
    """One transaction on one group."""

    def __init__(
        self, connection: Neo4jConnection, tx: AsyncManagedTransaction, group: GraphGroup, embedded: Embedded
    ) -> None:
        self._connection = connection
        self._tx = tx
        self._group = group
        self._vectors = embedded.vectors
        self._entities: dict[str, str] = {}

    async def lock(self, changes: Changes) -> bool:
        """Have the group for oneself; False: it is not as it was `before`.

        Raises:
            MemoryOfAnother: another installation wrote the group.
        """
        group = self._group
        given = {"world": group.world_id, "person": group.person_id, "installation": group.installation}
        (row,) = await self._run(_LOCK, **given)
        group.require_own(row["installation"])
        if changes.is_whole:
            await self._prune(changes)
        return changes.is_whole or changes.before == State(row["epoch"], row["revision"])

    async def _prune(self, changes: Changes) -> None:
        episodes = [episode_uuid(self._group, one.conversation_id) for one in changes.episodes]
        gone = [row["uuid"] for row in await self._run(_GONE, episodes=episodes)]
        for query in _PRUNE:
            await self._run(query, gone=gone, ids=[one.memory.id for one in changes.facts])

    async def facts(self, facts: Sequence[Fact]) -> set[str]:
        """Write facts in the place of those with their ids, with their entities. Answers which Graphiti had found."""
        group = self._group
        found = {row["uuid"] for row in await self._run(_SET_FOUND, rows=[edge_values(group, one) for one in facts])}
        ours = [one for one in facts if one.memory.id not in found]
        await self._run(_DELETE_SOME, ids=[one.memory.id for one in ours])
        await self._put_entities(ours)
        edges = [fact_edge(group, one, self._ends(one), self._vector(one)) for one in ours]
        await self._save([], edges=edges)
        lacking = [fact_uuid(group, one.memory.id) for one in ours if self._vector(one) is None]
        await self._run(_NO_FACT_VECTOR, uuids=lacking)
        vectors = [(one.memory.id, one.vector) for one in facts if one.memory.id in found]
        await self._run(
            _FACT_VECTORS, rows=[{"uuid": key, "vector": one.tolist()} for key, one in vectors if one is not None]
        )
        return found

    def _vector(self, fact: Fact) -> Any:
        return self._vectors.get(fact.text) if fact.vector is None else fact.vector

    def _ends(self, fact: Fact) -> tuple[str, str]:
        return self._entities[normal(fact.source)], self._entities[normal(fact.target)]

    async def _put_entities(self, facts: Sequence[Fact]) -> None:
        """Make the entities that the group has not yet; Graphiti may have made one under a uuid of its own."""
        there = {row["uuid"]: row["name"] for row in await self._run(_ENTITIES)}
        self._entities = {normal(name): uuid for uuid, name in there.items()}
        fresh = list[Any]()
        for fact in sorted(facts, key=lambda one: one.memory.known_from):
            for name in (fact.source, fact.target):
                if normal(name) not in self._entities:
                    node = entity_node(self._group, name, fact.memory.known_from, self._vectors.get(name))
                    self._entities[normal(name)] = node.uuid
                    fresh.append(node)
        await self._save([], entities=fresh)
        await self._run(_NO_NAME_VECTOR, uuids=[one.uuid for one in fresh if one.name not in self._vectors])
        again = [(uuid, self._vectors[name]) for uuid, name in there.items() if name in self._vectors]
        await self._run(_NAME_VECTORS, rows=[{"uuid": uuid, "vector": one.tolist()} for uuid, one in again])

    async def episodes(self, changes: Changes, found: Collection[str]) -> None:
        """Write episodes with the ids of the facts that came of them, and what they mention."""
        group = self._group
        of_talk: dict[str, list[Fact]] = {}
        for fact in changes.facts:
            of_talk.setdefault(fact.memory.conversation_id, []).append(fact)

        uuids = {one.memory.id: fact_uuid(group, one.memory.id) for one in changes.facts} | {one: one for one in found}
        nodes = [
            episode_node(group, one, [uuids[fact.memory.id] for fact in of_talk.get(one.conversation_id, ())])
            for one in changes.episodes
        ]
        await self._save(nodes)
        await self._run(_MARK, marks=[episode_marks(group, one) for one in changes.episodes])
        mentions = [
            mention(group, one.conversation_id, entity, one.at)
            for one in changes.episodes
            for fact in of_talk.get(one.conversation_id, ())
            if fact.memory.id not in found
            for entity in self._ends(fact)
        ]
        await self._run(_MENTION, mentions=mentions)

    async def seal(self, changes: Changes, space: VectorSpace) -> None:
        """Say that the group is as the memory is now."""
        if changes.is_whole:
            await self._run(_DELETE_LONELY)
        given = {"epoch": changes.now.epoch, "revision": changes.now.revision}
        await self._run(_SEAL, **given, embedder=space.model, dimensions=space.dimensions)

    async def _save(self, episodes: Sequence[Any], *, entities: Sequence[Any] = (), edges: Sequence[Any] = ()) -> None:
        graphiti = await self._connection.graphiti()
        await add_nodes_and_edges_bulk_tx(self._tx, list(episodes), [], list(entities), list(edges), None, graphiti)

    async def _run(self, query: str, **given: Any) -> Sequence[Any]:
        return await run(self._tx, query, group=self._group.id, **given)
