"""Owns a world's rows as one thing: read from the store, and written back under the same or another world's id."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Column, Table, bindparam, delete
from sqlmodel import Session, SQLModel, col, select

from service.store.insert import upsert_rows
from service.store.policy import POLICIES, TABLES
from service.store.tables import SnapshotRow, WorldRow

Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""By the name of their table, in the order of their primary keys."""

Key = tuple[Any, ...]
"""A row's primary key."""


def name_of(table: type[SQLModel]) -> str:
    """Under which `Rows` has the rows of the table."""
    return str(table.__tablename__)


def read_rows(session: Session, world_id: str) -> Rows:
    """All that the store holds of the world's story; nothing where it has not begun."""
    found = {}
    for table in story_tables():
        query = select(table).where(world_in(table) == world_id).order_by(*table.primary_key)  # type: ignore[call-overload] # a table
        found[table.name] = [dict(row._mapping) for row in session.execute(query)]
    return found


def replace_rows(session: Session, world_id: str, rows: Rows, there: Rows) -> None:
    """Write these in the place of those that are `there`, under the world's id; the caller commits. Only rows that
    differ are written.
    """
    session.flush()
    session.expunge_all()
    changes = [(table, _by_key(table, rows, world_id), _by_key(table, there, world_id)) for table in story_tables()]
    for table, wanted, known in reversed(changes):
        names = [column.name for column in table.primary_key]
        if gone := [dict(zip(names, key, strict=True)) for key in known.keys() - wanted.keys()]:
            session.execute(delete(table).where(*(table.c[name] == bindparam(name) for name in names)), gone)
    for table, wanted, known in changes:
        others = tuple(column.name for column in table.c if not column.primary_key)
        changed = [row for key, row in wanted.items() if known.get(key) != row]
        upsert_rows(session, TABLES[table.name], changed, others)


def _by_key(table: Table, rows: Rows, world_id: str) -> dict[Key, Row]:
    """The rows of a table, under that world's id."""
    written = ({**row, world_in(table).name: world_id} for row in rows.get(table.name, ()))
    return {key_of(table, row): row for row in written}


def delete_rows(session: Session, world_ids: Collection[str], *, everything: bool = False) -> None:
    """Remove all that the store holds of these worlds' stories, or all that is theirs; the caller commits."""
    if everything:  # the snapshots first: nothing is to be kept for them of what goes
        session.execute(delete(SnapshotRow).where(col(SnapshotRow.world_id).in_(world_ids)))
    for table in reversed(SQLModel.metadata.sorted_tables):
        if POLICIES[table.name].copied or (everything and "world_id" in table.c):
            session.execute(delete(table).where(world_in(table).in_(world_ids)))


def story_tables() -> list[Table]:
    """Those of a world's story; what others refer to comes first."""
    return [table for table in SQLModel.metadata.sorted_tables if POLICIES[table.name].copied]


def world_in(table: Table) -> Column[str]:
    """The column that says of which world a row is."""
    return table.c.id if table.name == name_of(WorldRow) else table.c.world_id


def key_of(table: Table, row: Row) -> Key:
    """The row's primary key."""
    return tuple(row[column.name] for column in table.primary_key)
