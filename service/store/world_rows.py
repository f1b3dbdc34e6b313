"""Owns a world's rows as one thing: read from the store, written back under the same or another world's id, packed."""

import base64
import json
import zlib
from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, insert
from sqlmodel import Session, SQLModel, select

from service.store.policy import POLICIES
from service.store.tables import WorldRow

Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""By the name of their table, in the order of their primary keys."""

_BYTES = "base64"


def name_of(table: type[SQLModel]) -> str:
    """Under which `Rows` has the rows of the table."""
    return str(table.__tablename__)


def read_rows(session: Session, world_id: str) -> Rows:
    """All that the store holds of the world's story; nothing where it has not begun."""
    found = {}
    for table in _tables():
        query = select(table).where(_world_in(table) == world_id).order_by(*table.primary_key)  # type: ignore[call-overload] # a table
        found[table.name] = [dict(row._mapping) for row in session.execute(query)]
    return found


def replace_rows(session: Session, world_id: str, rows: Rows) -> None:
    """Write these in the place of all that the store holds of the world's story, under its id; the caller commits."""
    session.flush()
    session.expunge_all()
    delete_rows(session, [world_id])
    for table in _tables():
        if written := [{**row, _world_in(table).name: world_id} for row in rows.get(table.name, [])]:
            session.execute(insert(table), written)


def delete_rows(session: Session, world_ids: Collection[str], *, everything: bool = False) -> None:
    """Remove all that the store holds of these worlds' stories, or all that is theirs; the caller commits."""
    for table in reversed(_tables(everything=everything)):
        session.execute(delete(table).where(_world_in(table).in_(world_ids)))


def pack(rows: Rows) -> bytes:
    """As bytes that `unpack` reads."""
    columns = {
        name: {"columns": list(some[0]), "rows": [[*row.values()] for row in some]}
        for name, some in rows.items()
        if some
    }
    return zlib.compress(json.dumps(columns, ensure_ascii=False, default=_written).encode(), level=1)


def unpack(packed: bytes) -> Rows:
    """Raises: ValueError, zlib.error: the bytes are damaged."""
    found: Rows = {table.name: [] for table in _tables()}
    for name, one in json.loads(zlib.decompress(packed), object_hook=_read).items():
        found[name] = [dict(zip(one["columns"], row, strict=True)) for row in one["rows"]]
    return found


def _tables(*, everything: bool = False) -> list[Table]:
    """Those of a world's story, or all that are a world's; what others refer to comes first."""
    return [
        table
        for table in SQLModel.metadata.sorted_tables
        if POLICIES[table.name].copied or (everything and "world_id" in table.c)
    ]


def _world_in(table: Table) -> ColumnElement[str]:
    """The column that says of which world a row is."""
    column: ColumnElement[str] = table.c.id if table.name == name_of(WorldRow) else table.c.world_id
    return column


def _written(value: object) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"a row holds {type(value).__name__}")
    return {_BYTES: base64.b64encode(value).decode()}


def _read(value: dict[str, Any]) -> Any:
    return base64.b64decode(value[_BYTES]) if value.keys() == {_BYTES} else value
