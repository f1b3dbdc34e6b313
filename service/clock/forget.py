"""Owns forgetting: a whole world, or all that one character lived through. The memory graph's part goes by the outbox."""

from typing import Any

from sqlalchemy import ColumnElement, delete
from sqlmodel import Session, col, select

from service.errors import WorldInUse
from service.memory.write import forget_entry
from service.store.events import note
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
from world.time import WorldTime

_DUE = ("running", "closing")

_LIVED = (SummaryRow, ConversationRow, DailyConversationRow, MidTermRow, OutboxRow, RelationRow)
"""What a character lived through, and how the NPCs it met stand to it."""

_REST = (CharacterRow, EngagementRow, EventRow, IdempotencyRow, MovementRow, NpcFactRow, NpcRow, UsageRow)


def forget_world(session: Session, world_id: str) -> list[str]:
    """Remove every row of the world; the caller commits. Answers the characters whose memory the graph is yet to forget.

    Raises:
        WorldInUse: conversations run or are being closed.
    """
    session.get(WorldRow, world_id, with_for_update=True)
    _require_quiet(session, world_id)
    lived = select(ConversationRow.character_id).where(ConversationRow.world_id == world_id).distinct()
    characters = sorted(session.exec(lived))
    for table in (*_LIVED, *_REST):
        session.execute(delete(table).where(col(table.world_id) == world_id))
    session.execute(delete(WorldRow).where(col(WorldRow.id) == world_id))
    session.add_all(forget_entry(world_id, character_id) for character_id in characters)
    return characters


def forget_character(session: Session, world_id: str, character_id: str, now: WorldTime) -> None:
    """Remove all that the character lived through, and that NPCs met it; what NPCs told about themselves stays.

    The caller commits.

    Raises:
        WorldInUse: it talks, or a talk of it is being closed.
    """
    _require_quiet(session, world_id, col(ConversationRow.character_id) == character_id)
    for table in _LIVED:
        session.execute(delete(table).where(col(table.world_id) == world_id, col(table.character_id) == character_id))
    session.add(forget_entry(world_id, character_id))
    note(session, world_id, now, "forgot", character_id)


def _require_quiet(session: Session, world_id: str, *which: ColumnElement[bool]) -> None:
    due: tuple[Any, ...] = (ConversationRow.world_id == world_id, col(ConversationRow.phase).in_(_DUE), *which)
    running = session.exec(select(ConversationRow.id).where(*due)).all()
    if running:
        raise WorldInUse(world_id=world_id, count=len(running))
