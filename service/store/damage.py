"""Owns the file of a SQLite database: whether it is whole, and still the one that was opened."""

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from service.errors import DatabaseDamaged, DatabaseGone

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
