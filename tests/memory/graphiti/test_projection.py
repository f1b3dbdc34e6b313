"""Owns the proof that Neo4j holds what people remember, in graphiti-core's own form, and follows what becomes of it."""

import asyncio
import os
import subprocess
import sys
import traceback
from typing import Any

import neo4j
import pytest
from pydantic import SecretStr
from sqlmodel import select

from service.conversation.dependencies import ConversationDependencies
from service.errors import GraphUnavailable
from service.memory.forgetting import forget_world
from service.memory.graphiti import projection
from service.memory.graphiti.connection import Neo4jConnection, major
from service.memory.graphiti.episode import moment
from service.memory.graphiti.vendor import (
    CrossEncoderClient,
    EmbedderClient,
    EntityEdge,
    EpisodicNode,
    Graphiti,
    LLMConfig,
    OpenAIGenericClient,
)
from service.memory.projection import read_changes
from service.memory.record import Kind, Mode, Source, Support
from service.runtime.carried import Deliveries
from service.runtime.snapshots import branch, rows_of
from service.store.jobs import JobKind
from service.store.tables import MemoryOwnerRow, SummaryRow
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.graphiti.graphs import (
    AOI,
    EPISODES,
    FACTS,
    MONDAY,
    TARO,
    TUESDAY,
    connection_to,
    deliver,
    empty,
    facts,
    graph_of,
    on_graph,
    query,
    remember,
    talked,
    told,
    with_graph,
)
from tests.servers.neo4j import Neo4jServer

pytestmark = pytest.mark.server

BOAT = told("Taro has sold his boat", subject_id="npc_taro", about="Taro")
FISH = told("The fish is cheap in the morning", id="fish", mode=Mode.SUPPOSED)
CHILDREN = "太郎には子供が二人いる"


@pytest.fixture
def server(neo4j_server: Neo4jServer) -> Neo4jServer:
    """It runs, and holds nothing."""
    empty(neo4j_server)
    return neo4j_server


@pytest.fixture
def graph(room: ConversationDependencies, server: Neo4jServer) -> ConversationDependencies:
    """A room whose memories are embedded, and go to that server."""
    return with_graph(room, server, FakeEmbedder())


def property_of(server: Neo4jServer, memory_id: str, name: str) -> Any:
    """What an edge says."""
    asked = f"MATCH ()-[e:RELATES_TO {{fact_id: $id}}]->() RETURN e.{name} AS value"
    return query(server, asked, id=memory_id)[0]["value"]


def test_plain_graphiti_reads_a_memory_as_an_edge_that_says_who_told_it(
    graph: ConversationDependencies, server: Neo4jServer
) -> None:
    remember(graph, BOAT, FISH, episode=talked("c1"))
    deliver(graph, AOI)

    async def plain() -> tuple[list[EntityEdge], list[EpisodicNode]]:
        connection = connection_to(server)
        driver = await connection.graphiti()
        found = await EntityEdge.get_by_group_ids(driver, ["main--aoi"])
        episodes = await EpisodicNode.get_by_group_ids(driver, ["main--aoi"])
        await connection.aclose()
        return found, episodes

    found, (episode,) = asyncio.run(plain())
    by_name = {one.name: one for one in found}
    boat = by_name["FACT"]
    assert "Taro" in boat.fact
    assert "sold his boat" in boat.fact
    assert boat.fact != BOAT.text, "what was told stands with its teller"
    assert (boat.valid_at, boat.created_at, boat.invalid_at, boat.expired_at) == (*[moment(MONDAY)] * 2, None, None)
    assert boat.attributes["told_by"] == "npc_taro"
    assert (boat.attributes["text"], boat.attributes["turns"], boat.attributes["support"]) == (BOAT.text, [0], "model")
    assert by_name["SUPPOSED"].attributes["mode"] == "supposed"
    assert (episode.content, episode.valid_at) == (talked("c1").text, moment(MONDAY))
    assert sorted(episode.entity_edges) == sorted(one.uuid for one in found)
    assert boat.episodes == [episode.uuid]
    ends = {(row["source"], row["target"]) for row in query(server, FACTS, group="main--aoi")}
    assert ends == {("Taro", "Taro"), ("Taro", "Aoi")}
    mentioned = query(server, "MATCH (:Episodic)-[m:MENTIONS]->(x) RETURN x.name AS name ORDER BY name")
    assert [row["name"] for row in mentioned] == ["Aoi", "Taro"]


