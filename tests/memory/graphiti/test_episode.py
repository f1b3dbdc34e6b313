"""Owns the proof that Graphiti's own extraction is a way in: what it finds is remembered, as told, and read once."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import select

from service.conversation.dependencies import ConversationDependencies
from service.memory.graphiti.episode import ExtractionModel, moment
from service.memory.record import Episode, Memory, read_memories
from service.store.jobs import JobKind
from service.store.tables import SummaryRow
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.graphiti.graphs import (
    AOI,
    MONDAY,
    TARO,
    TUESDAY,
    deliver,
    empty,
    facts,
    query,
    remember,
    told,
    with_graph,
)
from tests.runtime.trying import job
from tests.servers.fake_openai import FakeOpenAI, failing
from tests.servers.neo4j import Neo4jServer
from world.time import WorldTime

pytestmark = pytest.mark.server

BEES = "Ren keeps bees behind the mill"
WASPS = "Ren keeps wasps behind the mill"
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
def _empty(neo4j_server: Neo4jServer) -> None:
    empty(neo4j_server)


def reading(
    room: ConversationDependencies, server: Neo4jServer, model: FakeOpenAI, embedder: FakeEmbedder | None = None
) -> ConversationDependencies:
    """A room whose summaries Graphiti reads with that model."""
    asked = ExtractionModel(model="fake-model", base_url=model.base_url, api_key=None, timeout_seconds=30)
    return with_graph(room, server, embedder or FakeEmbedder(), extraction=asked)


def heard_of(number: int) -> Episode:
    """One of two talks with Ren."""
    return Episode(
        conversation_id=f"c{number}",
        partner_id="ren",
        text="Ren told Aoi about his bees.",
        topics=(),
        at=(MONDAY, TUESDAY)[number - 1],
    )


def remembered(room: ConversationDependencies) -> dict[str, Memory]:
    """What Aoi remembers, by what it says."""
    return {one.text: one for one in room.database.read_now(lambda s: read_memories(s, AOI))}


def test_what_graphiti_finds_is_remembered_as_told_and_read_once(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    with FakeOpenAI(answer=Extraction(BEES)) as model:
        reads = reading(room, neo4j_server, model)
        own = told("Ren lent Aoi a veil", told_by="ren", partner_id="ren")
        remember(reads, own, episode=heard_of(1), said=SAID)
        deliver(reads)
        calls = len(model.requests)
        assert calls > 0
        deliver(reads)
        assert len(model.requests) == calls
    memories = remembered(reads)
    assert memories.keys() == {BEES, own.text}, "what the closing wrote stands beside it"
    found = memories[BEES]
    assert (found.told_by, found.support, found.partner_id, found.conversation_id) == ("ren", "model", "ren", "c1")
    assert (found.turns, found.valid_from, found.known_from) == ((0,), MONDAY, MONDAY)
    assert found.about == "mill"
    edge, other = sorted(
        query(
            neo4j_server,
            "MATCH (a)-[e:RELATES_TO]->(b) RETURN a.name AS a, e.name AS name, b.name AS b, e.uuid AS uuid,"
            " e.fact_id AS id, e.fact AS fact, e.created_at AS at, e.fact_embedding IS NOT NULL AS embedded",
        ),
        key=lambda row: row["name"] != "TOLD",
    )
    assert (edge["a"], edge["b"], edge["uuid"], edge["id"]) == ("Ren", "mill", found.id, found.id)
    assert BEES in edge["fact"] != BEES
    assert edge["at"].to_native() == moment(MONDAY)
    assert edge["embedded"]
    assert other["id"] == own.id
    (row,) = query(neo4j_server, "MATCH (n:Episodic) RETURN n.entity_edges AS edges, n.created_at AS at, n.topics AS t")
    assert sorted(row["edges"]) == sorted([edge["uuid"], other["uuid"]])
    assert (row["at"].to_native(), row["t"]) == (moment(MONDAY), [])
    mentions = query(neo4j_server, "MATCH (:Episodic)-[m:MENTIONS]->(x) RETURN x.name AS name, count(m) AS n")
    assert {one["n"] for one in mentions} == {1}
    assert {one["name"] for one in mentions} >= {"Ren", "mill"}


def test_a_text_that_graphiti_asks_about_twice_is_embedded_once_by_it(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    with FakeOpenAI(answer=Extraction(BEES)) as model:
        embedder = FakeEmbedder()
        reads = reading(room, neo4j_server, model, embedder)
        remember(reads, episode=heard_of(1), said=SAID)
        deliver(reads)
    assert embedder.embedded.count("mill") == 1


def test_of_more_than_two_nobody_in_particular_has_told_it(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    with FakeOpenAI(answer=Extraction(BEES)) as model:
        reads = reading(room, neo4j_server, model)
        remember(reads, episode=replace(heard_of(1), others=("mio",)), said=SAID)
        deliver(reads)
    assert remembered(reads)[BEES].told_by is None


@pytest.mark.parametrize("told_by", ["ren", "npc_taro"])
def test_what_graphiti_contradicts_ends_only_where_a_memory_may_end_it(
    room: ConversationDependencies, neo4j_server: Neo4jServer, told_by: str
) -> None:
    answer = Extraction(BEES)
    with FakeOpenAI(answer=lambda body: answer(body)) as model:
        reads = reading(room, neo4j_server, model)
        remember(reads, episode=replace(heard_of(1), partner_id=told_by), said=SAID)
        deliver(reads)
        answer = Extraction(WASPS, at=TUESDAY, contradicts=True)
        remember(reads, episode=heard_of(2), said=SAID)
        deliver(reads)
    may = told_by == "ren"
    bees = remembered(reads)[BEES]
    assert (bees.valid_to, bees.known_until) == ((TUESDAY, TUESDAY) if may else (None, None))
    (edge,) = query(
        neo4j_server,
        "MATCH ()-[e:RELATES_TO {fact_id: $id}]->() RETURN e.invalid_at AS invalid, e.expired_at AS expired",
        id=bees.id,
    )
    ends = [edge[name] and edge[name].to_native() for name in ("invalid", "expired")]
    assert ends == ([moment(TUESDAY)] * 2 if may else [None, None])


def test_what_an_npc_remembers_is_not_read(room: ConversationDependencies, neo4j_server: Neo4jServer) -> None:
    with FakeOpenAI(answer=Extraction(BEES)) as model:
        reads = reading(room, neo4j_server, model)
        heard = replace(heard_of(1), partner_id="aoi")
        remember(reads, told("Aoi binds books", told_by="aoi"), group=TARO, episode=heard)
        deliver(reads)
        assert model.requests == []
    assert len(facts(neo4j_server, "main--npc_taro")) == 1
    assert reads.database.read_now(lambda s: s.exec(select(SummaryRow.is_read)).all()) == [True]


def test_graphiti_reads_nothing_into_a_group_of_another_embedder(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    with FakeOpenAI(answer=Extraction(BEES)) as model:
        remember(with_graph(room, neo4j_server, FakeEmbedder("other", 32)), told("Ren is old"), episode=heard_of(1))
        reads = reading(room, neo4j_server, model)
        deliver(reads)
    assert remembered(reads).keys() == {"Ren is old"}
    row = job(reads, JobKind.DELIVERY, "aoi")
    assert row is not None
    assert "other (32)" in row.last_error
    assert len(facts(neo4j_server)) == 1, "what the closing wrote is there all the same"


def test_a_model_that_fails_keeps_nothing_from_the_graph_and_is_asked_again(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    with FakeOpenAI(failing(401, "bad key"), answer=Extraction(BEES)) as model:
        reads = reading(room, neo4j_server, model)
        remember(reads, told("Ren is old", told_by="ren", partner_id="ren"), episode=heard_of(1), said=SAID)
        deliver(reads)
        assert len(facts(neo4j_server)) == 1
        row = job(reads, JobKind.DELIVERY, "aoi")
        assert row is not None
        assert "KATARIBE_LLM__API_KEY" in row.last_error
        deliver(reads)
    assert remembered(reads).keys() == {BEES, "Ren is old"}


def test_a_crash_after_graphiti_wrote_is_made_whole_without_asking_the_model_again(
    room: ConversationDependencies, neo4j_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any) -> None:
        raise RuntimeError("killed")

    with FakeOpenAI(answer=Extraction(BEES)) as model:
        reads = reading(room, neo4j_server, model)
        remember(reads, episode=heard_of(1), said=SAID)
        with monkeypatch.context() as crash:
            crash.setattr("service.runtime.carried.adopt", dies)
            deliver(reads)
        calls = len(model.requests)
        assert remembered(reads) == {}
        deliver(reads, AOI)
        assert len(model.requests) == calls
    assert remembered(reads).keys() == {BEES}


def test_what_was_found_in_a_talk_that_is_forgotten_goes_with_it(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    with FakeOpenAI(answer=Extraction(BEES)) as model:
        reads = reading(room, neo4j_server, model)
        remember(reads, episode=heard_of(1), said=SAID)
        remember(reads, told("Ken is ill", partner_id="ken", told_by="ken", conversation_id=""))
        deliver(reads)
        assert len(facts(neo4j_server)) == 2
        reads.database.write_now(lambda s: reads.memory.forget(s, AOI, "ren"))
        reads.database.write_now(lambda s: s.delete(s.get_one(SummaryRow, AOI.key("c1"))))
        deliver(reads)
    assert len(facts(neo4j_server)) == 1
    assert query(neo4j_server, "MATCH (n:Episodic) RETURN n") == []
    assert query(neo4j_server, "MATCH (n:Entity {name: 'mill'}) RETURN n") == []
