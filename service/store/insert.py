"""Owns how rows are inserted that nothing else changes: one statement for each table, however many they are."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from sqlalchemy import Executable, insert
from sqlmodel import Session, SQLModel


def insert_rows(session: Session, rows: Iterable[SQLModel]) -> None:
    """Insert them now."""
    of_table: defaultdict[str, list[SQLModel]] = defaultdict(list)
    for row in rows:
        of_table[str(row.__tablename__)].append(row)
    for name, together in of_table.items():
        session.execute(_inserting(name), [row.model_dump() for row in together])


@cache
def _inserting(name: str) -> Executable:
    """The statement for a table. RETURNING is what makes SQLAlchemy send several rows in one."""
    table = SQLModel.metadata.tables[name]
    return insert(table).returning(*table.primary_key)