def test_a_search_of_plain_graphiti_finds_it_by_words_of_either_language_and_by_its_vector(
    graph: ConversationDependencies, server: Neo4jServer
) -> None:
    remember(graph, BOAT, FISH, told(CHILDREN), episode=talked("c1"))
    deliver(graph, AOI)

    class Embeds(EmbedderClient):  # type: ignore[misc]  # graphiti_core is not typed for us
        async def create(self, input_data: Any) -> list[float]:
            text = input_data if isinstance(input_data, str) else input_data[0]
            vector: list[float] = (await FakeEmbedder().query(text))[0].tolist()
            return vector

    class Keeps(CrossEncoderClient):  # type: ignore[misc]  # graphiti_core is not typed for us
        async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
            return [(one, 1.0) for one in passages]

    async def search(asked: str) -> str:
        connection = connection_to(server)
        graphiti = Graphiti(
            graph_driver=await connection.graphiti(),
            llm_client=OpenAIGenericClient(config=LLMConfig(api_key="none")),
            embedder=Embeds(),
            cross_encoder=Keeps(),
        )
        found = await graphiti.search(asked, group_ids=["main--aoi"], num_results=1)
        await connection.aclose()
        return str(found[0].fact)

    assert "sold his boat" in asyncio.run(search("who sold a boat"))
    assert CHILDREN in asyncio.run(search("子供"))


@pytest.mark.parametrize("kind", [Kind.FACT, Kind.OBSERVED, Kind.SELF, Kind.INSIGHT, Kind.MID_TERM])
def test_every_kind_of_memory_goes_there_and_none_lacks_a_vector(
    graph: ConversationDependencies, server: Neo4jServer, kind: Kind
) -> None:
    given = {"expires_at": TUESDAY, "level": "low"} if kind is Kind.MID_TERM else {}
    remember(graph, told("The well is dry", id="w", kind=kind, conversation_id="", **given))
    deliver(graph, AOI)
    (row,) = query(server, "MATCH ()-[e:RELATES_TO]->() RETURN e.kind AS kind, e.name AS name, e.invalid_at AS ends,"
                   " size(e.fact_embedding) AS wide")  # fmt: skip
    ends = moment(TUESDAY) if kind is Kind.MID_TERM else None
    assert (row["kind"], row["name"], row["wide"]) == (kind, kind.upper(), 64)
    assert (row["ends"] and row["ends"].to_native()) == ends


def test_a_memory_that_is_replaced_ends_there_and_nothing_is_written_twice(
    graph: ConversationDependencies, server: Neo4jServer
) -> None:
    remember(graph, told("The boat lies in the bay", id="old", about="boat", slot="place"), episode=talked("c1"))
    deliver(graph, AOI)
    later = {"conversation_id": "c2", "valid_from": TUESDAY, "known_from": TUESDAY, "about": "boat", "slot": "place"}
    remember(graph, told("The boat lies on the beach", id="new", **later), episode=talked("c2", TUESDAY))
    deliver(graph, AOI)
    deliver(graph, AOI)
    assert len(facts(server)) == 2
    for name in ("invalid_at", "expired_at"):
        assert property_of(server, "old", name).to_native() == moment(TUESDAY)
    assert property_of(server, "old", "replaced_by") == "new"
    assert property_of(server, "new", "invalid_at") is None
    assert len(query(server, EPISODES, group="main--aoi")) == 2
    assert query(server, "MATCH ()-[m:MENTIONS]->() RETURN count(m) AS n") == [{"n": 4}]


def test_only_what_was_written_since_goes_there_and_of_a_talk_all(graph: ConversationDependencies) -> None:
    remember(graph, BOAT, FISH, episode=talked("c1"))
    remember(graph, told("The sea is calm", conversation_id="c2"), episode=talked("c2", TUESDAY))
    deliver(graph, AOI)
    remember(graph, told("The wind has turned"))
    changes = graph.database.read_now(lambda s: read_changes(s, graph.worlds, AOI, is_whole=False))
    assert changes is not None
    assert sorted(one.memory.text for one in changes.facts) == sorted([BOAT.text, FISH.text, "The wind has turned"])
    assert [one.conversation_id for one in changes.episodes] == ["c1"]


