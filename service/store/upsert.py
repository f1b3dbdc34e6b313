"""Owns the statement that inserts a row, or changes the one that is there."""

from functools import cache

from sqlalchemy import Executable
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import SQLModel


@cache
def upsert(table: type[SQLModel], dialect: str, changing: tuple[str, ...]) -> Executable:
    """Of a row that is there, `changing` are set anew. The statement is made once, for it is run after every answer."""
    rows = SQLModel.metadata.tables[str(table.__tablename__)]
    insert = sqlite.insert(rows) if dialect == "sqlite" else postgresql.insert(rows)
    key = [column.name for column in rows.primary_key]
    return insert.on_conflict_do_update(index_elements=key, set_={name: insert.excluded[name] for name in changing})
