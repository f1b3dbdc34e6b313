"""Owns a real PostgreSQL for the tests: started from the machine's own binaries, on loopback, gone afterwards."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from service.store.session import Database
from tests.servers import missing

SERVER_USER = "postgres"  # whom root becomes, for PostgreSQL refuses to run as root
OWNER = "kataribe"
START_SECONDS = 60

# Nothing here has to survive a crash of the machine.
CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
full_page_writes = off
max_connections = 100
shared_buffers = 32MB
timezone = 'UTC'
"""


def find_binaries() -> Path | None:
    """The directory of `initdb` and `pg_ctl`: Debian's newest version, or whatever is on the PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if debian:
        return debian[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def free_port() -> int:
    """A TCP port of loopback that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class PostgresServer:
    """One server in a temporary directory. Use it as a context manager: it runs inside the `with`."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._password = secrets.token_hex(16)
        self._numbers = count(1)
        self._emptying: dict[str, tuple[psycopg.Connection[Any], str]] = {}
        self.home = Path()
        self.port = 0

    def __enter__(self) -> "PostgresServer":
        # Not pytest's tmp_path: only its owner can enter that, and the server runs as somebody else.
        self.home = Path(tempfile.mkdtemp(prefix="kataribe-postgres-"))
        try:
            self._make_cluster()
            self._start()
        except BaseException:
            shutil.rmtree(self.home)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for kept, _command in self._emptying.values():
            kept.close()
        try:
            self._run("pg_ctl", "stop", "--pgdata", self._data, "--mode", "immediate", "--wait")
        finally:
            shutil.rmtree(self.home)

    def create_database(self, *, like: str = "template1") -> str:
        """A new database of its own, empty or a copy of the database `like`, which nobody may be connected to.

        Answers its SQLAlchemy URL (`postgresql+psycopg://…`), which ends with its name.
        """
        name = f"test_{next(self._numbers)}"
        command = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(like))
        with psycopg.connect(self._url("postgresql", "postgres"), autocommit=True) as connection:
            connection.execute(command)
        return self._url("postgresql+psycopg", name)

    def empty(self, url: str) -> None:
        """Remove all rows of a database of our tables; its next ids begin at 1 again."""
        if url not in self._emptying:
            self._emptying[url] = _emptying(url)
        connection, command = self._emptying[url]
        connection.execute(command)

    def create_login(self, name: str, password: str) -> str:
        """A user with a database of its own, both of that name; answers the URL without the password."""
        login = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password))
        owned = sql.SQL("CREATE DATABASE {0} OWNER {0}").format(sql.Identifier(name))
        with psycopg.connect(self._url("postgresql", "postgres"), autocommit=True) as connection:
            connection.execute(login)
            connection.execute(owned)
        return f"postgresql+psycopg://{name}@127.0.0.1:{self.port}/{name}"

    @property
    def _data(self) -> Path:
        return self.home / "data"

    def _url(self, scheme: str, database: str) -> str:
        return f"{scheme}://{OWNER}:{self._password}@127.0.0.1:{self.port}/{database}"

    def _make_cluster(self) -> None:
        password = self.home / "password"
        password.touch(mode=0o600)
        password.write_text(self._password, encoding="utf-8")
        if os.geteuid() == 0:
            for path in (self.home, password):
                shutil.chown(path, SERVER_USER, SERVER_USER)
        names = ("--username", OWNER, "--encoding", "UTF8", "--locale", "C.UTF-8")
        # A slow hash would cost every test a hundredth of a second, and keep nobody out of what lives for minutes.
        login = ("--auth", "md5", "--pwfile", password)
        self._run("initdb", "--pgdata", self._data, "--no-sync", "--no-instructions", *names, *login)
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.write(CONFIGURATION)

    def _start(self) -> None:
        self.port = free_port()
        log = self.home / "log"
        where = ("--pgdata", self._data, "--log", log, "--options", f"-p {self.port}")
        try:
            self._run("pg_ctl", "start", *where, "--wait", "--timeout", str(START_SECONDS))
        except RuntimeError as failure:
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else "nothing"
            raise RuntimeError(f"{failure}\nthe server's log: {said}") from failure

    def _run(self, program: str, *arguments: str | Path) -> None:
        command: Sequence[str | Path] = (self._binaries / program, *arguments)
        who: dict[str, Any] = {}
        if os.geteuid() == 0:
            who = {"user": SERVER_USER, "group": SERVER_USER, "extra_groups": []}
        # A file, not a pipe: the server inherits it and lives on, so a pipe would never end.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            done = subprocess.run(command, cwd=self.home, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **who)
            if done.returncode != 0:
                output.seek(0)
                raise RuntimeError(f"{program} failed ({done.returncode}): {output.read()}")


def _emptying(url: str) -> tuple[psycopg.Connection[Any], str]:
    """A connection to a database of our tables, and what removes all their rows."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    connection = psycopg.connect(plain, autocommit=True)
    ours = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
    ).fetchall()
    counters = connection.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'").fetchall()
    emptied = [sql.SQL("DELETE FROM {}").format(sql.Identifier(one)) for (one,) in ours]
    begun = [sql.SQL("ALTER SEQUENCE {} RESTART").format(sql.Identifier(one)) for (one,) in counters]
    connection.execute("SET session_replication_role = replica")  # in whatever order
    return connection, sql.SQL("; ").join([*emptied, *begun]).as_string(connection)


@pytest.fixture(scope="session")
def postgres_binaries() -> Path:
    """Where this machine keeps PostgreSQL's programs."""
    binaries = find_binaries()
    if binaries is None:
        missing("PostgreSQL's server: apt-get install postgresql")
    return binaries


@pytest.fixture(scope="session")
def postgres_server(postgres_binaries: Path) -> Iterator[PostgresServer]:
    """A running PostgreSQL, one for the whole session; ask it for `create_database()`."""
    with PostgresServer(postgres_binaries) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """The name of a database with our tables and no rows, made by the migrations; for `create_database(like=…)`."""
    url = postgres_server.create_database()
    migrated = Database(url)
    migrated.migrate()
    migrated.close()
    return url.rpartition("/")[2]


@pytest.fixture(scope="session")
def postgres_kept(postgres_server: PostgresServer, postgres_template: str) -> str:
    """The URL of a database with our tables that one test after the other has."""
    return postgres_server.create_database(like=postgres_template)


@pytest.fixture
def postgres_emptied(postgres_server: PostgresServer, postgres_kept: str) -> str:
    """The URL of a database with our tables and no rows. To make one anew would cost twenty times as much."""
    postgres_server.empty(postgres_kept)
    return postgres_kept


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """The URL of a fresh database, for one test."""
    return postgres_server.create_database()
