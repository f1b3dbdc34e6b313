"""Owns the tests of whose a group in Neo4j is: two installations on one server never share a memory by accident."""

import asyncio

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.errors import MemoryOfAnother
from service.memory.projection import project_anew
from service.store.budget import installation
from service.store.jobs import JobKind
from service.store.session import Database
from tests.memory.graphiti.graphs import (
    AOI,
    TARO,
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
from tests.runtime.trying import job
from tests.servers.neo4j import Neo4jServer

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def _empty(neo4j_server: Neo4jServer) -> None:
    empty(neo4j_server)


def two(room: ConversationDependencies, server: Neo4jServer) -> tuple[ConversationDependencies, ...]:
    """What theirs has written, ours is to write."""
    theirs, ours = (with_graph(room, server, installation=name) for name in ("theirs", "ours"))
    remember(theirs, told("Taro is a fisher"), episode=talked("c1"))
    deliver(theirs, AOI)
    remember(ours, told("Taro is a smith"), told("Aoi sings"))
    return theirs, ours


def test_a_group_of_another_installation_is_not_changed_and_both_ways_out_are_named(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    _, ours = two(room, neo4j_server)
    before = facts(neo4j_server)
    with pytest.raises(MemoryOfAnother) as refused:
        on_graph(ours, lambda graph: graph.check())
    for language in ("en", "ja"):
        sentence = refused.value.sentence(language)
        for way_out in ("main--aoi", "kataribe memory adopt --world main", "kataribe memory purge --world main"):
            assert way_out in sentence
    deliver(ours, AOI)
    ours.database.write_now(lambda s: ours.memory.forget(s, AOI))
    deliver(ours, AOI)
    assert facts(neo4j_server) == before
    row = job(ours, JobKind.DELIVERY, "aoi")
    assert row is not None
    assert row.tries == 2
    assert "main--aoi" in row.last_error


def test_what_is_adopted_is_written_anew_and_is_the_others_no_more(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    theirs, ours = two(room, neo4j_server)
    remember(theirs, told("Ken is ill"), group=TARO)
    deliver(theirs, TARO)
    assert on_graph(ours, lambda graph: graph.take_over("main")) == 2
    ours.database.write_now(lambda s: project_anew(s, "main"))
    on_graph(ours, lambda graph: graph.check())
    deliver(ours, AOI)
    assert len(facts(neo4j_server)) == 3
    with pytest.raises(MemoryOfAnother):
        on_graph(theirs, lambda graph: graph.check())


def test_what_is_purged_is_gone_and_nothing_else_is(room: ConversationDependencies, neo4j_server: Neo4jServer) -> None:
    _, ours = two(room, neo4j_server)
    remember(ours, told("Ken is ill"), group=TARO)
    deliver(ours, TARO)
    assert on_graph(ours, lambda graph: graph.purge("main")) == 1
    on_graph(ours, lambda graph: graph.check())
    assert facts(neo4j_server) == []
    assert len(facts(neo4j_server, "main--npc_taro")) == 1


def test_a_prefix_keeps_two_installations_apart_on_one_server(
    room: ConversationDependencies, neo4j_server: Neo4jServer
) -> None:
    theirs, _ = two(room, neo4j_server)
    prefixed = with_graph(
        room, neo4j_server, installation="other", prefix="main"
    )  # a prefix may be called like a world
    assert [graph_of(one).group_id(AOI) for one in (theirs, prefixed)] == ["main--aoi", "main--main--aoi"]
    prefixed.database.write_now(lambda s: project_anew(s, "main"))
    deliver(prefixed, AOI)
    on_graph(prefixed, lambda graph: graph.check())
    assert len(facts(neo4j_server, "main--main--aoi")) == 3
    assert len(facts(neo4j_server, "main--aoi")) == 1
    asyncio.run(graph_of(prefixed).aclose())
    ids = {row["id"] for row in query(neo4j_server, "MATCH (g:KataribeGroup) RETURN g.id AS id")}
    assert ids == {"main--aoi", "main--main--aoi"}


def test_an_installation_keeps_its_id_and_two_have_two(
    database: Database, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = database.write_now(lambda s: installation(s).id)
    assert database.write_now(lambda s: installation(s).id) == first
    other = Database(f"sqlite:///{tmp_path_factory.mktemp('other') / 'kataribe.db'}")
    other.migrate()
    assert other.write_now(lambda s: installation(s).id) != first
    other.close()
