"""Owns how rows are inserted that nothing else changes: one statement for each table, however many they are."""

from collections import defaultdict
from collections.abc import Iterable

from sqlalchemy import insert
from sqlmodel import Session, SQLModel


def insert_rows(session: Session, rows: Iterable[SQLModel]) -> None:
    """Insert them now."""
    of_table: defaultdict[str, list[SQLModel]] = defaultdict(list)
    for row in rows:
        of_table[str(row.__tablename__)].append(row)
    for name, together in of_table.items():
        table = SQLModel.metadata.tables[name]
        # RETURNING is what makes SQLAlchemy send several rows in one statement.
        session.execute(insert(table).returning(*table.primary_key), [row.model_dump() for row in together])