def test_what_is_deleted_or_forgotten_goes_and_what_others_wrote_stays(
    graph: ConversationDependencies, server: Neo4jServer
) -> None:
    remember(graph, BOAT, FISH, episode=talked("c1"))
    remember(graph, told("Ken is ill", partner_id="ken", told_by="ken", conversation_id="c2"))
    remember(graph, told("Aoi sings", told_by="aoi"), group=TARO)
    deliver(graph, AOI, TARO)
    theirs = "{uuid: 'x', group_id: 'main--aoi', fact: 'Theirs', episodes: []}"
    query(server, f"MATCH (a:Entity {{group_id: 'main--aoi'}}) WITH a LIMIT 1 CREATE (a)-[:RELATES_TO {theirs}]->(a)")
    graph.database.write_now(lambda s: graph.memory.remove(s, AOI, Kind.FACT, "fish"))
    deliver(graph, AOI)
    assert len(facts(server)) == 3
    graph.database.write_now(lambda s: graph.memory.forget(s, AOI, "npc_taro"))
    deliver(graph, AOI)
    assert [one for one in facts(server) if one != "Theirs"] == [one for one in facts(server) if "Ken" in one]
    assert "Theirs" in facts(server)
    graph.database.write_now(lambda s: graph.memory.forget(s, AOI))
    graph.database.write_now(lambda s: s.delete(s.get_one(SummaryRow, AOI.key("c1"))))
    deliver(graph, AOI)
    assert query(server, "MATCH (n {group_id: 'main--aoi'}) RETURN count(n) AS n") == [{"n": 0}]
    assert len(facts(server, "main--npc_taro")) == 1


def test_a_world_that_is_removed_goes_and_nothing_of_it_waits(
    graph: ConversationDependencies, server: Neo4jServer
) -> None:
    remember(graph, BOAT, episode=talked("c1"))
    deliver(graph)
    graph.database.write_now(lambda s: forget_world(s, "main"))
    deliver(graph)
    assert query(server, "MATCH (n) RETURN count(n) AS n") == [{"n": 0}]
    assert graph.database.read_now(lambda s: s.exec(select(MemoryOwnerRow)).all()) == []


def test_a_graph_that_was_emptied_or_is_another_one_is_written_whole_at_the_next_write(
    graph: ConversationDependencies, server: Neo4jServer
) -> None:
    remember(graph, BOAT, episode=talked("c1"))
    deliver(graph, AOI)
    before = facts(server)
    empty(server)
    remember(graph, FISH)
    deliver(graph, AOI)
    assert set(before) < set(facts(server))


def test_a_branch_has_a_graph_of_its_own(graph: ConversationDependencies, server: Neo4jServer) -> None:
    remember(graph, BOAT, episode=talked("c1"))
    deliver(graph, AOI)
    rows = asyncio.run(rows_of(graph, "main"))
    graph.database.write_now(lambda s: branch(s, "main", rows, 0.0, "what-if"))
    deliver(graph)
    assert facts(server, "what-if--aoi") == facts(server) != []
    uuids = query(server, "MATCH ()-[e:RELATES_TO]->() RETURN DISTINCT e.uuid AS uuid")
    assert len(uuids) == 2


def widths(server: Neo4jServer) -> set[int]:
    """Of all vectors in Graphiti's own properties."""
    asked = (
        "MATCH ()-[e:RELATES_TO]->() WHERE e.fact_embedding IS NOT NULL RETURN size(e.fact_embedding) AS wide "
        "UNION ALL MATCH (n:Entity) WHERE n.name_embedding IS NOT NULL RETURN size(n.name_embedding) AS wide"
    )
    return {row["wide"] for row in query(server, asked)}


def test_no_width_of_vectors_stands_beside_another_before_or_after_all_is_embedded_anew(
    room: ConversationDependencies, server: Neo4jServer
) -> None:
    old, new = (with_graph(room, server, FakeEmbedder(name, wide)) for name, wide in (("old", 32), ("new", 64)))
    remember(old, BOAT, episode=talked("c1"))
    deliver(old, AOI)
    remember(new, FISH)
    deliver(new, AOI)
    assert widths(server) == {32}
    asyncio.run(new.memory.reembed())
    deliver(new, AOI)
    assert widths(server) == {64}
    assert query(server, "MATCH (n:Entity) WHERE n.name_embedding IS NULL RETURN n") == []


def test_without_an_embedder_there_are_no_vectors_and_the_later_ones_go_there(
    room: ConversationDependencies, server: Neo4jServer
) -> None:
    words = with_graph(room, server)
    remember(words, BOAT, episode=talked("c1"))
    deliver(words, AOI)
    assert (widths(server), len(facts(server))) == (set(), 1)
    vectors = with_graph(room, server, FakeEmbedder())
    asyncio.run(vectors.memory.fill_vectors(AOI, TUESDAY))
    assert asyncio.run(vectors.memory.pending_vectors(AOI, TUESDAY)) == 0
    deliver(vectors, AOI)
    assert widths(server) == {64}


def test_what_an_author_wrote_or_was_perceived_stands_bare(
    graph: ConversationDependencies, server: Neo4jServer
) -> None:
    seen = told("Taro mends a net", told_by=None, support=Support.PERCEIVED, source=Source.OBSERVATION)
    remember(graph, seen)
    deliver(graph, AOI)
    assert facts(server) == ["Taro mends a net"]


