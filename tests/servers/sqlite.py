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


_migrate = Database.migrate


def migrate_a_copy(database: Database) -> None:
    """`Database.migrate`, which finds nothing to do where no file was: it has a copy of a migrated one there."""
    file = Path(database.engine.url.database or "")
    if database.is_sqlite and not file.exists():
        put_migrated(file)
    _migrate(database)


@cache
def _template() -> Path:
    home = tempfile.mkdtemp(prefix="kataribe-sqlite-")
    atexit.register(shutil.rmtree, home)
    file = Path(home) / "migrated.db"
    migrated = Database(f"sqlite:///{file}")
    _migrate(migrated)
    migrated.close()  # its log is in the file now
    return file
