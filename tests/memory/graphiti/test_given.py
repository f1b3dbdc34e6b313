"""A past that is given, and what an author changes, on a real Neo4j."""

import pytest

from service.memory.graphiti.graph import GraphitiMemory
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.given import GivenContract
from tests.memory.graphiti.test_graph import empty, graph_on
from tests.servers.neo4j import Neo4jServer

pytestmark = pytest.mark.server


class TestByWordsAlone(GivenContract):
    @pytest.fixture(autouse=True)
    def _empty(self, neo4j_server: Neo4jServer) -> None:
        empty(neo4j_server)
        self.server = neo4j_server

    def new_store(self) -> GraphitiMemory:
        return graph_on(self.server, None, self.database)


class TestWithAnEmbedder(TestByWordsAlone):
    def new_store(self) -> GraphitiMemory:
        return graph_on(self.server, FakeEmbedder(), self.database)