def test_reading_queries_use_an_index(graph: ConversationDependencies, server: Neo4jServer) -> None:
    on_graph(graph, lambda one: one.check())
    given = {"group": "main--aoi", "ids": ["a"], "rows": [{"fact_id": "a"}], "uuids": ["a"], "marks": [{"uuid": "a"}]}
    for name in ("_SET_FOUND", "_DELETE_SOME", "_ENTITIES", "_NO_FACT_VECTOR", "_MARK", "_HELD"):
        with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
            asked = driver.execute_query(f"EXPLAIN {getattr(projection, name)}", given, database_=server.database)
        plan = asked.summary.plan
        assert plan is not None
        assert not [kind for kind in _operators(plan) if "Scan" in kind and "Index" not in kind], name


def _operators(plan: dict[str, Any]) -> list[str]:
    return [plan["operatorType"], *(kind for child in plan.get("children", []) for kind in _operators(child))]


def test_replicas_that_write_the_same_at_once_write_it_once(
    room: ConversationDependencies, server: Neo4jServer
) -> None:
    replicas = [with_graph(room, server, FakeEmbedder()) for _ in range(4)]
    remember(replicas[0], BOAT, FISH, episode=talked("c1"))

    async def work() -> None:
        await asyncio.gather(*(Deliveries(one).work(AOI.job(JobKind.DELIVERY)) for one in replicas))
        for one in replicas:
            await graph_of(one).aclose()

    asyncio.run(work())
    counted = "MATCH (n:Episodic) WITH count(n) AS n MATCH ()-[e:RELATES_TO]->() RETURN n, count(e) AS e"
    assert query(server, counted) == [{"n": 1, "e": 2}]


def test_telemetry_is_off_and_no_env_file_is_loaded() -> None:
    script = (
        "import os, service.memory.graphiti.vendor, dotenv\n"
        "from graphiti_core.telemetry.telemetry import is_telemetry_enabled\n"
        "print(is_telemetry_enabled(), 'PYTHON_DOTENV_DISABLED' in os.environ)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "GRAPHITI_TELEMETRY_ENABLED"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_graphitis_own_full_text_is_made_with_the_cjk_analyzer_before_graphiti_makes_it(
    graph: ConversationDependencies, server: Neo4jServer
) -> None:
    on_graph(graph, lambda one: one.check())

    async def build() -> None:
        connection = connection_to(server)
        await (await connection.graphiti()).build_indices_and_constraints()
        await connection.aclose()

    asyncio.run(build())
    for name in ("edge_name_and_fact", "node_name_and_summary", "episode_content", "community_name"):
        (row,) = query(server, "SHOW INDEXES YIELD name, options WHERE name = $name RETURN options", name=name)
        assert row["options"]["indexConfig"]["fulltext.analyzer"] == "cjk"


# Faults


def refused(room: ConversationDependencies, connection: Neo4jConnection) -> GraphUnavailable:
    """What `check` raises."""
    away = with_graph(room, None, connection=connection)  # type: ignore[arg-type] # the connection is given

    def work(graph: Any) -> Any:
        return graph.check()

    with pytest.raises(GraphUnavailable) as caught:
        on_graph(away, work)
    return caught.value


def test_a_wrong_password_names_its_setting_and_is_not_told(
    room: ConversationDependencies, server: Neo4jServer
) -> None:
    wrong = "not-the-password"
    error = refused(room, Neo4jConnection(server.uri, server.user, SecretStr(wrong), server.database))
    assert "KATARIBE_MEMORY__NEO4J_PASSWORD" in error.facts["setting"]
    report = "".join(traceback.format_exception(error))
    assert wrong not in report
    assert server.password not in report


def test_a_database_that_is_not_there_names_its_setting(room: ConversationDependencies, server: Neo4jServer) -> None:
    error = refused(room, Neo4jConnection(server.uri, server.user, SecretStr(server.password), "nowhere"))
    assert error.facts["setting"] == "KATARIBE_MEMORY__NEO4J_DATABASE"


@pytest.mark.parametrize("uri", ["http://127.0.0.1:1", "nonsense", "bolt://"])
def test_an_address_that_is_none_names_its_setting(room: ConversationDependencies, uri: str) -> None:
    error = refused(room, Neo4jConnection(uri, "neo4j", SecretStr("password"), "neo4j"))
    assert error.facts["setting"] == "KATARIBE_MEMORY__NEO4J_URI"


@pytest.mark.parametrize(
    ("agent", "number"),
    [("Neo4j/5.26.30", 5), ("Neo4j/2025.01.0", 2025), ("Neo4j/4.4.41", 4), ("Memgraph/3", 0), ("", 0)],
)
def test_the_version_is_read_from_what_the_server_calls_itself(agent: str, number: int) -> None:
    assert major(agent) == number
