"""Owns the proof that Graphiti's own extraction is a way in that keeps the contract: ids, world time, validation."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import pytest

from service.content.load import Content
from service.errors import EmbedderChanged, ModelRejected
from service.memory.graphiti.episode import EpisodeGraphitiMemory, ExtractionModel
from service.memory.graphiti.rows import moment
from service.memory.record import Episode, Group
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.session import Database
from tests.memory.contract import MONDAY, TUESDAY, draft, episode, statements
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.graphiti.test_graph import connection_to, empty, query
from tests.memory.graphiti.test_graph import graph_on as directly_on
from tests.memory.memories import put_conversation
from tests.servers.fake_openai import FakeOpenAI, failing
from tests.servers.neo4j import Neo4jServer
from world.time import WorldTime

pytestmark = pytest.mark.server

AOI = Group(world_id="main", person_id="aoi")
BEES = "Ren keeps bees behind the mill"
KING = "Ren is the king of the island"
SAID = ("I keep bees behind the mill.", "Since when?", "Since my uncle left me his hives.")


class Extraction:
    """What a model answers to Graphiti's prompts about a talk with Ren: these facts, true since `at`.

    `contradicts`: each of them, so it says, makes the first of the facts it is shown untrue.
    """

    def __init__(self, *facts: str, at: WorldTime = MONDAY, contradicts: bool = False) -> None:
        self.facts = facts
        self.at = moment(at).isoformat()
        self.contradicted = [0] if contradicts else []

    def __call__(self, body: dict[str, Any]) -> str:
        asked = body["response_format"]["json_schema"]["name"]
        since = {"valid_at": self.at, "invalid_at": None}
        ends = {"source_entity_name": "Ren", "target_entity_name": "mill", "relation_type": "TOLD"}
        answers: dict[str, Any] = {
            "ExtractedEntities": {
                "extracted_entities": [
                    {"name": name, "entity_type_id": 0, "episode_indices": [0]} for name in ("Ren", "mill")
                ]
            },
            "ExtractedEdges": {
                "edges": [{**ends, "fact": fact, **since, "episode_indices": [0]} for fact in self.facts]
            },
            "NodeResolutions": {"entity_resolutions": []},
            "EdgeDuplicate": {"duplicate_facts": [], "contradicted_facts": self.contradicted},
            "EdgeTimestamps": since,
            "BatchEdgeTimestamps": {"timestamps": [since for _ in self.facts]},
            "SummarizedEntities": {"summaries": []},
        }
        return json.dumps(answers[asked], ensure_ascii=False)


@pytest.fixture(autouse=True)
def _in(neo4j_server: Neo4jServer, database: Database, village: Content, settings: Settings) -> None:
    """The session's server without data, and a world in which Aoi talked with Ren on Monday and on Tuesday."""
    empty(neo4j_server)

    def work(session: Any) -> None:
        for number, at in enumerate((MONDAY, TUESDAY), 1):
            put_conversation(session, AOI, episode(AOI, f"c{number}", at, partner="ren"), SAID)

    database.write_now(work)


@pytest.fixture
def graph_on(neo4j_server: Neo4jServer, database: Database, village: Content, settings: Settings) -> "Made":
    """A memory whose facts are found by that model."""

    def made(model: FakeOpenAI, embedder: FakeEmbedder | None = None) -> EpisodeGraphitiMemory:
        asked = ExtractionModel(model="fake-model", base_url=model.base_url, api_key=None, timeout_seconds=30)
        worlds = WorldRepository(village, settings.world)
        embedder = embedder or FakeEmbedder()
        return EpisodeGraphitiMemory(
            database, connection_to(neo4j_server), embedder, worlds, asked, installation="ours"
        )

    return made


class Made(Protocol):
    """See `graph_on`."""

    def __call__(self, model: FakeOpenAI, embedder: FakeEmbedder | None = None) -> EpisodeGraphitiMemory: ...


