"""Owns the tests of whose a group in Neo4j is: two installations on one server never share a memory by accident."""

from collections.abc import Awaitable, Callable

import pytest

from service.errors import EmbedderChanged, MemoryOfAnother
from service.memory.graphiti.graph import GraphitiMemory
from service.memory.record import Group
from service.store.installation import installation_id
from service.store.session import Database
from service.store.tables import WorldRow
from tests.memory.contract import FAMILY, MONDAY, TARO, TARO_ELSEWHERE, TOWN, TUESDAY, draft, episode, statements, tell
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.graphiti.test_graph import To, empty, graph_on, query, run
from tests.servers.neo4j import Neo4jServer

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def _empty(neo4j_server: Neo4jServer) -> None:
    empty(neo4j_server)


def stores(server: Neo4jServer, database: Database, *named: dict[str, str]) -> list[GraphitiMemory]:
    """One memory for each installation."""
    return [graph_on(server, None, database, **one) for one in named]


async def _read(graph: GraphitiMemory) -> object:
    return await graph.recall(TARO, "", at=TUESDAY)


async def _write(graph: GraphitiMemory) -> None:
    heard = episode(TARO, "c2", TUESDAY)
    await graph.deliver(TARO, heard, [draft(heard, 0, "太郎は村長だ")])


@pytest.mark.parametrize(
    "touch",
    [
        GraphitiMemory.check,
        _read,
        _write,
        lambda graph: graph.export(TARO),
        lambda graph: graph.erase(TARO),
        lambda graph: graph.erase(TARO, "hanako"),
    ],
    ids=["check", "recall", "deliver", "export", "erase", "erase a partner"],
)
def test_a_group_of_another_installation_is_neither_read_nor_changed(
    neo4j_server: Neo4jServer, database: Database, touch: Callable[[GraphitiMemory], Awaitable[object]]
) -> None:
    async def work() -> None:
        theirs, ours = stores(neo4j_server, database, {"installation": "theirs"}, {"installation": "ours"})
        await tell(To(theirs), TARO, "c1", MONDAY, "太郎は漁師だ")
        with pytest.raises(MemoryOfAnother) as refused:
            await touch(ours)
        for language in ("en", "ja"):
            told = refused.value.sentence(language)
            for way_out in (
                "main--taro",
                "kataribe memory adopt --world main",
                "kataribe memory purge --world main",
                "KATARIBE_MEMORY__GROUP_PREFIX",
            ):
                assert way_out in told
        assert statements(await theirs.recall(TARO, "", at=TUESDAY)) == ["太郎は漁師だ"]
        assert [one.conversation_id for one in (await theirs.export(TARO)).episodes] == ["c1"]
        for one in (theirs, ours):
            await one.aclose()

    run(work)


def test_a_group_of_another_world_than_ours_keeps_nobody_from_being_ready(
    neo4j_server: Neo4jServer, database: Database
) -> None:
    async def work() -> None:
        theirs, ours = stores(neo4j_server, database, {"installation": "theirs"}, {"installation": "ours"})
        await tell(To(theirs), TARO_ELSEWHERE, "c1", MONDAY, "太郎は漁師だ")
        await ours.check()
        database.write_now(lambda s: s.add(WorldRow(id="other", language="en", started_at=0, now=0)))
        with pytest.raises(MemoryOfAnother, match="other--taro"):
            await ours.check()
        for one in (theirs, ours):
            await one.aclose()

    run(work)


def test_what_is_adopted_is_remembered_and_is_the_others_no_more(neo4j_server: Neo4jServer, database: Database) -> None:
    async def work() -> None:
        theirs, ours = stores(neo4j_server, database, {"installation": "theirs"}, {"installation": "ours"})
        await tell(To(theirs), TARO, "c1", MONDAY, "太郎は漁師だ")
        await tell(To(theirs), TARO_ELSEWHERE, "c1", MONDAY, "太郎は大工だ")
        assert await ours.adopt("main") == 1
        await ours.check()
        assert statements(await ours.recall(TARO, "", at=TUESDAY)) == ["太郎は漁師だ"]
        await _write(ours)
        with pytest.raises(MemoryOfAnother):
            await theirs.recall(TARO, "", at=TUESDAY)
        assert statements(await theirs.recall(TARO_ELSEWHERE, "", at=TUESDAY)) == ["太郎は大工だ"]
        for one in (theirs, ours):
            await one.aclose()

    run(work)


