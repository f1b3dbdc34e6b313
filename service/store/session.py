"""Owns the database: engine, short transactions off the event loop, schema migrations."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, IntegrityError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import Session

from service.errors import Misconfigured
from service.locales import Phrase
from service.store.damage import GuardedFile, foreign
from service.store.kept_rows import keep_what_changes

T = TypeVar("T")

_BUNDLED = Path(__file__).parent.parent / "_bundled" / "migrations"
MIGRATIONS = _BUNDLED if _BUNDLED.exists() else Path(__file__).parents[2] / "migrations"


SQLITE_READERS = 2
"""Threads that read. More would not read faster: Python runs one thread at a time, and each delays the writer.
"""


_POSTGRESQL_FULL = "53100"


class Database:
    """One SQL database: SQLite (one process, one writer) or PostgreSQL.

    `read` and `write` run a function of a session in a worker thread, inside one transaction: it is committed when
    the function returns and rolled back when it raises. The function must do no model call and must not commit.
    """

    def __init__(self, url: str, *, threads: int = 8) -> None:
        """Raises: Misconfigured: the URL is none we can serve."""
        self.url = _checked(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._file: GuardedFile | None = None
        if self.is_sqlite and self.url.database:
            file = Path(self.url.database)
            file.parent.mkdir(parents=True, exist_ok=True)
            self._file = GuardedFile(file)
        threads = SQLITE_READERS if self.is_sqlite else threads
        self.engine = _engine(self.url, threads)
        self._writing = self.engine.execution_options(kataribe_write=True)
        self._readers = ThreadPoolExecutor(threads, thread_name_prefix="db-read")
        # SQLite has one writer at a time: one thread queues for it, so that no thread waits on a lock.
        writers = 1 if self.is_sqlite else threads
        self._writers = ThreadPoolExecutor(writers, thread_name_prefix="db-write")
        self._late = ThreadPoolExecutor(max(1, writers // 2), thread_name_prefix="db-write-later")

    async def read(self, work: Callable[[Session], T]) -> T:
        """Run `work` on a session and give its result back."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.read_now, work)

    async def write(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a transaction of its own; on SQLite it holds the write lock from its first statement on.

        When a row it inserts was inserted by another transaction meanwhile, it is run once more and then sees that row.
        """
        return await asyncio.get_running_loop().run_in_executor(self._writers, self.write_now, work)

    async def write_later(self, work: Callable[[Session], T]) -> T:
        """`write` for work that nobody waits for. However much of it there is, it occupies one writer (on PostgreSQL
        half of them): other writes wait for one piece of it at most.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._late, lambda: self._writers.submit(self.write_now, work).result()
        )

    def read_now(self, work: Callable[[Session], T]) -> T:
        """`read` for code that is in a thread already."""
        with self._guarded(), Session(self.engine, expire_on_commit=False) as session:
            return work(session)

    def write_now(self, work: Callable[[Session], T]) -> T:
        """`write` for code that is in a thread already."""
        try:
            return self._write(work)
        except IntegrityError:
            return self._write(work)

    def _write(self, work: Callable[[Session], T]) -> T:
        with self._guarded(), Session(self._writing, expire_on_commit=False) as session, session.begin():
            return work(session)

    def migrate(self) -> None:
        """Bring the schema to the newest version; safe to call on every start.

        Raises:
            DatabaseDamaged: it is a file of SQLite's, and damaged. Nothing was changed.
            Misconfigured: another version of the service has made it, or another program; or its file is empty. Nothing
                was changed.
        """
        if self._file is not None:
            self._file.look()
            self._file.require_own()
            self._file.make()
        with self.engine.begin() as connection:
            if not self.is_sqlite:
                # Two replicas may start at once: the second waits here and finds the work done.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7203914)")
            revision = MigrationContext.configure(connection).get_current_revision()
            known = _known_revisions()
            if revision == known[0]:
                return
            if revision is not None and revision not in known:
                reason = Phrase("settings.database_of_another_version", revision=revision)
                raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=reason)
            if revision is None and (tables := inspect(connection).get_table_names()):
                reason = foreign(tables, self.url.render_as_string())
                raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=reason)
            config = Config()
            config.set_main_option("script_location", str(MIGRATIONS))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            keep_what_changes(connection)

    async def check(self) -> None:
        """See whether the database answers.

        Raises:
            DatabaseGone: its file was removed or replaced.
            DatabaseDamaged: also where damage was met before.
            SQLAlchemyError: it does not answer.
        """
        await self.read(lambda session: session.execute(text("SELECT 1")))
        if self._file is not None:
            self._file.require_sound()

    def _guarded(self) -> AbstractContextManager[None]:
        return self._file.transaction() if self._file is not None else nullcontext()

    def close(self) -> None:
        """Finish what runs and release connections."""
        self._readers.shutdown()
        self._late.shutdown()
        self._writers.shutdown()
        self.engine.dispose()


def one_picture(session: Session) -> None:
    """Let all that the transaction reads be of one moment; to be called before it reads. Of SQLite it is anyway."""
    if session.get_bind().dialect.name == "postgresql":
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def is_full(error: OperationalError) -> bool:
    """Whether there was no room left for what was to be written."""
    of_sqlite = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return of_sqlite or getattr(error.orig, "sqlstate", None) == _POSTGRESQL_FULL


def unopenable(error: OperationalError) -> Misconfigured:
    """What a user is told of a database that could not be used at all."""
    reason = " ".join(str(error.orig).split())
    return Misconfigured(setting="KATARIBE_DATABASE_URL", reason=Phrase("settings.database_unopenable", reason=reason))


@cache
def _known_revisions() -> tuple[str, ...]:
    """The newest first."""
    return tuple(script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions())


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as exc:
        raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=Phrase("settings.no_database_url")) from exc
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=Phrase("settings.other_database"))
    return parsed


def _engine(url: URL, threads: int) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_size=2 * threads, max_overflow=0, pool_pre_ping=True)
    engine = create_engine(url, pool_size=threads + 1, max_overflow=0)
    event.listen(engine, "connect", _sqlite_connect)
    event.listen(engine, "begin", _sqlite_begin)
    return engine


def _sqlite_connect(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves, see _sqlite_begin
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _sqlite_begin(connection: Any) -> None:
    # A transaction that reads first and writes later can fail at the upgrade; a writer therefore locks at once.
    write = connection.get_execution_options().get("kataribe_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
