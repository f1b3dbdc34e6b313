"""Owns the look for damage in a file of SQLite's, before anything is read from it or written to it."""

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

_log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""Machine time. A gigabyte takes about that long; what is larger is looked at as far as the time allows."""

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_damage(error: sqlite3.Error) -> bool:
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
            alarm = threading.Timer(seconds, c.interrupt)
            alarm.start()
            try:
                (found,) = c.execute("PRAGMA quick_check(1)").fetchone()
            finally:
                alarm.cancel()
                alarm.join()
    except sqlite3.Error as exc:
        if is_damage(exc):
            return str(exc)
        if exc.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            _log.warning("%s is too large to be looked at whole: no damage was found in %.0f s", file, seconds)
        return None
    return None if found == "ok" else " ".join(str(found).split())
