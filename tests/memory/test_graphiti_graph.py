"""Owns the proof that Graphiti on a real Neo4j is a MemoryGraph, and how it behaves when the server does not."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from service.errors import GraphUnavailable
from service.memory.embed import Embedder
from service.memory.graphiti import GraphitiGraph
from tests.memory.contract import MemoryGraphContract
from tests.memory.fake_embedder import FakeEmbedder
from tests.servers.neo4j import Neo4jServer, neo4j_server

__all__ = ["neo4j_server"]

pytestmark = pytest.mark.server


def graph_on(server: Neo4jServer, embedder: Embedder | None = None, **given: Any) -> GraphitiGraph:
    """A graph of our settings on that server."""
    return GraphitiGraph(server.uri, server.user, SecretStr(server.password), server.database, embedder, **given)


def empty(server: Neo4jServer) -> None:
    """Remove all data; the indexes stay."""
    import neo4j

    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n", database_=server.database)


class TestWithoutEmbedder(MemoryGraphContract):
    @pytest.fixture(autouse=True)
    def _empty(self, neo4j_server: Neo4jServer) -> None:
        empty(neo4j_server)
        self.server = neo4j_server

    def new_graph(self, tmp_path: Path) -> GraphitiGraph:
        return graph_on(self.server)


class TestWithEmbedder(TestWithoutEmbedder):
    def new_graph(self, tmp_path: Path) -> GraphitiGraph:
        return graph_on(self.server, FakeEmbedder())
