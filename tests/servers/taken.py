"""Owns what a database holds, as it is taken once and put into others: to make it anew for every test costs more."""

import sqlite3
from contextlib import closing
from typing import Any, Protocol

from psycopg import Connection, sql
from sqlmodel import SQLModel

from service.store.session import Database


class Taken(Protocol):
    """All that a database held at a moment."""

    def put(self, database: Database) -> None:
        """Into another one of its kind, which has our tables and no rows."""


def taken(database: Database) -> Taken:
    """What it holds now."""
    return _OfSqlite(database) if database.is_sqlite else _OfPostgres(database)


class _OfSqlite:
    def __init__(self, database: Database) -> None:
        self._held = sqlite3.connect(":memory:", check_same_thread=False)
        with closing(sqlite3.connect(str(database.url.database))) as file:
            file.backup(self._held)

    def put(self, database: Database) -> None:
        with closing(sqlite3.connect(str(database.url.database))) as file:
            self._held.backup(file)


class _OfPostgres:
    def __init__(self, database: Database) -> None:
        with _connected(database) as connection:
            self._rows = {name: _read(connection, name) for name in SQLModel.metadata.tables}
            counters = "SELECT sequencename, last_value FROM pg_sequences WHERE last_value IS NOT NULL"
            self._counters = connection.execute(counters).fetchall()

    def put(self, database: Database) -> None:
        with _connected(database) as connection:
            connection.execute("SET session_replication_role = replica")  # in whatever order
            for name, rows in self._rows.items():
                if rows:
                    _write(connection, name, rows)
            for name, value in self._counters:
                connection.execute("SELECT setval(%s, %s)", (name, value))


def _connected(database: Database) -> Connection[Any]:
    return Connection.connect(database.url.set(drivername="postgresql").render_as_string(hide_password=False))


def _read(connection: Connection[Any], table: str) -> list[bytes]:
    """Its rows, as PostgreSQL writes them; none, where it has none."""
    copied = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
    with connection.cursor().copy(copied) as rows:
        return [bytes(row) for row in rows]


def _write(connection: Connection[Any], table: str, rows: list[bytes]) -> None:
    copied = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))
    with connection.cursor().copy(copied) as written:
        for row in rows:
            written.write(row)