def test_what_is_purged_is_gone_and_nothing_else_is(neo4j_server: Neo4jServer, database: Database) -> None:
    async def work() -> None:
        theirs, ours = stores(neo4j_server, database, {"installation": "theirs"}, {"installation": "ours"})
        hanako = Group(world_id="main", person_id="hanako")
        await tell(To(theirs), TARO, "c1", MONDAY, "太郎は漁師だ")
        await tell(To(theirs), TARO_ELSEWHERE, "c1", MONDAY, "太郎は大工だ")
        await tell(To(ours), hanako, "c3", MONDAY, "花子は医者だ")
        assert await ours.purge("main") == 1
        await ours.check()
        assert await ours.recall(TARO, "", at=TUESDAY) == []
        assert statements(await ours.recall(hanako, "", at=TUESDAY)) == ["花子は医者だ"]
        assert statements(await theirs.recall(TARO_ELSEWHERE, "", at=TUESDAY)) == ["太郎は大工だ"]
        for one in (theirs, ours):
            await one.aclose()

    run(work)


def test_a_prefix_keeps_two_installations_apart_on_one_server(neo4j_server: Neo4jServer, database: Database) -> None:
    async def work() -> None:
        # A prefix may be called like a world.
        plain, prefixed = stores(
            neo4j_server, database, {"installation": "theirs"}, {"installation": "ours", "prefix": "main"}
        )
        in_main = Group(world_id="main", person_id="main")
        for group in (TARO, in_main):
            await tell(To(plain), group, "c1", MONDAY, "太郎は漁師だ")
            await tell(To(prefixed), group, "c1", MONDAY, "太郎は大工だ")
        assert (plain.group_id(TARO), prefixed.group_id(TARO)) == ("main--taro", "main--main--taro")
        for graph, told in ((plain, "太郎は漁師だ"), (prefixed, "太郎は大工だ")):
            await graph.check()
            assert statements(await graph.recall(TARO, "", at=TUESDAY)) == [told]
        await prefixed.erase(TARO)
        assert statements(await plain.recall(TARO, "", at=TUESDAY)) == ["太郎は漁師だ"]
        for one in (plain, prefixed):
            await one.aclose()

    run(work)
    ids = {row["id"] for row in query(neo4j_server, "MATCH (g:KataribeGroup) RETURN g.id AS id")}
    assert ids == {"main--taro", "main--main", "main--main--main"}


def widths(server: Neo4jServer) -> set[int]:
    """Of all vectors in Graphiti's own properties."""
    rows = query(
        server,
        "MATCH ()-[e:RELATES_TO]->() WHERE e.fact_embedding IS NOT NULL RETURN size(e.fact_embedding) AS wide "
        "UNION ALL MATCH (n:Entity) WHERE n.name_embedding IS NOT NULL RETURN size(n.name_embedding) AS wide",
    )
    return {row["wide"] for row in rows}


def test_a_changed_embedder_is_told_and_no_width_stands_beside_another_until_all_is_embedded_anew(
    neo4j_server: Neo4jServer, database: Database
) -> None:
    async def work() -> None:
        old, new = (
            graph_on(neo4j_server, embedder, database)
            for embedder in (FakeEmbedder("old", 32), FakeEmbedder("new", 64))
        )
        await tell(To(old), TARO, "c1", MONDAY, *TOWN)
        with pytest.raises(
            EmbedderChanged, match=r"main--taro was embedded by old \(32\), and new \(64\) is set"
        ) as refused:
            await new.check()
        assert "kataribe memory reembed" in refused.value.sentence("ja")
        await tell(To(new), TARO, "c2", TUESDAY, "風車が燃えた", subject="風車", obj="火")
        assert statements(await new.recall(TARO, "太郎の家族", at=TUESDAY))[0] == FAMILY
        assert widths(neo4j_server) == {32}
        assert (await new.reembed()).people == 1
        await new.check()
        assert widths(neo4j_server) == {64}
        assert statements(await new.recall(TARO, "太郎の家族", at=TUESDAY))[0] == FAMILY
        assert (await new.reembed()).people == 0
        with pytest.raises(EmbedderChanged):
            await old.check()
        for one in (old, new):
            await one.aclose()

    run(work)


def test_an_installation_keeps_its_id_and_two_have_two(
    database: Database, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = database.write_now(installation_id)
    assert database.write_now(installation_id) == first
    other = Database(f"sqlite:///{tmp_path_factory.mktemp('other') / 'kataribe.db'}")
    other.migrate()
    assert other.write_now(installation_id) != first
    other.close()
