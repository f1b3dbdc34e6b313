"""Owns the tests of the look for damage in a file of SQLite's."""

import asyncio
import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from service.errors import DatabaseDamaged, DatabaseGone, Misconfigured
from service.locales import Language
from service.store.session import Database, find_damage
from tests.end_to_end.damage import overwrite_middle
from tests.servers.sqlite import put_migrated


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A migrated database, in a directory with a space and a letter that is no ASCII."""
    put_migrated(tmp_path / "わが 世界" / "kataribe.db")
    return tmp_path / "わが 世界" / "kataribe.db"


def test_a_whole_file_has_none_and_one_that_is_not_there_neither(file: Path) -> None:
    before = file.read_bytes()
    assert find_damage(file) is None
    assert file.read_bytes() == before
    assert find_damage(file.with_name("other.db")) is None
    assert not file.with_name("other.db").exists()


def test_noise_in_the_middle_is_found_and_nothing_is_written(file: Path) -> None:
    overwrite_middle(file)
    before = file.read_bytes()
    assert find_damage(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "no database", "another start"])
def test_a_file_that_is_no_database_any_more_is_damaged(file: Path, damage: str) -> None:
    whole = file.read_bytes()
    spoilt = {"cut": whole[: len(whole) // 2], "no database": b"hello" * 2000, "another start": b"\xa5" * 100 + whole}
    file.write_bytes(spoilt[damage])
    assert find_damage(file)


def test_what_was_written_and_not_yet_moved_into_the_file_belongs_to_it(file: Path) -> None:
    database = Database(f"sqlite:///{file}")
    with database.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE more AS SELECT hex(randomblob(2000)) AS noise FROM sqlite_master")
    assert file.with_name("kataribe.db-wal").stat().st_size
    assert find_damage(file) is None
    database.close()


def test_a_file_too_large_for_the_time_is_looked_at_as_far_as_it_allows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "large.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (noise)")
        connection.executemany("INSERT INTO t VALUES (?)", ((os.urandom(2000),) for _ in range(40_000)))
    connection.close()
    with caplog.at_level(logging.WARNING):
        assert find_damage(file, seconds=0) is None
    assert "too large" in caplog.text


def test_a_damaged_database_is_not_migrated_and_says_so_in_both_languages(file: Path) -> None:
    overwrite_middle(file)
    database = Database(f"sqlite:///{file}")
    with pytest.raises(DatabaseDamaged) as told:
        database.migrate()
    database.close()
    for language in ("en", "ja"):
        sentence = told.value.sentence(language)
        for part in (str(file), "KATARIBE_DATABASE_URL", ".recover"):
            assert part in sentence
        assert len(sentence.splitlines()) == 1
    assert "バックアップ" in told.value.sentence("ja")


def test_damage_that_is_met_on_the_way_is_told_from_then_on(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE TABLE noise AS SELECT hex(randomblob(2000)) AS words FROM sqlite_master a, sqlite_master b"
        )
    connection.close()
    database = Database(f"sqlite:///{file}")
    asyncio.run(database.check())
    overwrite_middle(file)
    with pytest.raises(DatabaseDamaged):
        database.read_now(lambda s: s.execute(text("SELECT sum(length(words)) FROM noise")).all())
    with pytest.raises(DatabaseDamaged):
        asyncio.run(database.check())
    database.close()


@pytest.mark.parametrize("instead", ["nothing", "another"])
def test_a_file_that_was_taken_away_is_neither_read_nor_written(file: Path, instead: str) -> None:
    database = Database(f"sqlite:///{file}")
    asyncio.run(database.check())
    aside = file.rename(file.with_name("aside.db"))
    if instead == "another":
        put_migrated(file)
    for attempt in (database.read_now, database.write_now):
        with pytest.raises(DatabaseGone) as told:
            attempt(lambda s: s.execute(text("SELECT 1")))
    assert "put the file back" in told.value.sentence("en")
    assert "元に戻して" in told.value.sentence("ja")
    assert str(file) in told.value.sentence("ja")
    aside.replace(file)
    asyncio.run(database.check())
    database.close()


@pytest.mark.parametrize("language", ["en", "ja"])
def test_an_empty_file_is_refused_in_words_and_left_as_it_is(tmp_path: Path, language: Language) -> None:
    file = tmp_path / "kataribe.db"
    file.touch()
    with closing(Database(f"sqlite:///{file}")) as database, pytest.raises(Misconfigured) as refused:
        database.migrate()
    assert str(file) in refused.value.sentence(language)
    assert ("空" in refused.value.sentence(language)) == (language == "ja")
    assert [one.name for one in tmp_path.iterdir()] == ["kataribe.db"]
    assert file.read_bytes() == b""


def test_the_database_of_another_program_is_refused_by_its_tables_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "music.db"
    with closing(sqlite3.connect(file)) as theirs:
        theirs.execute("CREATE TABLE songs (name TEXT)")
    before = file.read_bytes()
    with closing(Database(f"sqlite:///{file}")) as database, pytest.raises(Misconfigured, match="songs"):
        database.migrate()
    assert file.read_bytes() == before


def test_a_service_that_is_killed_while_it_makes_its_file_makes_it_anew(tmp_path: Path) -> None:
    (tmp_path / ".kataribe.db.begun").touch()
    with closing(Database(f"sqlite:///{tmp_path / 'kataribe.db'}")) as database:
        database.migrate()
        asyncio.run(database.check())
    assert not (tmp_path / ".kataribe.db.begun").exists()
