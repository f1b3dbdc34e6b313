"""Owns the proof that Graphiti on a real Neo4j is a MemoryStore, and how it behaves when the server does not."""

import asyncio
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import neo4j
import pytest
from pydantic import SecretStr

from service.errors import GraphUnavailable
from service.memory.embedding.embedder import Embedder
from service.memory.graphiti.connection import Neo4jConnection, major
from service.memory.graphiti.graph import GraphitiMemory
from service.memory.graphiti.groups import QUERIES as GROUP_QUERIES
from service.memory.graphiti.read import QUERIES
from service.memory.graphiti.rows import fact_uuid, moment
from service.memory.graphiti.vendor import EntityEdge, EntityNode, EpisodicNode
from service.memory.record import Episode, FactDraft, Group
from service.store.session import Database
from tests.memory.contract import (
    MONDAY,
    TARO,
    TOWN,
    TUESDAY,
    WEDNESDAY,
    HeardContract,
    draft,
    episode,
    statements,
    tell,
)
from tests.memory.fading import FADING, FadingContract
from tests.memory.fake_embedder import FakeEmbedder
from tests.servers.neo4j import Neo4jServer
from tests.servers.sqlite import put_migrated

pytestmark = pytest.mark.server

ALL_QUERIES = {**QUERIES, **GROUP_QUERIES}


def connection_to(server: Neo4jServer) -> Neo4jConnection:
    """A connection by our settings."""
    return Neo4jConnection(server.uri, server.user, SecretStr(server.password), server.database)


def graph_on(
    server: Neo4jServer, embedder: Embedder | None = None, database: Database | None = None, **named: str
) -> GraphitiMemory:
    """A graph on that server; `database` is only asked for turns and worlds."""
    return graph_with(connection_to(server), embedder, database, **named)


def graph_with(
    connection: Neo4jConnection,
    embedder: Embedder | None = None,
    database: Database | None = None,
    installation: str = "ours",
    prefix: str = "",
) -> GraphitiMemory:
    """A graph on that connection; one that is given no database has an empty one."""
    return GraphitiMemory(database or _empty_database(), connection, embedder, installation=installation, prefix=prefix)


@cache
def _empty_database() -> Database:
    home = Path(tempfile.mkdtemp(prefix="kataribe-graph-"))
    atexit.register(shutil.rmtree, home)
    put_migrated(home / "kataribe.db")
    database = Database(f"sqlite:///{home / 'kataribe.db'}")
    atexit.register(database.close)
    return database


def empty(server: Neo4jServer) -> None:
    """Remove all data; the indexes stay."""
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n", database_=server.database)


class TestMemoryStore(HeardContract):
    """With vectors, which Neo4j keeps; that words alone suffice is the index's affair (tests/memory/test_sql.py)."""

    @pytest.fixture(autouse=True)
    def _empty(self, neo4j_server: Neo4jServer) -> None:
        empty(neo4j_server)
        self.server = neo4j_server

    def new_store(self) -> GraphitiMemory:
        return graph_on(self.server, FakeEmbedder(), self.database)


class TestFading(FadingContract):
    """What fades there, and in our own database beside it."""

    @pytest.fixture(autouse=True)
    def _empty(self, neo4j_server: Neo4jServer) -> None:
        empty(neo4j_server)
        self.server = neo4j_server

    def new_store(self) -> GraphitiMemory:
        return GraphitiMemory(
            self.database, connection_to(self.server), FakeEmbedder(), installation="ours", fading=FADING
        )


