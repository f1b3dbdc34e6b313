"""A world whose people remember on a real Neo4j is kept, brought back, and branched."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.llm.scripted import ScriptedModel
from service.memory.store import Group, GroupDump, Kind
from service.runtime.outbox_relay import OutboxRelay
from service.runtime.snapshots import keep, picture
from service.store.tables import ConversationKey
from tests.conversation.talks import meet, talk_of_family
from tests.memory.graphiti.test_graph import empty, graph_on
from tests.runtime.test_snapshots import load
from tests.runtime.way_back import branched, exported
from tests.servers.neo4j import Neo4jServer
from world.time import LATEST

pytestmark = pytest.mark.server

PEOPLE = ("ren", "npc_taro")


def test_saved_during_a_closing_no_search_finds_what_came_later_and_all_else_is_there(
    room: ConversationDependencies, script: ScriptedModel, neo4j_server: Neo4jServer
) -> None:
    empty(neo4j_server)

    async def live() -> None:
        graph = graph_on(neo4j_server, None, room.database)
        away = replace(room, memory=graph)
        outbox = OutboxRelay(away)

        async def told(world_id: str = "main") -> list[GroupDump]:
            await outbox.deliver_due()
            return [await graph.export(Group(world_id=world_id, person_id=one)) for one in PEOPLE]

        async def talk() -> ConversationKey:
            script.enqueue(*talk_of_family())
            key = ConversationKey("main", await asyncio.to_thread(meet, away, character_id="ren"))
            await Engine(away).converse(key)
            return key

        first, engine = await talk(), Engine(away)
        await engine.close(first)
        second = await talk()
        await keep(away, outbox, "main", "closing")
        kept, exports = await told(), exported(away)
        await engine.close(second)
        assert second.conversation_id in str(await told())
        load(away, "closing")
        assert (await told(), exported(away)) == (kept, exports)
        ren = Group(world_id="main", person_id="ren")
        found = await graph.recall(ren, "children", at=LATEST, kinds=set(Kind), limit=50, history=True)
        assert {getattr(one.item, "conversation_id", None) for one in found} == {first.conversation_id}
        rows = await picture(away, outbox, "main")
        await away.database.write(partial(branched, away, "main", rows, "what-if"))
        assert await told("what-if") == await told() == kept
        script.enqueue(talk_of_family()[-1])
        await Engine(away).close(second)
        assert second.conversation_id in str(await told())
        await graph.aclose()

    asyncio.run(live())
