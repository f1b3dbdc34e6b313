"""A past that is given, and what an author changes, in the service's own database, on SQLite and PostgreSQL."""

from service.memory.sql import SqlMemory
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.given import GivenContract


class TestByWordsAlone(GivenContract):
    def new_store(self) -> SqlMemory:
        return SqlMemory(self.database)


class TestWithAnEmbedder(GivenContract):
    def new_store(self) -> SqlMemory:
        return SqlMemory(self.database, FakeEmbedder())
