"""Owns the count of model calls and tokens per world, world day and role."""

from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col, select

from service.llm.chat import Role, Usage
from service.store.tables import UsageRow


def count(session: Session, world_id: str, day: int, role: Role, usage: Usage, *, failures: int = 0) -> None:
    """Add what a call cost to its row; safe when others add at the same moment."""
    values = {
        "calls": usage.calls,
        "failures": failures,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
    }
    dialect = session.get_bind().dialect.name
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    statement = insert(UsageRow).values(world_id=world_id, day=day, role=role, estimated=usage.estimated, **values)
    added = {name: getattr(UsageRow, name) + statement.excluded[name] for name in values}
    added["estimated"] = col(UsageRow.estimated) | statement.excluded["estimated"]
    session.execute(statement.on_conflict_do_update(index_elements=["world_id", "day", "role"], set_=added))


def usage_rows(session: Session, world_id: str) -> list[UsageRow]:
    """All rows of a world, by day and role."""
    query = select(UsageRow).where(UsageRow.world_id == world_id)
    return list(session.exec(query.order_by(col(UsageRow.day), col(UsageRow.role))))
