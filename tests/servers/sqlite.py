"""Owns SQLite databases that are migrated already: the migrations run once a process, every test gets a copy."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from service.store.session import Database


def put_migrated(file: Path) -> None:
    """Write a database with our tables and no rows to `file`, as `Database.migrate` leaves it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_template(), file)


@cache
def _template() -> Path:
    home = tempfile.mkdtemp(prefix="kataribe-sqlite-")
    atexit.register(shutil.rmtree, home)
    file = Path(home) / "migrated.db"
    migrated = Database(f"sqlite:///{file}")
    migrated.migrate()
    migrated.close()  # its log is in the file now
    return file
