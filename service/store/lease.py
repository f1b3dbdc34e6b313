"""Owns leases: which process works on a row, and until when (machine time). No two replicas work on it at once."""

import time
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, or_, update
from sqlalchemy.orm import InstrumentedAttribute
from sqlmodel import Session


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Two columns of a table: who holds the row (None: nobody), and until when. One that has run out is nobody's."""

    holder: InstrumentedAttribute[str | None]
    until: InstrumentedAttribute[float]

    def is_open_to(self, holder_id: str) -> ColumnElement[bool]:
        """The condition that nobody else holds a row."""
        return or_(self.holder.is_(None), self.holder == holder_id, self.until < time.time())

    def take(
        self, session: Session, holder_id: str, seconds: float, *which: ColumnElement[bool], **also: ColumnElement[Any]
    ) -> int:
        """Take those of the rows that nobody else holds, for so many seconds, and set what `also` says; answers how
        many they are.
        """
        rows = self._update(*which, self.is_open_to(holder_id)).values(**also)
        held = session.execute(rows.values({self.holder: holder_id, self.until: time.time() + seconds}))
        return cast("CursorResult[Any]", held).rowcount

    def extend(self, session: Session, holder_id: str, seconds: float, *which: ColumnElement[bool]) -> None:
        """Hold for longer what is held already."""
        rows = self._update(*which, self.holder == holder_id)
        session.execute(rows.values({self.until: time.time() + seconds}))

    def give_back(self, session: Session, *which: ColumnElement[bool]) -> None:
        """Nobody holds these rows from now on, whoever did."""
        session.execute(self._update(*which).values({self.holder: None}))

    def _update(self, *which: ColumnElement[bool]) -> Any:
        return update(self.holder.class_).where(*which).execution_options(synchronize_session=False)
