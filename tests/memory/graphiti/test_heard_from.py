"""Owns the proof that a rumour keeps its source where the long-term memory lies in Neo4j."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.llm.scripted import ScriptedModel
from service.locales import Language, languages
from service.memory.record import Group
from tests.memory.graphiti.test_graph import empty, graph_on
from tests.memory.memories import Memory
from tests.memory.rumours import HANDS, RUMOURS, goes_round
from tests.servers.neo4j import Neo4jServer

pytestmark = pytest.mark.server


@pytest.mark.parametrize("language", languages())
def test_a_rumour_keeps_its_source_over_three_people(
    room: ConversationDependencies, script: ScriptedModel, neo4j_server: Neo4jServer, language: Language
) -> None:
    empty(neo4j_server)

    async def work() -> None:
        graph = graph_on(neo4j_server, None, room.database)
        memory = Memory(graph, room.database)

        async def deliver(people: Sequence[str]) -> None:
            for person_id in people:
                await memory.deliver(Group(world_id="main", person_id=person_id))

        await goes_round(replace(room, memory=graph), script, language, deliver)
        for place, person_id in enumerate(HANDS[1:]):
            (fact,) = (await memory.export(Group(world_id="main", person_id=person_id))).facts
            assert fact.chain == HANDS[: place + 1]
            assert fact.words == RUMOURS[language].remembered[place]
        await graph.aclose()

    asyncio.run(work())
