"""Owns the count of model calls and tokens per world, world day and what they were for."""

from typing import Literal

from sqlmodel import Session, col, select

from service.llm.chat import Role
from service.store.insert import upsert_rows
from service.store.shown import Out
from service.store.tables import UsageRow
from service.usage import Usage

Purpose = Role | Literal["attitude", "long_term", "survey", "guess"]
"""What calls are counted for: a role, the attitude that is judged before a turn, by its speaker's model, what is
proposed of a scene, by the closing's, or what somebody is asked from outside of the world, by its own. What is checked
before it counts is `quality`: its marks, and what is made anew for them, whoever's model that is. A `guess` was asked
in vain.
"""

_SUMS = ("calls", "failures", "prompt_tokens", "completion_tokens", "cached_tokens", "money", "estimated")


class CostOut(Out, of=Usage, shows="calls prompt_tokens completion_tokens"):
    """Model calls and tokens."""


def count(session: Session, world_id: str, day: int, role: Purpose, usage: Usage) -> None:
    """Add what a call cost to its row; safe when others add at the same moment."""
    added = {"world_id": world_id, "day": day, "role": role, **{name: getattr(usage, name) for name in _SUMS}}
    upsert_rows(session, UsageRow, [added], sums=_SUMS)


def usage_rows(session: Session, world_id: str) -> list[UsageRow]:
    """All rows of a world, by day and role."""
    query = select(UsageRow).where(UsageRow.world_id == world_id)
    return list(session.exec(query.order_by(col(UsageRow.day), col(UsageRow.role))))
