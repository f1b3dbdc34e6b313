"""Owns when a conversation waits for a human, or for somebody to let it go on, and when it has waited too long."""

import time

from sqlalchemy import ColumnElement
from sqlmodel import Session, and_, col, func, or_, select

from service.people.worlds import WorldView
from service.store.phase import EndReason, Phase, Speaker
from service.store.tables import ConversationKey, ConversationRow, TurnRow, WorldRow

SECONDS_PER_MINUTE = 60


def let_speak(row: ConversationRow, step: int | EndReason, world: WorldView) -> None:
    """Where the next to speak is a human, the conversation waits from now on: nobody works on it meanwhile."""
    awaited = None if isinstance(step, EndReason) else row.participants[step]
    waits = awaited is not None and awaited.speaker == Speaker.HUMAN
    now = (0, awaited.person_id if awaited is not None and waits else None)
    if (row.attempts, row.awaits) != now:
        row.attempts, row.awaits = now
    if waits:
        row.silent_at, row.silent_at_minute = _silent_from(row, world)
        row.runner = None


def keep_waiting(row: ConversationRow, world: WorldView) -> None:
    """The human whose words are awaited still listens: its silence begins now."""
    if row.awaits is not None:
        row.silent_at, row.silent_at_minute = _silent_from(row, world)


def silent(session: Session) -> list[ConversationKey]:
    """Conversations in which a human has said nothing for too long."""
    by_machine, by_world = col(ConversationRow.silent_at), col(ConversationRow.silent_at_minute)
    query = (
        select(ConversationRow.world_id, ConversationRow.id)
        .join(WorldRow, col(WorldRow.id) == ConversationRow.world_id)
        .where(
            ConversationRow.phase == Phase.RUNNING,
            col(ConversationRow.awaits).is_not(None),
            or_(by_machine.between(1, time.time()), by_world.between(1, col(WorldRow.now))),
        )
    )
    return [ConversationKey(*found) for found in session.exec(query.order_by(col(ConversationRow.id)))]


def stands() -> ColumnElement[bool]:
    """The condition that a conversation waits for somebody to let it go on."""
    said = select(func.count()).where(
        TurnRow.world_id == ConversationRow.world_id, TurnRow.conversation_id == ConversationRow.id
    )
    waits = col(ConversationRow.stands_at) <= said.scalar_subquery()
    return and_(ConversationRow.phase == Phase.RUNNING, col(ConversationRow.stands_at).is_not(None), waits)


def is_silent(row: ConversationRow, world: WorldView) -> bool:
    """Whether a human has said nothing in it for too long."""
    over = 0 < row.silent_at <= time.time() or 0 < row.silent_at_minute <= world.now
    return row.awaits is not None and over


def _silent_from(row: ConversationRow, world: WorldView) -> tuple[float, int]:
    """From when on silence is too long, in machine time and in world time; 0: never."""
    minutes, world_minutes = world.settings.silence_minutes, world.settings.silence_world_minutes
    if row.chat_idle_minutes is not None:
        minutes, world_minutes = row.chat_idle_minutes, 0
    return (
        time.time() + minutes * SECONDS_PER_MINUTE if minutes else 0.0,
        world.now + world_minutes if world_minutes else 0,
    )
