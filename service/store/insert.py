"""Owns how rows are inserted, or changed where they are there: one statement for each table, however many they are."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import Boolean, Executable, insert, or_
from sqlmodel import Session, SQLModel

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite


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


def upsert_rows(
    session: Session,
    table: type[SQLModel],
    rows: Sequence[Mapping[str, Any]],
    changing: tuple[str, ...] = (),
    sums: tuple[str, ...] = (),
) -> None:
    """Insert them now; of those that are there, `changing` are set anew, and `sums` added to."""
    if rows:
        session.connection().execute(upsert(table, session.get_bind().dialect.name, changing, sums), rows)


@cache
def upsert(
    table: type[SQLModel], dialect: str, changing: tuple[str, ...] = (), sums: tuple[str, ...] = ()
) -> "postgresql.Insert | sqlite.Insert":
    """The statement of `upsert_rows`, made once; safe when others do so at the same moment. Of booleans a sum is true
    where one of them is.
    """
    rows = SQLModel.metadata.tables[str(table.__tablename__)]
    adding: postgresql.Insert | sqlite.Insert = import_module(f"sqlalchemy.dialects.{dialect}").insert(rows)
    changed: dict[str, Any] = {name: adding.excluded[name] for name in changing}
    for name in sums:
        both = rows.c[name], adding.excluded[name]
        changed[name] = or_(*both) if isinstance(rows.c[name].type, Boolean) else both[0] + both[1]
    return adding.on_conflict_do_update(index_elements=list(rows.primary_key), set_=changed)