def heard_of(number: int) -> Episode:
    """The episode of one of the two talks."""
    told = "Ren told Aoi about his bees."
    return episode(AOI, f"c{number}", (MONDAY, TUESDAY)[number - 1], partner="ren", summary=told)


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run an async test."""

    async def awaited() -> None:
        await work()

    asyncio.run(awaited())


def test_facts_that_graphiti_finds_bear_world_time_and_provenance_and_are_read_once(graph_on: Made) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=Extraction(BEES)) as model:
            graph = graph_on(model)
            heard = heard_of(1)
            await graph.deliver(AOI, heard, [])
            calls = len(model.requests)
            assert calls > 0
            before = await graph.export(AOI)
            await graph.deliver(AOI, heard, [])
            assert len(model.requests) == calls
            assert await graph.export(AOI) == before
            assert before.episodes == (heard,)
            (fact,) = before.facts
            assert (fact.subject, fact.relation, fact.object, fact.statement) == ("Ren", "TOLD", "mill", BEES)
            assert (fact.created_at, fact.valid_at, fact.invalid_at, fact.expired_at) == (MONDAY, MONDAY, None, None)
            assert (fact.partner_id, fact.conversation_id, fact.turn) == ("ren", "c1", 0)
            assert statements(await graph.recall(AOI, "who keeps bees", at=MONDAY)) == [BEES]
            assert statements(await graph.recall(AOI, "", at=MONDAY, about="Mill")) == [BEES]
            assert await graph.recall(Group(world_id="main", person_id="ren"), "bees", at=MONDAY) == []
            await graph.aclose()

    run(work)


def test_a_text_that_graphiti_asks_about_twice_is_embedded_once(graph_on: Made) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=Extraction(BEES)) as model:
            embedder = FakeEmbedder()
            graph = graph_on(model, embedder)
            await graph.deliver(AOI, heard_of(1), [])
            assert sorted(embedder.embedded) == sorted({"Ren", "mill", BEES, heard_of(1).summary})
            await graph.aclose()

    run(work)


def test_what_no_turn_carries_is_taken_out_of_the_graph(graph_on: Made, neo4j_server: Neo4jServer) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=Extraction(KING, BEES)) as model:
            graph = graph_on(model)
            await graph.deliver(AOI, heard_of(1), [])
            assert [fact.statement for fact in (await graph.export(AOI)).facts] == [BEES]
            assert statements(await graph.recall(AOI, "Ren", at=MONDAY)) == [BEES]
            await graph.aclose()

    run(work)
    (left,) = query(neo4j_server, "MATCH ()-[e:RELATES_TO]->() RETURN e.uuid AS uuid, e.fact AS words")
    assert left["words"] == f'Ren said: "{SAID[0]}"'
    (episode_row,) = query(neo4j_server, "MATCH (n:Episodic) RETURN n.entity_edges AS edges")
    assert episode_row["edges"] == [left["uuid"]]


def test_what_graphiti_makes_of_words_that_do_not_state_it_relates_nothing(
    graph_on: Made, neo4j_server: Neo4jServer
) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=Extraction("Ren got hives since his uncle left")) as model:
            graph = graph_on(model)
            await graph.deliver(AOI, heard_of(1), [])
            (fact,) = (await graph.export(AOI)).facts
            assert (fact.held, fact.words) == (False, f'Ren, asked "{SAID[1]}", said: "{SAID[2]}"')
            assert [found.fact.id for found in await graph.recall(AOI, "hives", at=MONDAY)] == [fact.id]
            await graph.aclose()

    run(work)
    (edge,) = query(
        neo4j_server,
        "MATCH (a)-[e:RELATES_TO]->(b) RETURN e.uuid AS uuid, a.name AS one, e.name AS relation, b.name AS other",
    )
    assert (edge["one"], edge["relation"], edge["other"]) == ("Ren", "remembers", "Ren")
    (episode_row,) = query(neo4j_server, "MATCH (n:Episodic) RETURN n.entity_edges AS edges")
    assert episode_row["edges"] == [edge["uuid"]]


@pytest.mark.parametrize(("then", "open_still"), [(KING, True), ("Ren got hives since his uncle left", False)])
def test_a_fact_stays_closed_only_by_one_that_was_kept(graph_on: Made, then: str, *, open_still: bool) -> None:
    async def work() -> None:
        answer = Extraction(BEES)
        with FakeOpenAI(answer=lambda body: answer(body)) as model:
            graph = graph_on(model)
            await graph.deliver(AOI, heard_of(1), [])
            answer = Extraction(then, at=TUESDAY, contradicts=True)
            await graph.deliver(AOI, heard_of(2), [])
            facts = {fact.statement: fact for fact in (await graph.export(AOI)).facts}
            ends = (facts[BEES].invalid_at, facts[BEES].expired_at)
            assert ends == ((None, None) if open_still else (TUESDAY, TUESDAY))
            assert (then in facts) is not open_still
            assert (BEES in statements(await graph.recall(AOI, "bees", at=TUESDAY))) is open_still
            await graph.aclose()

    run(work)


def test_what_an_npc_remembers_is_written_directly(graph_on: Made) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=Extraction(BEES)) as model:
            graph = graph_on(model)
            taro = Group(world_id="main", person_id="npc_taro")
            heard = episode(taro, "c3", MONDAY, partner="aoi")
            await graph.deliver(taro, heard, [draft(heard, 0, "Aoi binds books", subject="Aoi")])
            assert model.requests == []
            assert [fact.statement for fact in (await graph.export(taro)).facts] == ["Aoi binds books"]
            await graph.aclose()

    run(work)


def test_graphiti_reads_nothing_into_a_group_of_another_embedder(graph_on: Made, neo4j_server: Neo4jServer) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=Extraction(BEES)) as model:
            graph = graph_on(model)
            other = directly_on(neo4j_server, FakeEmbedder("other", 32))
            await other.deliver(AOI, heard_of(1), [draft(heard_of(1), 0, BEES)])
            with pytest.raises(EmbedderChanged, match="other"):
                await graph.deliver(AOI, heard_of(2), [])
            assert model.requests == []
            for one in (graph, other):
                await one.aclose()

    run(work)


def test_a_model_that_fails_leaves_no_episode_and_the_retry_remembers_it(graph_on: Made) -> None:
    async def work() -> None:
        with FakeOpenAI(failing(401, "bad key"), answer=Extraction(BEES)) as model:
            graph = graph_on(model)
            heard = heard_of(1)
            with pytest.raises(ModelRejected, match="KATARIBE_LLM__API_KEY"):
                await graph.deliver(AOI, heard, [])
            assert (await graph.export(AOI)).episodes == ()
            await graph.deliver(AOI, heard, [])
            assert (await graph.export(AOI)).episodes == (heard,)
            assert [fact.statement for fact in (await graph.export(AOI)).facts] == [BEES]
            await graph.aclose()

    run(work)


def test_a_crash_after_graphiti_wrote_is_made_whole_without_asking_the_model_again(graph_on: Made) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=Extraction(BEES)) as model:
            graph = graph_on(model)
            heard = heard_of(1)
            await graph.deliver(AOI, heard, [])
            whole, calls = await graph.export(AOI), len(model.requests)

            async def undo(tx: Any) -> None:
                await tx.run("MATCH (n:Episodic) REMOVE n.conversation_id, n.revision")
                await tx.run("MATCH ()-[e:RELATES_TO]->() REMOVE e.fact_id, e.revision")

            await graph._connection.write(undo)
            assert (await graph.export(AOI)).episodes == ()
            await graph.deliver(AOI, heard, [])
            assert await graph.export(AOI) == whole
            assert len(model.requests) == calls
            await graph.aclose()

    run(work)
