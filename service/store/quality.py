"""Owns what is kept of checks of quality: rows of marks, and what calls of a check have come to so far."""

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from sqlmodel import Session, col, select

from service.store.tables import QualityRow
from service.usage import Usage

T = TypeVar("T")

MARKED = tuple(name for name in QualityRow.model_fields if name not in ("world_id", "id"))
"""What of a row is set anew where somebody decides again at the same minute."""

QualityOutcome = Literal["passed", "again", "corrected", "best", "unscored"]
"""It passed as it was first made; made again; corrected; nothing passed, and it is the best; the judge failed."""


@dataclass(kw_only=True)
class Tally:
    """Calls of models as they are made."""

    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        """Count some more."""
        self.usage += usage


@dataclass(frozen=True, kw_only=True)
class CheckedAnswer(Generic[T]):
    """What is taken after a check, and what is kept of that; the row's cost comes beside that of the first attempt."""

    value: T
    row: QualityRow
    usage: Usage


def quality_rows(
    session: Session, world_id: str, *, role: str | None = None, person_id: str | None = None
) -> list[QualityRow]:
    """Those of the world, of that role and person (None: any), by time."""
    wanted = {"world_id": world_id, "role": role, "person_id": person_id}
    query = select(QualityRow).filter_by(**{name: one for name, one in wanted.items() if one is not None})
    return list(session.exec(query.order_by(col(QualityRow.at), col(QualityRow.id))))
