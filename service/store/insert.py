"""Owns how rows are inserted, or changed where they are there: one statement for each table, however many they are."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from sqlalchemy import Executable, insert
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, SQLModel


def insert_rows(session: Session, rows: Iterable[SQLModel]) -> None:
    """Insert them now."""
    of_table: defaultdict[str, list[SQLModel]] = defaultdict(list)
    for row in rows:
        of_table[str(row.__tablename__)].append(row)
    for name, together in of_table.items():
        session.connection().execute(_inserting(name, len(together) > 1), [row.model_dump() for row in together])


@cache
def _inserting(name: str, several: bool) -> Executable:
    """The statement for a table. RETURNING is what makes SQLAlchemy send several rows in one."""
    table = SQLModel.metadata.tables[name]
    return insert(table).returning(*table.primary_key) if several else insert(table)


@cache
def upsert(
    table: type[SQLModel], dialect: str, changing: tuple[str, ...] = (), sums: tuple[str, ...] = ()
) -> postgresql.Insert | sqlite.Insert:
    """Of a row that is there, `changing` are set anew, and `sums` added to; safe when others do so at the same moment.
    The statement is made once, for it is run after every answer.
    """
    rows = SQLModel.metadata.tables[str(table.__tablename__)]
    adding = sqlite.insert(rows) if dialect == "sqlite" else postgresql.insert(rows)
    key = [column.name for column in rows.primary_key]
    added = {name: rows.c[name] + adding.excluded[name] for name in sums}
    return adding.on_conflict_do_update(
        index_elements=key, set_=added | {name: adding.excluded[name] for name in changing}
    )
