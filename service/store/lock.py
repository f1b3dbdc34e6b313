"""Owns the lock on a data directory: SQLite is served by one process at a time."""

import os
import sys
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from service.errors import Misconfigured, system_reason
from service.locales import Phrase
from service.settings import Settings

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
