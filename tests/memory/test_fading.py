"""What fades, in the service's own database, on SQLite and PostgreSQL."""

from service.memory.sql import SqlMemory
from tests.memory.fading import FADING, FadingContract
from tests.memory.fake_embedder import FakeEmbedder


class TestFading(FadingContract):
    def new_store(self) -> SqlMemory:
        return SqlMemory(self.database, FakeEmbedder(), fading=FADING)
