"""Owns the proof that Graphiti's own extraction is a way in that keeps the contract: ids, world time, no second reading."""

import asyncio
import json
from typing import Any, cast

import pytest

from service.errors import ModelRejected
from service.memory.graphiti.episode import EpisodeGraphitiMemory, ExtractionModel
from service.memory.store import Group
from service.store.session import Database
from tests.memory.contract import MONDAY, TARO, TUESDAY, episode, statements
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.graphiti.test_graph import connection_to, empty
from tests.servers.fake_openai import FakeOpenAI, failing
from tests.servers.neo4j import Neo4jServer, neo4j_server

__all__ = ["neo4j_server"]

pytestmark = pytest.mark.server

MARRIED = "太郎は花子と結婚している"


def extraction(body: dict[str, Any]) -> str:
    """What a model would answer to Graphiti's prompts about a talk in which Taro says he is married to Hanako."""
    asked = body["response_format"]["json_schema"]["name"]
    edge = {"source_entity_name": "太郎", "target_entity_name": "花子", "relation_type": "MARRIED_TO", "fact": MARRIED}
    answers: dict[str, Any] = {
        "ExtractedEntities": {
            "extracted_entities": [
                {"name": name, "entity_type_id": 0, "episode_indices": [0]} for name in ("太郎", "花子")
            ]
        },
        "ExtractedEdges": {"edges": [{**edge, "valid_at": None, "invalid_at": None, "episode_indices": [0]}]},
        "NodeResolutions": {"entity_resolutions": []},
        "EdgeDuplicate": {"duplicate_facts": [], "contradicted_facts": []},
        "EdgeTimestamps": {"valid_at": None, "invalid_at": None},
        "BatchEdgeTimestamps": {"timestamps": [{"valid_at": None, "invalid_at": None}]},
        "SummarizedEntities": {"summaries": []},
    }
    return json.dumps(answers[asked], ensure_ascii=False)


def graph_on(server: Neo4jServer, model: FakeOpenAI) -> EpisodeGraphitiMemory:
    """A graph whose facts are found by that model."""
    asked = ExtractionModel(model="fake-model", base_url=model.base_url, api_key=None, timeout_seconds=10)
    return EpisodeGraphitiMemory(cast("Database", None), connection_to(server), FakeEmbedder(), asked)


@pytest.fixture
def server(neo4j_server: Neo4jServer) -> Neo4jServer:
    """The session's server, without data."""
    empty(neo4j_server)
    return neo4j_server


def test_facts_that_graphiti_finds_bear_world_time_and_provenance_and_are_read_once(server: Neo4jServer) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=extraction) as model:
            graph = graph_on(server, model)
            heard = episode(TARO, "c1", MONDAY, summary="太郎は花子と結婚していると話した。")
            await graph.deliver(TARO, heard, [])
            calls = len(model.requests)
            assert calls > 0
            before = await graph.export(TARO)
            await graph.deliver(TARO, heard, [])
            assert len(model.requests) == calls
            assert await graph.export(TARO) == before
            assert before.episodes == (heard,)
            (fact,) = before.facts
            assert (fact.subject, fact.relation, fact.object, fact.statement) == ("太郎", "MARRIED_TO", "花子", MARRIED)
            assert (fact.created_at, fact.valid_at, fact.invalid_at, fact.expired_at) == (MONDAY, MONDAY, None, None)
            assert (fact.partner_id, fact.conversation_id, fact.turn) == (
                "hanako",
                "c1",
                None,
            )
            assert statements(await graph.recall(TARO, "太郎の結婚", at=MONDAY)) == [MARRIED]
            assert statements(await graph.recall(TARO, "", at=MONDAY, about="花子")) == [MARRIED]
            assert await graph.recall(Group(world_id="main", person_id="jiro"), "太郎", at=MONDAY) == []
            await graph.aclose()

    asyncio.run(work())


def test_a_model_that_fails_leaves_no_episode_and_the_retry_remembers_it(server: Neo4jServer) -> None:
    async def work() -> None:
        with FakeOpenAI(failing(401, "bad key"), answer=extraction) as model:
            graph = graph_on(server, model)
            heard = episode(TARO, "c1", TUESDAY)
            with pytest.raises(ModelRejected, match="KATARIBE_LLM__API_KEY"):
                await graph.deliver(TARO, heard, [])
            assert (await graph.export(TARO)).episodes == ()
            await graph.deliver(TARO, heard, [])
            assert (await graph.export(TARO)).episodes == (heard,)
            assert [fact.statement for fact in (await graph.export(TARO)).facts] == [MARRIED]
            await graph.aclose()

    asyncio.run(work())


def test_a_crash_after_graphiti_wrote_is_made_whole_without_asking_the_model_again(server: Neo4jServer) -> None:
    async def work() -> None:
        with FakeOpenAI(answer=extraction) as model:
            graph = graph_on(server, model)
            heard = episode(TARO, "c1", MONDAY)
            await graph.deliver(TARO, heard, [])
            whole, calls = await graph.export(TARO), len(model.requests)

            async def undo(tx: Any) -> None:
                await tx.run("MATCH (n:Episodic) REMOVE n.conversation_id, n.revision")
                await tx.run("MATCH ()-[e:RELATES_TO]->() REMOVE e.fact_id, e.revision")

            await graph._connection.write(undo)
            assert (await graph.export(TARO)).episodes == ()
            await graph.deliver(TARO, heard, [])
            assert await graph.export(TARO) == whole
            assert len(model.requests) == calls
            await graph.aclose()

    asyncio.run(work())
