"""Owns the damage that a disk, or a careless copy, does to a file of SQLite's."""

import sqlite3
from pathlib import Path


def overwrite_middle(file: Path) -> bytes:
    """Write noise over the middle third of a database that nobody writes. Answers the whole file as it was."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    whole = file.read_bytes()
    third = len(whole) // 3
    with file.open("r+b") as content:
        content.seek(third)
        content.write(b"\xa5" * third)
    return whole
