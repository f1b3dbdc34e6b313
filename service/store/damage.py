"""Owns the file of a SQLite database: whether it is whole, and still the one that was opened."""

import logging
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from service.errors import DatabaseDamaged, DatabaseGone, Misconfigured
from service.locales import Phrase

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

    def look(self) -> None:
        """Look for damage, before anything is read or written. Raises: DatabaseDamaged."""
        self._damage = find_damage(self._path)
        self.require_sound()

    def require_own(self) -> None:
        """See whose file it is, without writing to it. No file at all is as good as our own: it will be made.

        Raises:
            Misconfigured: the file is empty, or its tables are another program's. Nothing was changed.
        """
        if not self._path.exists():
            return
        if self._path.stat().st_size == 0:
            raise Misconfigured(setting=_SETTING, reason=Phrase("settings.database_empty", file=str(self._path)))
        with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "alembic_version" not in tables:
            raise Misconfigured(setting=_SETTING, reason=foreign(tables, str(self._path)))

    def make(self) -> None:
        """Make the file, whole at once: a service that is killed meanwhile leaves no empty one behind."""
        if not self._path.exists():
            begun = self._path.with_name(f".{self._path.name}.begun")
            with closing(sqlite3.connect(begun)) as connection:
                connection.execute("PRAGMA user_version = 1")
            os.replace(begun, self._path)

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
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)) as c:
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


def _interrupt(connection: sqlite3.Connection, seen: threading.Event, seconds: float) -> None:
    """Interrupt what runs there after that time, again and again until it is `seen`: before it runs, an interruption
    is without effect.
    """
    while not seen.wait(seconds):
        connection.interrupt()
        seconds = 0.01
