"""Owns the forgetting of a whole world: every row, and every memory group."""

from sqlalchemy import delete
from sqlmodel import Session, col, select

from service.errors import WorldInUse
from service.store.tables import (
    CharacterRow,
    ConversationRow,
    DailyConversationRow,
    EngagementRow,
    EventRow,
    IdempotencyRow,
    MidTermRow,
    MovementRow,
    NpcFactRow,
    NpcRow,
    OutboxRow,
    RelationRow,
    SummaryRow,
    UsageRow,
    WorldRow,
)

_DUE = ("running", "closing")


def forget_world(session: Session, world_id: str) -> None:
    """Remove every row of the world; the caller commits, then lets the memory graph forget it too.

    Raises:
        WorldInUse: conversations run or are being closed.
    """
    session.get(WorldRow, world_id, with_for_update=True)
    talk = select(ConversationRow.id).where(ConversationRow.world_id == world_id, col(ConversationRow.phase).in_(_DUE))
    running = session.exec(talk).all()
    if running:
        raise WorldInUse(world_id=world_id, count=len(running))
    for table in (
        SummaryRow,
        ConversationRow,
        CharacterRow,
        DailyConversationRow,
        EngagementRow,
        EventRow,
        IdempotencyRow,
        MidTermRow,
        MovementRow,
        NpcFactRow,
        NpcRow,
        OutboxRow,
        RelationRow,
        UsageRow,
    ):
        session.execute(delete(table).where(col(table.world_id) == world_id))
    session.execute(delete(WorldRow).where(col(WorldRow.id) == world_id))
