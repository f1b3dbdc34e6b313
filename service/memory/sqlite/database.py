"""Owns the connections to the memory graph's file: one thread that writes, a few that read, none on the event loop."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from service.errors import GraphUnavailable, MemoryDamaged, MemoryGone
from service.memory.sqlite.schema import prepare
from service.store.damage import find_damage, is_damage

SETTING = "KATARIBE_DATA_DIR"
READERS = 4

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]


class SqliteDatabase:
    """Runs jobs in one transaction each: writes one after the other, reads beside them on a snapshot of their own.

    The file is opened (and made) by the first job, so a bad path is that job's error. ``:memory:`` has one
    connection, for another would see another database: there reads wait for writes. Once the file was found damaged, or
    is another one than was opened, nothing more is read or written until the process starts anew.
    """

    def __init__(self, path: Path | Literal[":memory:"]) -> None:
        self._path = path
        self._writer: sqlite3.Connection | None = None
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="memory-write")
        self._read_threads = ThreadPoolExecutor(READERS, thread_name_prefix="memory-read")
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._file: os.stat_result | None = None
        self._damage: str | None = None

    async def write(self, job: Job[T]) -> T:
        """Run the job in a transaction that holds the write lock from its start; an error undoes all of it.

        Raises:
            GraphUnavailable: the file cannot be opened, read or written; or it is damaged or gone.
        """
        return await asyncio.get_running_loop().run_in_executor(self._write_thread, self._write, job)

    async def read(self, job: Job[T]) -> T:
        """Run the job on one consistent snapshot.

        Raises:
            GraphUnavailable: the file cannot be opened or read; or it is damaged or gone.
        """
        loop = asyncio.get_running_loop()
        if self._path == ":memory:":
            return await loop.run_in_executor(self._write_thread, self._write, job)
        if self._writer is None:
            await loop.run_in_executor(self._write_thread, self._open_writer)
        return await loop.run_in_executor(self._read_threads, self._read, job)

    async def aclose(self) -> None:
        """Wait for what is running, then close every connection."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._read_threads.shutdown()
        self._write_thread.shutdown()
        for connection in self._opened:
            connection.close()
        self._opened.clear()
        self._writer = None

    def _write(self, job: Job[T]) -> T:
        connection = self._open_writer()
        with self._mapped():
            return _transaction(connection, "BEGIN IMMEDIATE", job)

    def _read(self, job: Job[T]) -> T:
        with self._mapped():
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._connect()
                connection.execute("PRAGMA query_only = ON")
                self._local.connection = connection
            return _transaction(connection, "BEGIN", job)

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            with self._mapped():
                if isinstance(self._path, Path):
                    self._path.parent.mkdir(parents=True, exist_ok=True)
                    self._damage = find_damage(self._path)
                self._require_sound()
                connection = self._connect()
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    prepare(connection, str(self._path), SETTING)
                except BaseException:
                    self._opened.remove(connection)
                    connection.close()
                    raise
                self._file = os.stat(self._path) if isinstance(self._path, Path) else None
                self._writer = connection
        return self._writer

    def _connect(self) -> sqlite3.Connection:
        # Each connection stays with one thread, but is closed by another.
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=10)
        self._opened.append(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -16384")
        return connection

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """Foreign errors become ours at this one seam; a bug of our own (a bad statement, a broken constraint) does not."""
        self._require_sound()
        try:
            yield
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError):
            raise
        except (sqlite3.Error, OSError) as exc:
            if isinstance(exc, sqlite3.Error) and is_damage(exc):
                self._damage = str(exc)
            self._require_sound()
            raise GraphUnavailable(backend="sqlite", reason=str(exc), setting=SETTING) from exc

    def _require_sound(self) -> None:
        """Raises: MemoryDamaged, MemoryGone."""
        told = {"backend": "sqlite", "setting": SETTING, "file": str(self._path)}
        if self._damage is not None:
            raise MemoryDamaged(reason=self._damage, **told)
        if self._file is not None and not self._is_there(self._file):
            raise MemoryGone(reason="the file was removed or replaced", **told)

    def _is_there(self, opened: os.stat_result) -> bool:
        """Whether the path still leads to the file that was opened: what is written to another is lost."""
        try:
            return os.path.samestat(opened, os.stat(self._path))
        except OSError:
            return False


def _transaction(connection: sqlite3.Connection, begin: str, job: Job[T]) -> T:
    connection.execute(begin)
    try:
        result = job(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return result
