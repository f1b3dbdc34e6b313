"""Owns the proof that a whisper stays with those who heard it where the long-term memory lies in Neo4j."""

import asyncio
from dataclasses import replace

import pytest

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.llm.scripted import ScriptedModel
from service.memory.recall import recall
from service.memory.record import Group, Kind
from tests.memory.graphiti.test_graph import empty, graph_on
from tests.memory.memories import Memory
from tests.memory.whispers import FIVE, KNOWING, tells_everybody, whispered
from tests.servers.neo4j import Neo4jServer
from tests.store.conversations import main

pytestmark = pytest.mark.server


def test_a_whisper_that_two_of_five_know_is_known_to_these_two(
    room: ConversationDependencies, script: ScriptedModel, neo4j_server: Neo4jServer
) -> None:
    empty(neo4j_server)

    async def work() -> None:
        graph = graph_on(neo4j_server, None, room.database)
        on_graph, memory = replace(room, memory=graph), Memory(graph, room.database)
        told = whispered(on_graph, "en")
        script.enqueue(tells_everybody)
        await close(on_graph, main("table"))
        world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
        for person_id in FIVE:
            group = Group(world_id="main", person_id=person_id)
            await memory.deliver(group)
            dump = await graph.export(group)
            found = await graph.recall(group, told.asked, at=world.now, kinds=set(Kind), limit=50)
            asked = await recall(room.database, graph, world, person_id, None, query=told.asked, limit=50)
            known = str((dump, found, asked.facts, asked.turns))
            assert [word in known for word in told.telling] == [person_id in KNOWING] * 3, person_id
            (episode,) = dump.episodes
            assert len(episode.others) == 3
        await graph.aclose()

    asyncio.run(work())
