"""Owns the damage that a disk, or a careless copy, does to a file of SQLite's."""

import sqlite3
from pathlib import Path


def overwrite_middle(file: Path) -> None:
    """Write noise over the middle third of a database that nobody has open."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    size = file.stat().st_size
    with file.open("r+b") as content:
        content.seek(size // 3)
        content.write(b"\xa5" * (size // 3))
