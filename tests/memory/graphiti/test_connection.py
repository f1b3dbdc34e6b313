"""Owns the tests of patience with a Neo4j that is away."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from service.errors import GraphUnavailable, MemoryOfAnother
from service.memory.graphiti.connection import URI, Neo4jConnection
from tests.servers.neo4j import Neo4jServer


class Away:
    """A server that hangs up on everybody; `asked` counts."""

    def __init__(self) -> None:
        self.asked = 0
        self.now = 0.0

    async def hang_up(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += 1
        writer.close()


def with_away(work: Callable[[Neo4jConnection, Away], Awaitable[None]]) -> None:
    """Do the work with a connection to a server that is away."""

    async def lived() -> None:
        away = Away()
        async with await asyncio.start_server(away.hang_up, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            uri, password = f"bolt://127.0.0.1:{port}", SecretStr("secret")
            connection = Neo4jConnection(uri, "neo4j", password, "neo4j", seconds=lambda: away.now)
            await work(connection, away)
            await connection.aclose()

    asyncio.run(lived())


async def refused(asked: Awaitable[object]) -> None:
    with pytest.raises(GraphUnavailable) as told:
        await asked
    assert told.value.facts["setting"] == URI


def test_who_asks_while_it_rests_is_told_the_same_at_once_and_it_is_asked_again_after_the_rest() -> None:
    async def work(connection: Neo4jConnection, away: Away) -> None:
        await refused(connection.read("RETURN 1"))
        first = away.asked
        for away.now in (1.0, 2.9):
            await refused(connection.read("RETURN 1"))
        assert away.asked == first > 0
        away.now = 3.0
        await refused(connection.read("RETURN 1"))
        assert away.asked > first

    with_away(work)


def test_a_check_asks_even_while_it_rests() -> None:
    async def work(connection: Neo4jConnection, away: Away) -> None:
        await refused(connection.read("RETURN 1"))
        first = away.asked
        await refused(connection.check())
        assert away.asked > first

    with_away(work)


@pytest.mark.server
def test_a_group_that_is_another_installations_spoils_no_other_group(neo4j_server: Neo4jServer) -> None:
    async def lived() -> None:
        password = SecretStr(neo4j_server.password)
        connection = Neo4jConnection(neo4j_server.uri, neo4j_server.user, password, neo4j_server.database)

        async def taken(_: object) -> None:
            raise MemoryOfAnother(backend="neo4j", reason="", setting="", group_id="main--aoi", world_id="main")

        with pytest.raises(MemoryOfAnother):
            await connection.write(taken)
        assert [record["one"] for record in await connection.read("RETURN 1 AS one")] == [1]
        await connection.aclose()

    asyncio.run(lived())


@pytest.mark.server
def test_what_is_read_as_the_connection_breaks_is_read_over_a_new_one(neo4j_server: Neo4jServer) -> None:
    open_now: list[asyncio.StreamWriter] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while said := await reader.read(2**16):
            writer.write(said)
        writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = urlsplit(neo4j_server.uri)
        its_reader, its_writer = await asyncio.open_connection(there.hostname, there.port)
        open_now.extend((writer, its_writer))
        with suppress(ConnectionError):
            await asyncio.gather(pass_on(reader, its_writer), pass_on(its_reader, writer))

    async def lived() -> None:
        async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
            uri = f"bolt://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            connection = Neo4jConnection(
                uri, neo4j_server.user, SecretStr(neo4j_server.password), neo4j_server.database
            )
            assert [row["n"] for row in await connection.read("RETURN $n AS n", n=1)] == [1]
            before = len(open_now)
            for one in open_now:
                one.transport.abort()
            assert [row["n"] for row in await connection.read("RETURN $n AS n", n=2)] == [2]
            assert len(open_now) > before
            await connection.aclose()
            for one in open_now:
                one.close()
                with suppress(ConnectionError):
                    await one.wait_closed()

    asyncio.run(lived())
