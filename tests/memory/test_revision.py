"""The row of a person that remembers: what locks it, what counts it up, and when a memory is read anew."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from service.export.story import StorySpan, read_story, story, written
from service.memory.embedding.embedder import Vectors
from service.memory.memory_store import MemoryStore
from service.memory.record import Kind, State, next_revision, state_of
from service.store.session import Database
from service.store.tables import MemoryRow, SummaryRow
from tests.export.stories import BEGUN, NOW
from tests.export.stories import tell as tell_story
from tests.memory.contract import FISH, HANAKO, MONDAY, TARO, TOWN, TUESDAY, draft, episode, tell, texts
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.memories import Store
from tests.servers.sqlite import put_migrated


@pytest.fixture
def beside(database: Database) -> Iterator[Database]:
    """The same database as another process opens it."""
    other = Database(database.url.render_as_string(hide_password=False))
    yield other
    other.close()


def state(database: Database) -> State:
    """How far Taro's memory is."""
    found = database.read_now(lambda s: state_of(s, TARO))
    assert found is not None
    return found


def test_each_writing_transaction_counts_up_once_and_what_it_writes_bears_its_revision(database: Database) -> None:
    async def scenario() -> None:
        memory = Store(MemoryStore(database), database)
        (fisher,) = await tell(memory, TARO, "c1", MONDAY, "太郎は漁師だ")
        await tell(memory, HANAKO, "c1", MONDAY, FISH)
        heard = episode(TARO, "c2", TUESDAY)
        await memory.remember(TARO, heard, [draft(heard, 0, "太郎は大工だ", replaces=(fisher,)), draft(heard, 1, FISH)])

    asyncio.run(scenario())
    assert state(database).revision == 2

    def revisions(table: type[MemoryRow | SummaryRow]) -> list[int]:
        mine = select(table.revision).where(table.person_id == TARO.person_id)
        return sorted(database.read_now(lambda s: list(s.exec(mine))))

    assert (revisions(MemoryRow), revisions(SummaryRow)) == ([2, 2, 2], [1, 2])


def test_no_two_transactions_of_two_processes_get_the_same_revision(database: Database, beside: Database) -> None:
    def count_up(number: int) -> int:
        where = (database, beside)[number % 2]
        return where.write_now(lambda s: next_revision(s, TARO))

    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(count_up, range(40)))
    assert sorted(given) == list(range(1, 41))
    assert state(beside) == state(database)


def test_a_replica_that_asks_all_the_time_misses_nothing_of_what_others_write(
    database: Database, beside: Database
) -> None:
    async def scenario() -> None:
        here, there = Store(MemoryStore(database), database), Store(MemoryStore(beside), beside)

        async def write(number: int) -> None:
            await tell((here, there)[number % 2], TARO, f"c{number}", MONDAY, f"太郎の{number}番目の話")

        async def ask() -> None:
            for memory in (here, there) * 10:
                await memory.recall(TARO, "太郎", at=MONDAY, limit=100)

        await asyncio.gather(*(write(number) for number in range(20)), ask())
        for memory in (here, there):
            assert len(await memory.recall(TARO, "太郎", at=MONDAY, limit=100)) == 20

    asyncio.run(scenario())


def test_what_one_replica_writes_closes_and_forgets_the_other_knows_at_once(
    database: Database, beside: Database
) -> None:
    async def scenario() -> None:
        here, there = (Store(MemoryStore(one, FakeEmbedder()), one) for one in (database, beside))
        (fisher,) = await tell(here, TARO, "c1", MONDAY, "太郎は漁師だ")
        assert texts(await there.recall(TARO, "太郎の仕事", at=MONDAY)) == ["太郎は漁師だ"]
        heard = episode(TARO, "c2", TUESDAY)
        await here.remember(TARO, heard, [draft(heard, 0, "太郎は大工だ", replaces=(fisher,))])
        assert texts(await there.recall(TARO, "太郎の仕事", at=TUESDAY)) == ["太郎は大工だ"]
        before = state(beside).epoch
        await here.forget(TARO)
        assert state(beside).epoch != before
        assert await there.recall(TARO, "太郎の仕事", at=TUESDAY) == []
        await tell(here, TARO, "c3", TUESDAY, "太郎は村長だ")
        assert texts(await there.recall(TARO, "太郎の仕事", at=TUESDAY)) == ["太郎は村長だ"]

    asyncio.run(scenario())


def test_what_a_story_brings_that_is_read_in_is_known_to_who_held_the_memory_before(
    database: Database, beside: Database, tmp_path: Path
) -> None:
    lines = story_of_taro(tmp_path)

    async def scenario() -> None:
        here, there = Store(MemoryStore(database), database), Store(MemoryStore(beside), beside)
        assert await there.recall(TARO, "潮", at=NOW, kinds=set(Kind)) == []
        await here.database.write(lambda s: read_story(s, "main", tmp_path / "story.jsonl", lines))
        found = await there.recall(TARO, "潮", at=NOW, kinds=set(Kind))
        assert {type(one.item).__name__ for one in found} == {"Episode", "HeardTurn"}

    asyncio.run(scenario())


def story_of_taro(directory: Path) -> list[bytes]:
    """An export in which Taro has talked of the tide."""
    turn: dict[str, Any] = {
        "speaker_id": "taro",
        "speaker_name": "太郎",
        "text": "潮が引く前に。",
        "emotion": "neutral",
        "at": BEGUN + 10,
        "model": "scripted",
        "calls": 1,
        "prompt_tokens": 1,
        "completion_tokens": 1,
        "duration_ms": 1,
    }
    talk: dict[str, Any] = {
        "character_id": "taro",
        "npc_id": "npc_taro",
        "node_id": "quay",
        "language": "ja",
        "max_turns": 10,
        "phase": "closed",
        "started_at": BEGUN + 10,
        "ended_at": BEGUN + 12,
        "closed_at": BEGUN + 12,
        "models": {},
    }
    told = {"events": [], "conversations": {"a1": (talk, [turn], {"taro": ("潮の話をした。", BEGUN + 12)})}}
    put_migrated(directory / "told.db")
    database = Database(f"sqlite:///{directory / 'told.db'}")
    database.write_now(lambda s: tell_story(s, told))
    names: Any = {"en": "Shione", "ja": "汐音"}
    lines = database.read_now(lambda s: [written(line) for line in story(s, "main", names, StorySpan(), place="here")])
    database.close()
    return lines


def test_no_text_is_embedded_while_a_transaction_is_open(database: Database) -> None:
    class Watchful(FakeEmbedder):
        async def passages(self, texts: Sequence[str]) -> Vectors:
            assert database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # the pools of ours count
            return await super().passages(texts)

    async def scenario() -> None:
        embedder = Watchful()
        memory = Store(MemoryStore(database, embedder), database)
        await tell(memory, TARO, "c1", MONDAY, *TOWN)
        embedder.failing = True
        await tell(memory, TARO, "c2", MONDAY, "港に船が着いた")
        embedder.failing = False
        await memory.store.fill_vectors(TARO, MONDAY)  # as the job does that runs until it could
        assert texts(await memory.recall(TARO, "港の船", at=MONDAY))[0] == "港に船が着いた"
        assert set(embedder.embedded) >= {*TOWN, "港に船が着いた"}

    asyncio.run(scenario())
