"""Owns the database: engine, short transactions off the event loop, schema migrations; and the file of a SQLite
database: whether it is whole, and still the one that was opened; and the lock on a data directory: SQLite is served by
one process at a time.
"""

import asyncio
import logging
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import Session

from service.errors import DatabaseDamaged, DatabaseGone, Misconfigured, require_extra, system_reason
from service.locales import Phrase
from service.settings import Settings
from service.store.presence import Presence
from service.store.world_rows import keep_what_changes

if sys.platform == "win32":
    import msvcrt

    def take(file: int) -> None:
        """Lock the open file while this process has it open. Raises: OSError: another process has."""
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def take(file: int) -> None:
        """Lock the open file while this process has it open. Raises: OSError: another process has."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


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
        self.on_enqueued: Callable[[set[str]], object] = bool
        """Called in any thread with the kinds of jobs that were enqueued (see jobs.py), after the commit."""
        self.has_graph = False
        """What people remember is brought to a graph outside of it, too."""
        self.presence = Presence(self.url)
        """This process, as others see it that share the database."""
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

    async def settle(self) -> None:
        """Return when SQLite's one writer has done what those had begun who were cancelled."""
        await self.write(lambda _: None)

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
        info = {"has_graph": self.has_graph}
        with self._guarded(), Session(self._writing, expire_on_commit=False, info=info) as session:
            with session.begin():
                done = work(session)
            if "enqueued" in session.info:
                self.on_enqueued(session.info["enqueued"])
            return done

    def migrate(self) -> None:
        """Bring the schema to the newest version; safe to call on every start.

        Raises:
            DatabaseDamaged: it is a file of SQLite's, and damaged. Nothing was changed.
            Misconfigured: another version of the service has made it, or another program; or its file is empty. Nothing
                was changed.
        """
        if self._file is not None:
            self._file.prepare()
        with self.engine.begin() as connection:
            if not self.is_sqlite:
                # Two replicas may start at once: the second waits here and finds the work done.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7203914)")
            revision, known = schema_of(connection), _known_revisions()
            if revision == known[0]:
                return
            if revision is not None and revision not in known:
                reason = Phrase("settings.database_of_another_version", revision=revision)
                raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=reason)
            if revision is None and (tables := inspect(connection).get_table_names()):
                reason = foreign(tables, self.url.render_as_string())
                raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=reason)
            from alembic import command  # ten megabytes that a database of this version does not need
            from alembic.config import Config

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
        self.presence.close()
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


def schema_of(connection: Connection) -> str | None:
    """The version of a database's tables; None: it has none of ours. Alembic itself is imported where they change."""
    has_any = inspect(connection).has_table("alembic_version")
    return connection.scalar(text("SELECT version_num FROM alembic_version")) if has_any else None


def newest_schema() -> str:
    """The version of the tables of this version of the service."""
    return _known_revisions()[0]


@cache
def _known_revisions() -> tuple[str, ...]:
    """The newest first: each is named as its file."""
    return tuple(sorted((file.stem for file in (MIGRATIONS / "versions").glob("*.py")), reverse=True))


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as exc:
        raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=Phrase("settings.no_database_url")) from exc
    if parsed.get_backend_name() == "postgresql":
        require_extra("postgresql", module="psycopg", setting="KATARIBE_DATABASE_URL")
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=Phrase("settings.other_database"))
    return parsed


def _engine(url: URL, threads: int) -> Engine:
    """Its errors do not tell what was written: they are logged."""
    if url.get_backend_name() != "sqlite":
        return create_engine(url, hide_parameters=True, pool_size=2 * threads, max_overflow=0, pool_pre_ping=True)
    engine = create_engine(url, hide_parameters=True, pool_size=threads + 1, max_overflow=0)
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


