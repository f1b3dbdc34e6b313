"""Owns a world's rows as one thing: read from the store, written back under the same or another world's id, and as they
were at its snapshots: the database itself keeps each row as it was, before it changes for the first time after the
newest snapshot. What never changes is kept by nobody, however long a world has lived.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Connection, Float, LargeBinary, Table, bindparam, delete, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, SQLModel, col, exists, func, select

from service.store.insert import upsert_rows
from service.store.policy import POLICIES, TABLES
from service.store.tables import KeptRow, SnapshotRow, WorldRow

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
        policy = POLICIES[table.name]
        if policy.copied or (everything and "world_id" in table.c and not policy.outlives):
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


_LOCK = 7203916
"""PostgreSQL's advisory lock of a world, with its hash: whoever changes rows shares it, a snapshot holds it alone."""


def keep_what_changes(connection: Connection) -> None:
    """Make the triggers that keep rows, anew for the tables as they are now."""
    make = _sqlite_triggers if connection.dialect.name == "sqlite" else _postgresql_triggers
    for table in story_tables():
        for statement in make(table):
            connection.exec_driver_sql(statement)


def hold_alone(session: Session, world_id: str) -> None:
    """Wait until nobody else is changing rows of the world, and let nobody begin until the transaction ends. SQLite has
    one writer anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(_LOCK, func.hashtext(world_id))))


def as_kept(session: Session, snapshot: SnapshotRow, now: Rows) -> Rows:
    """The world's rows as they were at the snapshot, from those of `now`, which were read in the same picture."""
    kept = select(KeptRow.table_name, KeptRow.key, KeptRow.row).where(
        KeptRow.world_id == snapshot.world_id, col(KeptRow.number) >= snapshot.number
    )
    changed: defaultdict[str, dict[Key, str | None]] = defaultdict(dict)
    for name, key, row in session.exec(kept.order_by(col(KeptRow.number).desc())):
        changed[name][tuple(json.loads(key))] = row
    return {table.name: _table_as_kept(table, changed[table.name], now[table.name]) for table in story_tables()}


def let_go(session: Session, snapshot: SnapshotRow) -> None:
    """Remove a snapshot, and what is kept for it alone: an older one goes on needing what this one kept first."""
    hold_alone(session, snapshot.world_id)
    mine = (col(KeptRow.world_id) == snapshot.world_id, col(KeptRow.number) == snapshot.number)
    older = session.scalar(
        select(func.max(SnapshotRow.number)).where(
            SnapshotRow.world_id == snapshot.world_id, col(SnapshotRow.number) < snapshot.number
        )
    )
    if older is not None:
        first = aliased(KeptRow)
        same = (col(getattr(first, name)) == getattr(KeptRow, name) for name in ("world_id", "table_name", "key"))
        known = exists().where(col(first.number) == older, *same)
        session.execute(update(KeptRow).where(*mine, ~known).values(number=older))
    session.execute(delete(KeptRow).where(*mine))
    session.delete(snapshot)
    session.flush()


def _table_as_kept(table: Table, changed: dict[Key, str | None], now: list[Row]) -> list[Row]:
    if not changed:
        return now
    found = {key_of(table, row): row for row in now}
    for key, text in changed.items():
        if text is None:
            found.pop(key, None)
        else:
            written = json.loads(text)
            found[key] = {column.name: _read(column, written[column.name]) for column in table.c}
    return [found[key] for key in sorted(found)]


def _read(column: Column[Any], value: Any) -> Any:
    """What a trigger wrote of a column."""
    if value is None:
        return None
    if isinstance(column.type, LargeBinary):
        return bytes.fromhex(value.removeprefix("\\x"))
    if isinstance(column.type, JSON):
        return json.loads(value) if isinstance(value, str) else value
    if isinstance(column.type, Boolean | Float):
        return column.type.python_type(value)
    return value


def _sqlite_triggers(table: Table) -> Iterator[str]:
    pairs = ", ".join(f"'{column.name}', {_sqlite_value(column)}" for column in table.c)
    for event, record, row in (
        ("INSERT", "NEW", "NULL"),
        ("UPDATE", "OLD", f"json_object({pairs})"),
        ("DELETE", "OLD", f"json_object({pairs})"),
    ):
        world = f"{record}.{world_in(table).name}"
        key = ", ".join(f"{record}.{column.name}" for column in table.primary_key)
        name = f"keep_{table.name}_{event.lower()}"
        yield f"DROP TRIGGER IF EXISTS {name}"
        some = f"SELECT 1 FROM snapshots WHERE world_id = {world}"  # noqa: S608 - names of our own columns
        yield (
            f"CREATE TRIGGER {name} AFTER {event} ON {table.name} WHEN EXISTS ({some}) "
            f"BEGIN {_keeping(table, world, f'json_array({key})', row)}; END"
        )


def _sqlite_value(column: Column[Any]) -> str:
    """What JSON can hold: bytes in hexadecimal, and all digits of a number, of which JSON has fewer."""
    value = f"OLD.{column.name}"
    if isinstance(column.type, LargeBinary):
        return f"hex({value})"
    if isinstance(column.type, Float):
        return f"iif({value} IS NULL, NULL, printf('%!.17g', {value}))"
    return value


def _postgresql_triggers(table: Table) -> Iterator[str]:
    def of_either(name: str) -> str:
        return f"coalesce(OLD.{name}, NEW.{name})"

    world = of_either(world_in(table).name)
    key = ", ".join(of_either(column.name) for column in table.primary_key)
    keeping = _keeping(table, world, f"json_build_array({key})::text", "row_to_json(OLD)::text")
    name = f"keep_{table.name}"
    yield (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"PERFORM pg_advisory_xact_lock_shared({_LOCK}, hashtext({world})); {keeping}; RETURN NULL; END $$"
    )
    yield (
        f"CREATE OR REPLACE TRIGGER {name} AFTER INSERT OR UPDATE OR DELETE ON {table.name} "
        f"FOR EACH ROW EXECUTE FUNCTION {name}()"
    )


def _keeping(table: Table, world: str, key: str, row: str) -> str:
    """The statement that keeps a row under the number of the newest snapshot, if nothing is kept of it there."""
    return f"""INSERT INTO kept_rows (world_id, number, table_name, key, row)
        SELECT {world}, newest.number, '{table.name}', {key}, {row}
        FROM (SELECT max(number) AS number FROM snapshots WHERE world_id = {world}) AS newest
        WHERE newest.number IS NOT NULL ON CONFLICT DO NOTHING"""  # noqa: S608 - names of our own tables and columns
