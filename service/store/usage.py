"""Owns the count of model calls and tokens per world, world day and what they were for."""

from functools import cache
from typing import Literal

from sqlalchemy import Executable
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, SQLModel, col, select

from service.llm.chat import Role
from service.store.tables import UsageRow
from service.usage import Usage

Purpose = Role | Literal["attitude", "long_term", "survey"]
"""What calls are counted for: a role, the attitude that is judged before a turn, by its speaker's model, what is
proposed of a scene, by the closing's, or what somebody is asked from outside of the world, by its own. What is checked
before it counts is `quality`: its marks, and what is made anew for them, whoever's model that is.
"""

_SUMS = ("calls", "failures", "prompt_tokens", "completion_tokens", "cached_tokens")


def count(session: Session, world_id: str, day: int, role: Purpose, usage: Usage, *, failures: int = 0) -> None:
    """Add what a call cost to its row; safe when others add at the same moment."""
    added = {
        "world_id": world_id,
        "day": day,
        "role": role,
        "calls": usage.calls,
        "failures": failures,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "estimated": usage.estimated,
    }
    session.connection().execute(_adding(session.get_bind().dialect.name), added)


@cache
def _adding(dialect: str) -> Executable:
    """The statement that inserts the row or adds to it; made once, for it is run at every turn."""
    table = SQLModel.metadata.tables[str(UsageRow.__tablename__)]
    insert = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    sums = {name: table.c[name] + insert.excluded[name] for name in _SUMS}
    estimated = table.c["estimated"] | insert.excluded["estimated"]
    key = [column.name for column in table.primary_key]
    return insert.on_conflict_do_update(index_elements=key, set_={**sums, "estimated": estimated})


def usage_rows(session: Session, world_id: str) -> list[UsageRow]:
    """All rows of a world, by day and role."""
    query = select(UsageRow).where(UsageRow.world_id == world_id)
    return list(session.exec(query.order_by(col(UsageRow.day), col(UsageRow.role))))