_log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""Machine time. A gigabyte takes about that long; what is larger is looked at as far as the time allows."""

_SETTING = "KATARIBE_DATABASE_URL"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class GuardedFile:
    """The file while a service has it. Damage that was found once is remembered.

    What is written to a file that was removed or replaced would be lost: from then on nothing is written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: os.stat_result | None = None
        self._damage: str | None = None

    def prepare(self) -> None:
        """See whether the file is sound and ours, before anything is read or written. Where there is none it is made,
        whole at once: a service that is killed meanwhile leaves no empty one behind.

        Raises:
            DatabaseDamaged.
            Misconfigured: the file is empty, or its tables are another program's. Nothing was changed.
        """
        self._damage = find_damage(self._path)
        self.require_sound()
        if not self._path.exists():
            begun = self._path.with_name(f".{self._path.name}.begun")
            with closing(sqlite3.connect(begun)) as connection:
                connection.execute("PRAGMA user_version = 1")
            os.replace(begun, self._path)
        elif self._path.stat().st_size == 0:
            raise Misconfigured(setting=_SETTING, reason=Phrase("settings.database_empty", file=str(self._path)))
        with closing(_read_only(self._path)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "alembic_version" not in tables:
            raise Misconfigured(setting=_SETTING, reason=foreign(tables, str(self._path)))

    def require_sound(self) -> None:
        """Raises: DatabaseDamaged: damage was found before."""
        if self._damage is not None:
            raise DatabaseDamaged(setting=_SETTING, file=str(self._path), found=self._damage)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Around a transaction.

        Raises:
            DatabaseGone: nothing was read or written.
            DatabaseDamaged: the transaction has met damage, and is undone.
        """
        self._require_there()
        try:
            yield
        except DatabaseError as exc:
            if isinstance(exc.orig, sqlite3.Error) and _is_damage(exc.orig):
                self._damage = str(exc.orig)
                raise DatabaseDamaged(setting=_SETTING, file=str(self._path), found=self._damage) from exc
            raise

    def _require_there(self) -> None:
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            there = None
        if self._opened is None:
            self._opened = there  # None: the first transaction makes it
        elif there is None or not os.path.samestat(there, self._opened):
            raise DatabaseGone(setting=_SETTING, file=str(self._path))


def foreign(tables: Collection[str], file: str) -> Phrase:
    """What is said of a database that has tables, and none that says which version of ours made it."""
    return Phrase("settings.database_foreign", file=file, tables=", ".join(sorted(tables)[:3]))


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite says by this error that the file is not, or no longer, what it should be."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def find_damage(file: Path, seconds: float = LOOK_SECONDS) -> str | None:
    """What is wrong with the file, in SQLite's words; None where nothing was found, or no file is there.

    It takes `seconds` at most. The file is not written to, and errors that are no damage are left to who opens it.
    """
    if not file.exists():
        return None
    try:
        with closing(_read_only(file)) as c:
            seen = threading.Event()
            alarm = threading.Thread(target=_interrupt, args=(c, seen, seconds))
            alarm.start()
            try:
                (found,) = c.execute("PRAGMA quick_check(1)").fetchone()
            finally:
                seen.set()
                alarm.join()
    except sqlite3.Error as exc:
        if _is_damage(exc):
            return str(exc)
        if exc.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            _log.warning("%s is too large to be looked at whole: no damage was found in %.0f s", file, seconds)
        return None
    return None if found == "ok" else " ".join(str(found).split())


def _read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def _interrupt(connection: sqlite3.Connection, seen: threading.Event, seconds: float) -> None:
    """Interrupt what runs there after that time, again and again until it is `seen`: before it runs, an interruption
    is without effect.
    """
    while not seen.wait(seconds):
        connection.interrupt()
        seconds = 0.01


class DataLock:
    """Held while the process lives; the system lets go of it even after kill -9."""

    def __init__(self, directory: Path) -> None:
        """Raises: Misconfigured: another process serves this directory, or it cannot be written."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file = (directory / "lock").open("a+")
        except OSError as exc:
            raise Misconfigured(
                setting="KATARIBE_DATA_DIR",
                reason=Phrase("settings.directory_unwritable", directory=directory, reason=system_reason(exc)),
            ) from exc
        try:
            take(self._file.fileno())
        except OSError as exc:
            self._file.close()
            raise Misconfigured(
                setting="KATARIBE_DATA_DIR", reason=Phrase("settings.directory_taken", directory=directory)
            ) from exc
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def close(self) -> None:
        """Let another process have it."""
        self._file.close()


def store_lock(settings: Settings) -> AbstractContextManager[object]:
    """Keeps other processes off the store of these settings; a server's database needs no lock.

    Raises:
        Misconfigured: as `DataLock`.
    """
    return closing(DataLock(settings.data_dir)) if settings.is_sqlite else nullcontext()


@contextmanager
def opened_database(settings: Settings, *, shared: bool = False) -> Iterator[Database]:
    """The migrated database; one of SQLite's is this process's alone, unless it is `shared`.

    Raises:
        Misconfigured: it cannot be opened, is damaged, or another process has it.
    """
    with nullcontext() if shared else store_lock(settings), closing(Database(settings.store_url)) as database:
        try:
            database.migrate()
        except OperationalError as exc:
            raise unopenable(exc) from exc
        yield database
