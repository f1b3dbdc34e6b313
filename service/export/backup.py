"""Owns a backup: the whole store as one file, read in one picture while a service writes, and read back in one
transaction. Lines of JSON as those of a story (`RowLine`), packed by gzip; a store of either kind can be restored from
one of the other.
"""

import gzip
import itertools
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlmodel import Session, SQLModel, func, select

from service.errors import StoreHoldsWorlds, usable
from service.export.files import opened, store_place, whole_file, written_before
from service.export.story import ROWS, RowLine, StoryLine, UnreadableLine, parsed, rows_of, telling, written
from service.locales import Phrase
from service.memory.projection import project_anew
from service.settings import Settings
from service.store.lease import require_unserved
from service.store.session import newest_schema, one_picture, store_lock
from service.store.tables import MAIN_WORLD, KeptRow, SnapshotRow, WorldRow

FORMAT = 1
"""The version of the format; a reader refuses any other."""

_LAST = (str(SnapshotRow.__tablename__), str(KeptRow.__tablename__))
"""While these hold nothing, no trigger keeps what is inserted."""


class BackupHeader(StoryLine):
    """The first line. `store_schema` is the version of the tables; `made_at` the machine's time, in UTC."""

    type: Literal["kataribe-backup"] = "kataribe-backup"
    version: int = FORMAT
    store_schema: str
    made_at: str


def back_up(settings: Settings, file: Path) -> Counter[str]:
    """Write all that the store holds into the file, which is there wholly or not at all; a service may run meanwhile.
    Answers the number of rows by table.

    Raises:
        NoSuchWorld: there is no store.
        FileUnusable: it cannot be written.
        Misconfigured: the database cannot be opened.
    """
    count: Counter[str] = Counter()

    def work(session: Session, out: gzip.GzipFile) -> None:
        one_picture(session)
        for table in _tables():
            for line in rows_of(session, table, map(_raw, table.c)):
                row = {name: b64encode(it).decode() if isinstance(it, bytes) else it for name, it in line.row.items()}
                out.write(written(line.model_copy(update={"row": row})))
                count[table.name] += 1

    with (
        written_before(settings, MAIN_WORLD) as database,
        whole_file(file) as whole,
        gzip.GzipFile(filename="", fileobj=whole, mode="wb") as out,
    ):
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        out.write(written(BackupHeader(store_schema=newest_schema(), made_at=made_at)))
        database.read_now(lambda s: work(s, out))
    return count


def restore_backup(settings: Settings, file: Path, *, replaces: bool = False) -> Counter[str]:
    """Read a backup into the store: all of it or nothing; no service may run on it. What people remember is brought to
    a graph in Neo4j anew. `replaces`: what the store holds is removed. Answers the number of rows by table.

    Raises:
        StoreHoldsWorlds: it holds some, which are not to be replaced.
        BadLine: the file is no backup, is cut off, or is of another version.
        FileUnusable: it cannot be read.
        Misconfigured: a service runs on the database, or it cannot be opened.
    """

    def work(session: Session) -> Counter[str]:
        require_unserved(session)
        worlds = session.scalar(select(func.count()).select_from(WorldRow)) or 0
        if worlds and not replaces:
            raise StoreHoldsWorlds(place=store_place(settings), worlds=Phrase("counts.worlds", count=worlds))
        for table in reversed(_tables()):
            session.execute(sa.delete(table))
        with gzip.open(file) as lines:
            count = _read(session, file, lines)
        for world_id in session.exec(select(WorldRow.id)).all():
            project_anew(session, world_id)
        return count

    with usable(file), store_lock(settings), opened(settings) as database:
        database.migrate()
        return database.write_now(work)


def _read(session: Session, file: Path, lines: Iterator[bytes]) -> Counter[str]:
    tables, count = {table.name: table for table in _tables()}, Counter[str]()
    for name, of_table in groupby(_rows(file, lines, tables), attrgetter("table")):
        inserting = _inserting(tables[name], session.get_bind().dialect.name)
        while some := [line.row for line in islice(of_table, ROWS)]:
            count[name] += len(some)
            with telling(file, 1 + count.total()):
                session.execute(inserting, some)
    return count


def _rows(file: Path, lines: Iterator[bytes], tables: Mapping[str, sa.Table]) -> Iterator[RowLine]:
    """Those behind the header, with bytes as they are."""
    for number in itertools.count(1):
        with telling(file, number):
            try:
                raw = next(lines, None)
            except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
                raise UnreadableLine(Phrase("export.cut_off")) from exc
            if raw is None and number > 1:
                return
            record = parsed(raw or b"")
            if number == 1:
                _require_ours(record)
                continue
            line = RowLine.model_validate(record)
            table = tables.get(line.table)
            if table is None or line.row.keys() != set(table.c.keys()):
                raise UnreadableLine(Phrase("export.table", table=line.table, known=", ".join(tables)))
            binary = [one.name for one in table.c if isinstance(one.type, sa.LargeBinary)]
            row = {**line.row, **{name: b64decode(line.row[name]) for name in binary}}
        yield line.model_copy(update={"row": row})


def _require_ours(record: Mapping[str, Any]) -> None:
    """Raises: UnreadableLine: it is no header of a backup, or of one that another version has made."""
    if record.get("type") != "kataribe-backup":
        raise UnreadableLine(Phrase("export.no_backup"))
    made = BackupHeader.model_validate(record)
    if (made.version, made.store_schema) != (FORMAT, newest_schema()):
        raise UnreadableLine(Phrase("export.other_schema", found=made.store_schema, known=newest_schema()))


def _tables() -> list[sa.Table]:
    """What others refer to comes first."""
    return sorted(SQLModel.metadata.sorted_tables, key=lambda table: table.name in _LAST)


def _raw(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """JSON as its text: so what is null in it stays apart from what is not there."""
    return sa.cast(column, sa.Text).label(column.name) if isinstance(column.type, sa.JSON) else column


def _inserting(table: sa.Table, dialect: str) -> sa.Insert:
    """The statement that takes such rows. SQLite holds JSON as text, and would make a number of what it is cast to."""
    texts = {one.name: sa.bindparam(one.name, type_=sa.Text) for one in table.c if isinstance(one.type, sa.JSON)}
    if dialect == "postgresql":
        return sa.insert(table).values({name: sa.cast(text, sa.JSON) for name, text in texts.items()})
    return sa.insert(table).values(texts)
