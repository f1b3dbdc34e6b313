"""Owns which process works on a row: it holds the row for as long as it lives, and no two replicas work on it at once.

Who lives PostgreSQL itself says: each process keeps a connection with an advisory lock of its own, which ends with it.
A SQLite database is one process's (see DataLock): whoever else held a row is gone.
"""

import secrets
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    CursorResult,
    Integer,
    NullPool,
    String,
    column,
    create_engine,
    func,
    not_,
    or_,
    select,
    table,
    text,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import InstrumentedAttribute
from sqlmodel import Session

from service.errors import Misconfigured
from service.locales import Phrase

_LOCK = 7203916
"""Namespace of PostgreSQL's advisory locks of the processes that live."""


class Presence:
    """This process among those that share a database; `show` is to be called every few seconds."""

    def __init__(self, url: URL) -> None:
        self._process = secrets.randbelow(2**31)
        self._numbers = count()
        self._engine = None
        if url.get_backend_name() == "postgresql":
            self._engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._connection: Connection | None = None

    def new_holder(self) -> str:
        """A name under which a part of this process holds rows."""
        self.show()
        return f"{self._process}-{next(self._numbers)}"

    def show(self) -> None:
        """Keep the connection that says that this process lives; one that was lost is made anew.

        Raises:
            OperationalError: the database is away.
        """
        if self._engine is None:
            return
        if self._connection is not None:
            with suppress(DBAPIError):
                self._connection.execute(text("SELECT 1"))
                return
            self.close()
        self._connection = self._engine.connect()
        # A machine that is cut off is gone after some ten seconds: by itself a server would wait for two hours.
        for name, value in (("idle", 5), ("interval", 2), ("count", 3)):
            self._connection.execute(text(f"SET tcp_keepalives_{name} = {value}"))
        self._connection.execute(select(func.pg_try_advisory_lock(_LOCK, self._process)))

    def close(self) -> None:
        """Say nothing any more: what this process holds is everybody's."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DBAPIError):
                connection.close()


def require_unserved(session: Session) -> None:
    """Raises: Misconfigured: a process that serves the PostgreSQL database lives."""
    if session.get_bind().dialect.name == "postgresql":
        here = text("SELECT oid FROM pg_database WHERE datname = current_database()").columns(column("oid", Integer))
        served = select(_LOCKS.c.objid).where(*_LIVES, _LOCKS.c.database == here.scalar_subquery())
        if session.execute(served).first() is not None:
            raise Misconfigured(setting="KATARIBE_DATABASE_URL", reason=Phrase("settings.database_served"))


_LOCKS = table("pg_locks", *map(column, ("locktype", "database", "classid", "objid", "objsubid")))
_LIVES = (_LOCKS.c.locktype == "advisory", _LOCKS.c.classid == _LOCK, _LOCKS.c.objsubid == 2)
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

    def take(self, session: Session, holder_id: str, *which: ColumnElement[bool], **also: ColumnElement[Any]) -> int:
        """Take those of the rows that nobody else holds, and set what `also` says; answers how many they are."""
        rows = self._update(*which, self.is_open_to(session, holder_id)).values(**also)
        held = session.execute(rows.values({self.holder: holder_id}))
        return cast("CursorResult[Any]", held).rowcount

    def give_back(self, session: Session, *which: ColumnElement[bool]) -> None:
        """Nobody holds these rows from now on, whoever did."""
        session.execute(self._update(*which).values({self.holder: None}))

    def _update(self, *which: ColumnElement[bool]) -> Any:
        return update(self.holder.class_).where(*which).execution_options(synchronize_session=False)
