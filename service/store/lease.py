"""Owns which process works on a row: it holds the row for as long as it lives, and no two replicas work on it at once.

Who lives PostgreSQL itself says (presence.py). A SQLite database is one process's (see DataLock): whoever else held a
row is gone.
"""

from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Integer,
    String,
    column,
    func,
    not_,
    or_,
    select,
    table,
    text,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import InstrumentedAttribute
from sqlmodel import Session

from service.errors import Misconfigured
from service.locales import Phrase
from service.store.presence import LOCK


def require_unserved(session: Session) -> None:
    """Raises: Misconfigured: a process that serves the PostgreSQL database lives."""
    if session.get_bind().dialect.name == "postgresql":
        here = text("SELECT oid FROM pg_database WHERE datname = current_database()").columns(column("oid", Integer))
        served = select(_LOCKS.c.objid).where(*_LIVES, _LOCKS.c.database == here.scalar_subquery())
        if session.execute(served).first() is not None:
            raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=Phrase("settings.database_served"))


_LOCKS = table("pg_locks", *map(column, ("locktype", "database", "classid", "objid", "objsubid")))
_LIVES = (_LOCKS.c.locktype == "advisory", _LOCKS.c.classid == LOCK, _LOCKS.c.objsubid == 2)
"""PostgreSQL's locks of the processes that live."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """A column of a table: who holds the row; None: nobody."""

    holder: InstrumentedAttribute[str | None]

    def is_open_to(self, session: Session, holder_id: str) -> ColumnElement[bool]:
        """The condition that nobody else who lives holds a row."""
        if session.get_bind().dialect.name == "sqlite":
            gone = not_(self.holder.startswith(f"{holder_id.partition('-')[0]}-"))
        else:
            living = select(sql_cast(_LOCKS.c.objid, String)).where(*_LIVES)
            gone = func.split_part(self.holder, "-", 1).not_in(living)
        return or_(self.holder.is_(None), self.holder == holder_id, gone)

    def take(self, session: Session, holder_id: str, *which: ColumnElement[bool]) -> int:
        """Take those of the rows that nobody else holds; answers how many they are."""
        rows = self._update(*which, self.is_open_to(session, holder_id))
        held = session.execute(rows.values({self.holder: holder_id}))
        return cast("CursorResult[Any]", held).rowcount

    def give_back(self, session: Session, *which: ColumnElement[bool]) -> None:
        """Nobody holds these rows from now on, whoever did."""
        session.execute(self._update(*which).values({self.holder: None}))

    def _update(self, *which: ColumnElement[bool]) -> Any:
        return update(self.holder.class_).where(*which).execution_options(synchronize_session=False)
