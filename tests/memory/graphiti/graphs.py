"""Owns what tests of the memory graph share: a graph on the tests' Neo4j, what is remembered, and what is there."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import neo4j
from pydantic import SecretStr
from sqlmodel import Session, select

from service.conversation.dependencies import ConversationDependencies
from service.memory.embedding.embedder import Embedder
from service.memory.graphiti.connection import Neo4jConnection
from service.memory.graphiti.episode import EpisodeReader, ExtractionModel
from service.memory.graphiti.projection import GraphitiProjection
from service.memory.memory_store import MemoryStore
from service.memory.record import Episode, Group, Kind, Memory
from service.store.jobs import JobKind
from service.store.tables import ConversationRow, MemoryOwnerRow, SummaryRow, TurnRow
from tests.runtime.trying import trying
from tests.servers.neo4j import Neo4jServer
from tests.store.conversations import conversation_row
from world.time import WorldTime

AOI = Group(world_id="main", person_id="aoi")
TARO = Group(world_id="main", person_id="npc_taro")
MONDAY, TUESDAY = WorldTime(1_000_000), WorldTime(1_001_440)

FACTS = """
    MATCH (a:Entity)-[e:RELATES_TO]->(b:Entity) WHERE e.group_id = $group
    RETURN e, e.fact AS fact, a.name AS source, b.name AS target, e.fact_id AS id ORDER BY e.fact
"""
EPISODES = "MATCH (n:Episodic {group_id: $group}) RETURN n, n.uuid AS uuid ORDER BY n.valid_at"


def connection_to(server: Neo4jServer) -> Neo4jConnection:
    """A connection by our settings."""
    return Neo4jConnection(server.uri, server.user, SecretStr(server.password), server.database)


def with_graph(
    room: ConversationDependencies,
    server: Neo4jServer,
    embedder: Embedder | None = None,
    *,
    installation: str = "ours",
    prefix: str = "",
    extraction: ExtractionModel | None = None,
    connection: Neo4jConnection | None = None,
) -> ConversationDependencies:
    """The same room, whose memories go to a graph on that server."""
    memory, connection = MemoryStore(room.database, embedder), connection or connection_to(server)
    reader = None if extraction is None else EpisodeReader(connection, memory.embed, extraction)

    async def worlds() -> set[str]:
        return {"main"}

    return replace(
        room,
        memory=memory,
        projection=GraphitiProjection(connection, installation, prefix, memory.embed, worlds, reader),
    )


def graph_of(room: ConversationDependencies) -> GraphitiProjection:
    """The graph of such a room."""
    assert isinstance(room.projection, GraphitiProjection)
    return room.projection


def empty(server: Neo4jServer) -> None:
    """Remove all data; the indexes stay."""
    query(server, "MATCH (n) DETACH DELETE n")


def query(server: Neo4jServer, asked: str, **given: Any) -> list[dict[str, Any]]:
    """What Neo4j answers."""
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        return [row.data() for row in driver.execute_query(asked, given, database_=server.database).records]


def facts(server: Neo4jServer, group: str = "main--aoi") -> list[str]:
    """The sentences that the group's edges hold."""
    return [row["fact"] for row in query(server, FACTS, group=group)]


def told(text: str, **given: Any) -> Memory:
    """What Taro told in a talk on Monday, if nothing else is said."""
    known = {"id": text, "kind": Kind.FACT, "told_by": "npc_taro", "partner_id": "npc_taro", "conversation_id": "c1"}
    return Memory(**{"valid_from": MONDAY, "known_from": MONDAY, "turns": (0,), **known, "text": text, **given})


def talked(conversation_id: str, at: WorldTime = MONDAY, summary: str = "Aoi and Taro spoke of the sea.") -> Episode:
    """A talk with Taro."""
    return Episode(conversation_id=conversation_id, partner_id="npc_taro", text=summary, topics=("sea",), at=at)


def remember(
    room: ConversationDependencies,
    *memories: Memory,
    group: Group = AOI,
    episode: Episode | None = None,
    said: Sequence[str] = ("Hello.",),
) -> None:
    """Let the person remember these, and the talk as a whole, as a closing does."""
    texts = [one.text for one in memories] + ([episode.text] if episode else [])
    embedded = asyncio.run(room.memory.embed(texts))

    def work(session: Session) -> None:
        room.worlds.open(session, group.world_id, lock=True)
        revision = room.memory.remember(session, group, memories, embedded, episode)
        if episode is not None:
            _put_conversation(session, group, episode, said)
            session.add(
                SummaryRow(
                    **group.whose,
                    conversation_id=episode.conversation_id,
                    partner_id=episode.partner_id,
                    summary=episode.text,
                    topics=list(episode.topics),
                    others=list(episode.others),
                    at=episode.at,
                    revision=revision,
                )
            )

    room.database.write_now(work)


def _put_conversation(session: Session, group: Group, episode: Episode, said: Sequence[str]) -> None:
    if session.get(ConversationRow, (group.world_id, episode.conversation_id)) is not None:
        return
    row = conversation_row(
        id=episode.conversation_id,
        world_id=group.world_id,
        character_id=group.person_id,
        npc_id=episode.partner_id,
        node_id="square",
        language="en",
        max_turns=10,
        phase="closed",
        started_at=episode.at,
        models={},
    )
    session.add(row)
    session.flush()
    for turn, text in enumerate(said):
        speaker = group.person_id if turn % 2 else episode.partner_id
        session.add(
            TurnRow(
                world_id=row.world_id,
                conversation_id=row.id,
                turn=turn,
                speaker_id=speaker,
                speaker_name=speaker,
                text=text,
                emotion="neutral",
                at=episode.at,
                model="scripted",
                calls=1,
                prompt_tokens=1,
                completion_tokens=1,
                duration_ms=1,
            )
        )


def deliver(room: ConversationDependencies, *groups: Group) -> None:
    """Bring what these remember to the graph (none named: all that is due), and let go of it."""

    async def work() -> None:
        for world_id in {group.world_id for group in groups} or {"main", *worlds}:
            people = (group.person_id for group in groups if group.world_id == world_id)
            await trying(room, JobKind.DELIVERY, *people, world_id=world_id)
        await graph_of(room).aclose()

    worlds = room.database.read_now(lambda s: s.exec(select(MemoryOwnerRow.world_id)).all())
    asyncio.run(work())


def on_graph(room: ConversationDependencies, work: Callable[[GraphitiProjection], Awaitable[Any]]) -> Any:
    """Do something with the graph, and let go of it."""

    async def done() -> Any:
        try:
            return await work(graph_of(room))
        finally:
            await graph_of(room).aclose()

    return asyncio.run(done())
