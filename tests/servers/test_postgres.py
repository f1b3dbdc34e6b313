"""Owns the checks of the PostgreSQL that other tests stand on."""

import tempfile
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text

from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.server


def test_every_database_is_new_and_empty(postgres_server: PostgresServer) -> None:
    first, second = postgres_server.create_database(), postgres_server.create_database()
    assert first != second
    for url in (first, second):
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE 語り部 (名前 text)"))
            connection.execute(text("INSERT INTO 語り部 VALUES ('ミナ')"))
            assert connection.scalar(text("SELECT count(*) FROM 語り部")) == 1
        engine.dispose()


def test_the_server_is_closed_to_whoever_lacks_the_password(postgres_url: str) -> None:
    wrong = postgres_url.replace("postgresql+psycopg", "postgresql").replace("kataribe:", "kataribe:x")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)


def test_nothing_is_left_of_a_stopped_server(postgres_binaries: Path) -> None:
    with PostgresServer(postgres_binaries) as server:
        home, url = server.home, server.create_database().replace("postgresql+psycopg", "postgresql")
        psycopg.connect(url).close()
    assert not home.exists()
    with pytest.raises(psycopg.OperationalError, match="Connection refused"):
        psycopg.connect(url)


def test_a_server_that_cannot_start_says_why_and_leaves_nothing() -> None:
    # Not in tmp_path: whom root becomes to run the server could not enter it.
    with tempfile.TemporaryDirectory() as place:
        binaries = Path(place)
        binaries.chmod(0o755)
        initdb = binaries / "initdb"
        initdb.write_text("#!/bin/sh\necho the disk is made of cheese >&2\nexit 3\n")
        initdb.chmod(0o755)
        server = PostgresServer(binaries)
        with pytest.raises(RuntimeError, match="made of cheese"), server:
            pass
    assert not server.home.exists()
