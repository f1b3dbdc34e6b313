"""What fades, in the service's own database, on SQLite and PostgreSQL."""

import asyncio

from service.memory.index import IndexCache
from service.memory.sql import SqlMemory
from service.store.session import Database
from tests.memory.contract import TARO
from tests.memory.fading import FADING, FadingContract, day, found, talked
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.memories import Memory


def test_a_memory_held_for_years_is_as_big_as_what_is_remembered(database: Database) -> None:
    async def scenario() -> None:
        indexes = IndexCache()
        memory = Memory(SqlMemory(database, None, indexes, FADING), database)
        sizes = []
        for number in range(60):
            await talked(memory, f"c{number}", number, f"The lighthouse is dark on day {number}")
            await found(memory, day(number))
            sizes.append(indexes.bytes)
        assert max(sizes[40:]) <= 1.1 * max(sizes[10:30])
        assert len(await memory.store.items(TARO, day(59), forgotten=True)) == 60 * 4

    asyncio.run(scenario())


class TestFading(FadingContract):
    def new_store(self) -> SqlMemory:
        return SqlMemory(self.database, FakeEmbedder(), fading=FADING)