class To:
    """A graph that is delivered to at once, without an outbox."""

    def __init__(self, graph: GraphitiMemory) -> None:
        self._graph = graph

    async def remember(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        await self._graph.deliver(group, episode, facts)


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run an async test."""

    async def awaited() -> None:
        await work()

    asyncio.run(awaited())


def query(server: Neo4jServer, cypher: str, **given: Any) -> list[neo4j.Record]:
    """What the server itself answers."""
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        records: list[neo4j.Record] = driver.execute_query(cypher, given, database_=server.database).records
        return records


@pytest.fixture
def server(neo4j_server: Neo4jServer) -> Neo4jServer:
    """The session's server, without data."""
    empty(neo4j_server)
    return neo4j_server


# Two replicas


def test_what_one_replica_writes_closes_and_forgets_the_other_knows_at_once(server: Neo4jServer) -> None:
    async def work() -> None:
        here, there = graph_on(server, FakeEmbedder()), graph_on(server, FakeEmbedder())
        (fisher,) = await tell(To(here), TARO, "c1", MONDAY, "太郎は漁師だ")
        assert statements(await there.recall(TARO, "太郎の仕事", at=MONDAY)) == ["太郎は漁師だ"]
        heard = episode(TARO, "c2", TUESDAY)
        await here.deliver(TARO, heard, [draft(heard, 0, "太郎は大工だ", replaces=(fisher,))])
        assert statements(await there.recall(TARO, "太郎の仕事", at=TUESDAY)) == ["太郎は大工だ"]
        await here.erase(TARO)
        await tell(To(here), TARO, "c3", TUESDAY, "太郎は村長だ")
        assert statements(await there.recall(TARO, "太郎の仕事", at=TUESDAY)) == ["太郎は村長だ"]
        await here.aclose()
        await there.aclose()

    run(work)


def test_two_replicas_that_write_the_same_episode_at_once_write_it_once(server: Neo4jServer) -> None:
    async def work() -> None:
        replicas = [graph_on(server, FakeEmbedder()) for _ in range(4)]
        heard = episode(TARO, "c1", MONDAY)
        told = [draft(heard, index, text) for index, text in enumerate(TOWN)]
        await asyncio.gather(*(one.deliver(TARO, heard, told) for one in replicas))
        assert len((await replicas[0].export(TARO)).facts) == len(TOWN)
        for one in replicas:
            await one.aclose()

    run(work)
    assert query(server, "MATCH (n:Episodic) RETURN count(n) AS n")[0]["n"] == 1
    assert query(server, "MATCH ()-[e:RELATES_TO]->() RETURN count(e) AS n")[0]["n"] == len(TOWN)
    assert query(server, "MATCH ()-[e:MENTIONS]->() RETURN count(e) AS n")[0]["n"] == 2


# What Graphiti and others see


def test_graphiti_reads_what_we_wrote_with_world_time_as_utc(server: Neo4jServer) -> None:
    async def work() -> None:
        graph = graph_on(server, FakeEmbedder())
        (fisher,) = await tell(To(graph), TARO, "c1", MONDAY, "太郎は漁師だ")
        heard = episode(TARO, "c2", WEDNESDAY)
        await graph.deliver(TARO, heard, [draft(heard, 0, "太郎は大工だ", valid_at=TUESDAY, replaces=(fisher,))])
        await graph.aclose()
        connection = connection_to(server)
        driver = await connection.graphiti()
        edge = await EntityEdge.get_by_uuid(driver, fact_uuid(TARO, fisher))
        assert (edge.fact, edge.name, edge.group_id) == ("太郎は漁師だ", "SAID", "main--taro")
        assert (edge.valid_at, edge.invalid_at, edge.expired_at) == (moment(MONDAY), moment(TUESDAY), moment(WEDNESDAY))
        assert edge.attributes["replaced_by"] == draft(heard, 0, "").id
        (old, new) = await EpisodicNode.get_by_group_ids(driver, [TARO.id])
        assert {old.valid_at, new.valid_at} == {moment(MONDAY), moment(WEDNESDAY)}
        assert old.source_description == "hanako"
        entities = await EntityNode.get_by_group_ids(driver, [TARO.id])
        assert {one.name for one in entities} == {"太郎", "花子"}
        await connection.aclose()

    run(work)


def test_telemetry_is_off_and_no_env_file_is_loaded() -> None:
    script = (
        "import os, service.memory.graphiti.vendor, dotenv\n"
        "from graphiti_core.telemetry.telemetry import is_telemetry_enabled\n"
        "print(is_telemetry_enabled(), 'PYTHON_DOTENV_DISABLED' in os.environ)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "GRAPHITI_TELEMETRY_ENABLED"}
    told = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "False"]


def test_graphitis_own_full_text_is_made_with_the_cjk_analyzer_before_graphiti_makes_it(server: Neo4jServer) -> None:
    async def work() -> None:
        graph = graph_on(server)
        await tell(To(graph), TARO, "c1", MONDAY, "太郎は既婚者で子供が2人いる", "嵐で橋が落ちた", subject="x", obj="y")
        await graph.aclose()
        connection = connection_to(server)
        await (await connection.graphiti()).build_indices_and_constraints()
        await connection.aclose()

    run(work)
    for name in ("edge_name_and_fact", "node_name_and_summary", "episode_content", "community_name"):
        (row,) = query(server, "SHOW INDEXES YIELD name, options WHERE name = $name RETURN options", name=name)
        assert row["options"]["indexConfig"]["fulltext.analyzer"] == "cjk"
    found = query(
        server,
        "CALL db.index.fulltext.queryRelationships('edge_name_and_fact', '太郎の家族') YIELD relationship AS e "
        "RETURN e.fact AS fact",
    )
    assert [row["fact"] for row in found] == ["太郎は既婚者で子供が2人いる"]


@pytest.mark.parametrize("name", sorted(ALL_QUERIES))
def test_no_query_scans_the_graph(server: Neo4jServer, name: str) -> None:
    async def work() -> None:
        graph = graph_on(server)
        old = await tell(To(graph), TARO, "c1", MONDAY, *TOWN)
        heard = episode(TARO, "c2", TUESDAY)
        new = [draft(heard, index, "新しい話", replaces=(one,)) for index, one in enumerate(old)]
        await graph.deliver(TARO, heard, new)
        await graph.aclose()

    run(work)
    query(server, "CALL db.resampleOutdatedIndexes()")
    given = {
        "group": "g",
        "model": "m",
        "revision": 1,
        "uuid": "u",
        "starts": ["main--"],
        "installation": "ours",
        "embedder": "m",
        "dimensions": 64,
    }
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        summary = driver.execute_query(f"EXPLAIN {ALL_QUERIES[name]}", given, database_=server.database).summary
    assert summary.plan is not None
    scans = [kind for kind in operators(summary.plan) if "Scan" in kind]
    assert scans == []
    assert any("Seek" in kind or "ProcedureCall" in kind for kind in operators(summary.plan))


def operators(plan: dict[str, Any]) -> list[str]:
    """The operators of a plan."""
    return [plan["operatorType"], *(kind for child in plan.get("children", []) for kind in operators(child))]


# Faults


def refused(graph: GraphitiMemory) -> GraphUnavailable:
    """What `check` raises."""
    found: list[GraphUnavailable] = []

    async def work() -> None:
        with pytest.raises(GraphUnavailable) as caught:
            await graph.check()
        found.append(caught.value)
        await graph.aclose()

    run(work)
    return found[0]


def test_a_wrong_password_names_its_setting_and_is_not_told(server: Neo4jServer) -> None:
    wrong = "not-the-password"
    connection = Neo4jConnection(server.uri, server.user, SecretStr(wrong), server.database)
    error = refused(graph_with(connection))
    assert "KATARIBE_MEMORY__NEO4J_PASSWORD" in error.facts["setting"]
    told = "".join(traceback.format_exception(error))
    assert wrong not in told
    assert server.password not in told


def test_a_database_that_is_not_there_names_its_setting(server: Neo4jServer) -> None:
    error = refused(graph_with(Neo4jConnection(server.uri, server.user, SecretStr(server.password), "nowhere")))
    assert error.facts["setting"] == "KATARIBE_MEMORY__NEO4J_DATABASE"


@pytest.mark.parametrize("uri", ["http://127.0.0.1:1", "nonsense", "bolt://"])
def test_an_address_that_is_none_names_its_setting(uri: str) -> None:
    error = refused(graph_with(Neo4jConnection(uri, "neo4j", SecretStr("password"), "neo4j")))
    assert error.facts["setting"] == "KATARIBE_MEMORY__NEO4J_URI"


@pytest.mark.parametrize(
    ("agent", "number"),
    [("Neo4j/5.26.30", 5), ("Neo4j/2025.01.0", 2025), ("Neo4j/4.4.41", 4), ("Memgraph/3", 0), ("", 0)],
)
def test_the_version_is_read_from_what_the_server_calls_itself(agent: str, number: int) -> None:
    assert major(agent) == number


# What others write into a group


async def plain(server: Neo4jServer, name: str, *edges: EntityEdge) -> None:
    """Write as plain graphiti-core does: entities and facts with its own uuids and the machine's clock."""
    connection = connection_to(server)
    driver = await connection.graphiti()
    now = datetime.now(UTC)
    for key in ("taro", "harbour"):
        node = EntityNode(uuid=f"{name}-{key}", name=key, group_id=TARO.id, created_at=now, name_embedding=[1.0])
        await node.save(driver)
    for edge in edges:
        await edge.save(driver)
    await connection.aclose()


def plain_edge(name: str, fact: str, *, of: str = "a", **given: Any) -> EntityEdge:
    """A fact of plain graphiti-core's, between the entities that `plain` writes under that name."""
    return EntityEdge(
        uuid=name,
        group_id=TARO.id,
        source_node_uuid=f"{of}-taro",
        target_node_uuid=f"{of}-harbour",
        name="LIVES_AT",
        fact=fact,
        fact_embedding=[1.0],
        created_at=datetime.now(UTC),
        **given,
    )


@pytest.mark.parametrize("known", [True, False], ids=["a group of ours", "a group of theirs alone"])
@pytest.mark.parametrize("embedder", [None, FakeEmbedder()], ids=["words", "vectors"])
def test_a_fact_that_plain_graphiti_wrote_is_found_by_the_next_recall_and_stays(
    server: Neo4jServer, *, known: bool, embedder: FakeEmbedder | None
) -> None:
    async def work() -> None:
        here, there = graph_on(server, embedder), graph_on(server, embedder)
        if known:
            await tell(To(here), TARO, "c1", MONDAY, "太郎は漁師だ")
            assert len(await there.recall(TARO, "", at=TUESDAY)) == 1
        before = plain_edge("x1", "Taro moved to the harbour", reference_time=moment(MONDAY))
        future = plain_edge("x2", "Taro has a red boat at the harbour", valid_at=datetime.now(UTC))
        await plain(server, "a", before, future)
        for graph in (here, there, here):
            found = await graph.recall(TARO, "the harbour", at=TUESDAY, about="Harbour")
            assert {one.fact.id for one in found} == {"x1", "x2"}
        facts = {one.fact.id: one.fact for one in found}
        assert (facts["x1"].subject, facts["x1"].object, facts["x1"].relation) == ("taro", "harbour", "LIVES_AT")
        assert (facts["x1"].created_at, facts["x1"].valid_at) == (MONDAY, MONDAY)
        assert (facts["x2"].created_at, facts["x2"].valid_at) == (TUESDAY, TUESDAY)
        assert (facts["x2"].partner_id, facts["x2"].conversation_id, facts["x2"].turn) == ("", "", None)
        assert len((await here.export(TARO)).facts) == 2 + known
        heard = episode(TARO, "c2", WEDNESDAY)
        await here.deliver(TARO, heard, [draft(heard, 0, "Taro moved to the hill", replaces=("x1",))])
        assert {one.fact.id for one in await there.recall(TARO, "Taro harbour", at=WEDNESDAY)} >= {"x2"}
        assert "x1" not in {one.fact.id for one in await there.recall(TARO, "", at=WEDNESDAY)}
        for graph in (here, there):
            await graph.aclose()

    run(work)


def test_what_others_closed_or_removed_is_noticed_with_what_they_wrote(server: Neo4jServer) -> None:
    async def work() -> None:
        graph = graph_on(server, FakeEmbedder())
        fisher, old = await tell(To(graph), TARO, "c1", MONDAY, "太郎は漁師だ", "太郎は若い")
        assert len(await graph.recall(TARO, "", at=TUESDAY)) == 2
        query(
            server,
            "MATCH ()-[e:RELATES_TO {fact_id: $id}]->() SET e.invalid_at = datetime(), e.expired_at = datetime()",
            id=fisher,
        )
        await plain(server, "a", plain_edge("x1", "太郎は大工だ"))
        held = {one.fact.id for one in await graph.recall(TARO, "", at=TUESDAY)}
        assert held == {"x1", old}
        closed = {one.id: one for one in (await graph.export(TARO)).facts}[fisher]
        assert (closed.invalid_at, closed.expired_at) == (TUESDAY, TUESDAY)
        query(server, "MATCH ()-[e:RELATES_TO {fact_id: $id}]->() DELETE e", id=old)
        await plain(server, "b", plain_edge("x2", "太郎は足が速い", of="b"), plain_edge("x3", "太郎は歌う", of="b"))
        assert {one.fact.id for one in await graph.recall(TARO, "", at=TUESDAY)} == {"x1", "x2", "x3"}
        query(server, "MATCH ()-[e:RELATES_TO {fact_id: 'x3'}]->() DELETE e")
        assert {one.fact.id for one in await graph.recall(TARO, "", at=TUESDAY)} == {"x1", "x2"}
        await graph.aclose()

    run(work)
