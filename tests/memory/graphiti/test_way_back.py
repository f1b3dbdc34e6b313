"""A world whose people remember on a real Neo4j is kept, brought back, and branched."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.llm.scripted import ScriptedModel
from service.memory.extraction import ClosingExtraction
from service.memory.memory_store import MemoryStore
from service.memory.revision import next_revision
from service.memory.sql import SqlMemory
from service.memory.record import Group, GroupDump, Kind
from service.runtime.outbox_relay import OutboxRelay
from service.runtime.snapshots import keep, picture
from service.store.budget import DailyBudget
from service.store.session import Database
from service.store.tables import ConversationKey, InsightRow
from service.store.world_rows import read_rows
from tests.conversation.talks import FAMILY, FAMILY_TOLD, meet, recollection, talk_of_family
from tests.memory.answers import claim
from tests.memory.graphiti.test_graph import empty, graph_on, query
from tests.runtime.test_snapshots import load
from tests.runtime.way_back import branched, exported
from tests.servers.neo4j import Neo4jServer
from world.time import LATEST

pytestmark = pytest.mark.server

PEOPLE = ("ren", "mio", "npc_taro")

ASKED = ("", "children", FAMILY, FAMILY_TOLD)

CHILDREN, WIFE = recollection(), recollection(first={"facts": [claim("Taro has a wife, Harue", 1)]})

IN_THE_GRAPH = """
MATCH (n) UNWIND keys(n) AS key RETURN toStringOrNull(n[key]) AS value, n[key] AS all
UNION ALL MATCH ()-[e]->() UNWIND keys(e) AS key RETURN toStringOrNull(e[key]) AS value, e[key] AS all
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def beside(request: pytest.FixtureRequest, room: ConversationDependencies) -> Iterator[ConversationDependencies]:
    """Where conversations are held, with a database of either dialect beside the graph."""
    if request.param == "sqlite":
        yield room
        return
    database = Database(request.getfixturevalue("postgres_emptied"))
    yield replace(room, database=database, budget=DailyBudget(database, room.settings.llm))
    database.close()


async def found(store: MemoryStore, person_id: str, asked: str, kind: Kind) -> set[str]:
    """What a search of that kind finds, closed and faded things too, with all that is known of each."""
    group = Group(world_id="main", person_id=person_id)
    answers = await store.recall(group, asked, at=LATEST, kinds={kind}, limit=50, history=True, forgotten=True)
    return {repr(one.item) for one in answers}


def come_to_think(room: ConversationDependencies, person_id: str, conversation_id: str) -> None:
    """The person draws a conclusion from that conversation."""
    group = Group(world_id="main", person_id=person_id)

    def work(session: Session) -> None:
        session.add(
            InsightRow(
                **group.whose,
                id="proud",
                text="Taro is proud of his children.",
                evidence=[f"talk:{conversation_id}"],
                partner_ids=["npc_taro"],
                importance=5,
                at=room.worlds.open(session, "main").now,
                revision=next_revision(session, group),
            )
        )

    room.database.write_now(work)


def test_saved_during_a_closing_no_search_finds_what_came_later_and_all_else_is_there(
    beside: ConversationDependencies, script: ScriptedModel, neo4j_server: Neo4jServer
) -> None:
    empty(neo4j_server)

    async def live() -> None:
        graph, sql = graph_on(neo4j_server, None, beside.database), SqlMemory(beside.database)
        away = replace(beside, memory=graph)
        outbox = OutboxRelay(away)

        async def told(world_id: str = "main") -> list[GroupDump]:
            await outbox.deliver_due()
            return [await graph.export(Group(world_id=world_id, person_id=one)) for one in PEOPLE]

        async def talk(character_id: str = "ren", taken: ClosingExtraction = CHILDREN) -> ConversationKey:
            script.enqueue(*talk_of_family()[:-1], taken)
            key = ConversationKey("main", await asyncio.to_thread(meet, away, character_id=character_id))
            await Engine(away).converse(key)
            return key

        async def searched() -> dict[tuple[str, Kind], set[str]]:
            """What any search of either store finds of anybody, by person and kind."""
            return {
                (person_id, kind): set().union(
                    *[await found(store, person_id, asked, kind) for store in (graph, sql) for asked in ASKED]
                )
                for person_id in PEOPLE
                for kind in Kind
            }

        def is_anywhere(conversation_id: str) -> tuple[bool, bool]:
            """Whether the id stands in any row of the world, and in anything that the graph holds."""
            rows = away.database.read_now(lambda s: read_rows(s, "main"))
            held = query(neo4j_server, IN_THE_GRAPH)
            return conversation_id in str(rows), conversation_id in str([one.data() for one in held])

        first, engine = await talk(), Engine(away)
        await engine.close(first)
        second = await talk(taken=WIFE)
        await keep(away, outbox, "main", "closing")
        kept, exports, known = await told(), exported(away), await searched()
        await engine.close(second)
        third = await talk("mio")
        await engine.close(third)
        come_to_think(away, "mio", third.conversation_id)
        assert second.conversation_id in str(await told())
        assert is_anywhere(third.conversation_id) == (True, True)
        later = await searched()
        new = {whose: str(later[whose] - known[whose]) for whose in later}
        assert all(second.conversation_id in new["ren", kind] for kind in (Kind.FACT, Kind.SUMMARY))
        assert all(third.conversation_id in new["mio", kind] for kind in Kind)
        load(away, "closing")
        assert (await told(), exported(away)) == (kept, exports)
        assert await searched() == known
        assert is_anywhere(third.conversation_id) == (False, False)
        assert is_anywhere(second.conversation_id) == (True, False), "it was said, and not remembered yet"
        rows = await picture(away, outbox, "main")
        await away.database.write(partial(branched, away, "main", rows, "what-if"))
        assert await told("what-if") == await told() == kept
        script.enqueue(WIFE)
        await Engine(away).close(second)
        assert second.conversation_id in str(await told())
        await graph.aclose()

    asyncio.run(live())
