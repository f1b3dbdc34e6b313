"""Owns the tests of short transactions: all or nothing, once more on a clash, nothing lost between writers."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select, update

from service.errors import Misconfigured
from service.store.session import Database
from service.store.tables import ConversationRow, EventRow, TurnRow, WorldRow
from tests.store.conversations import conversation_row, main


def _world(world_id: str = "main", now: int = 0) -> WorldRow:
    return WorldRow(id=world_id, language="en", started_at=0, now=now)


def _now(database: Database, world_id: str = "main") -> int | None:
    row = database.read_now(lambda s: s.get(WorldRow, world_id))
    return row.now if row else None


def test_a_write_that_raises_leaves_nothing(database: Database) -> None:
    def work(session: Session) -> None:
        session.add(_world())
        session.flush()
        session.add(EventRow(world_id="main", id=1, at=0, kind="x", data={}))
        raise KeyError("in the middle")

    with pytest.raises(KeyError):
        database.write_now(work)
    assert _now(database) is None
    assert database.read_now(lambda s: s.exec(select(EventRow)).all()) == []


def test_a_read_changes_nothing(database: Database) -> None:
    def work(session: Session) -> None:
        session.add(_world())
        session.flush()

    database.read_now(work)
    assert _now(database) is None


def test_a_write_that_clashes_is_done_once_more(database: Database) -> None:
    attempts: list[int] = []

    def work(session: Session) -> None:
        attempts.append(1)
        session.add(_world(now=len(attempts)))
        session.flush()
        if len(attempts) == 1:
            raise IntegrityError("INSERT", {}, Exception("another transaction has inserted the row"))

    database.write_now(work)
    assert (len(attempts), _now(database)) == (2, 2)


def test_a_write_that_clashes_twice_gives_up(database: Database) -> None:
    attempts: list[int] = []
    database.write_now(lambda s: s.add(_world()))

    def work(session: Session) -> None:
        attempts.append(1)
        session.add(_world())

    with pytest.raises(IntegrityError):
        database.write_now(work)
    assert len(attempts) == 2


def test_two_who_insert_the_same_row_at_once_both_succeed(database: Database) -> None:
    both = threading.Barrier(2, timeout=5)

    def work(session: Session) -> int:
        row = session.get(WorldRow, "main")
        if row is None and not database.is_sqlite and not both.broken:
            both.wait()  # now neither sees the other's row
        if row is None:
            row = _world()
            session.add(row)
        row.now += 1
        return row.now

    async def run() -> tuple[int, int]:
        return await asyncio.gather(database.write(work), database.write(work))

    assert sorted(asyncio.run(run())) == [1, 2]
    assert _now(database) == 2


def test_writers_in_threads_of_their_own_lose_nothing(database: Database) -> None:
    database.write_now(lambda s: s.add(_world()))

    def work(session: Session) -> None:
        row = session.get_one(WorldRow, "main", with_for_update=True)
        row.now += 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: database.write_now(work), range(24)))
    assert _now(database) == 24


def test_readers_are_not_held_up_by_a_writer(database: Database) -> None:
    database.write_now(lambda s: s.add(_world()))

    def work(session: Session) -> int | None:
        session.execute(update(WorldRow).where(col(WorldRow.id) == "main").values(now=7))
        return _now(database)

    assert database.write_now(work) == 0
    assert _now(database) == 7


def test_a_row_that_names_no_conversation_is_refused(database: Database) -> None:
    turn = TurnRow(
        world_id="main",
        conversation_id="nowhere",
        turn=0,
        speaker_id="aoi",
        speaker_name="Aoi",
        text="Hello",
        emotion="neutral",
        at=0,
        model="m",
        calls=1,
        prompt_tokens=1,
        completion_tokens=1,
        duration_ms=1,
    )
    with pytest.raises(IntegrityError) as told:
        database.write_now(lambda s: s.add(turn))
    assert "Hello" not in str(told.value), "it may be logged"


def test_world_times_of_millennia_and_any_script_are_kept(database: Database) -> None:
    row = conversation_row(
        id="a" * 28,
        world_id="main",
        character_id="aoi",
        npc_id="npc_taro",
        node_id="n",
        language="ja",
        goal="家族のことを聞く 👪",
        max_turns=10,
        phase="running",
        started_at=9999 * 525_960,
        models={"npc": "稽古"},
    )
    database.write_now(lambda s: s.add(row))
    kept = database.read_now(lambda s: s.get_one(ConversationRow, main("a" * 28)))
    assert (kept.goal, kept.started_at, kept.models) == ("家族のことを聞く 👪", 9999 * 525_960, {"npc": "稽古"})


def test_sqlite_keeps_a_log_and_checks_references(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'new' / 'folder' / 'k.db'}")
    with database.engine.connect() as connection:
        pragmas = [
            connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous")
        ]
    database.close()
    assert pragmas == ["wal", 1, 1]


@pytest.mark.parametrize("url", ["mysql://u@h/d", "sqlite://", "sqlite:///:memory:", "no url at all", ""])
def test_a_database_we_cannot_serve_names_the_setting(url: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        Database(url)
    assert refused.value.facts["setting"] == "KATARIBE_DATABASE_URL"


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgresql+asyncpg"])
def test_postgresql_is_always_spoken_to_with_psycopg(scheme: str) -> None:
    database = Database(f"{scheme}://u:secret@127.0.0.1:1/d")
    assert database.url.drivername == "postgresql+psycopg"
    assert "secret" not in str(database.url)
    database.close()


def test_what_nobody_waits_for_lets_the_others_go_first(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'kataribe.db'}")
    done: list[str] = []
    began = threading.Event()
    goes_on = threading.Event()

    def first(_: Session) -> None:
        began.set()
        goes_on.wait(5)

    async def run() -> None:
        holding = asyncio.create_task(database.write_later(first))
        later = [asyncio.create_task(database.write_later(lambda _: done.append("later"))) for _ in range(20)]
        await asyncio.to_thread(began.wait, 5)
        now = [asyncio.create_task(database.write(lambda _: done.append("now"))) for _ in range(5)]
        await asyncio.sleep(0)  # they stand in the queue
        goes_on.set()
        await asyncio.gather(holding, *later, *now)

    asyncio.run(run())
    database.close()
    assert done == ["now"] * 5 + ["later"] * 20
