"""Owns forgetting: a whole world, or all that one character lived through."""

from typing import Any

from sqlalchemy import ColumnElement, delete, exists
from sqlmodel import Session, col, select

from service.conversation.transcript import takes_part
from service.decision.agent_state import AgentState
from service.errors import WorldInUse
from service.memory.store import Group, MemoryStore
from service.runtime.availability import require_free
from service.runtime.world_session import WorldSession
from service.store.event_kinds import Forgot
from service.store.events import note
from service.store.phase import ClockPolicy
from service.store.tables import (
    AttitudeChangeRow,
    CommitmentRow,
    ConversationRow,
    CorrectionRow,
    DecisionRow,
    EngagementRow,
    EventRow,
    FactRow,
    IdempotencyRow,
    InsightRow,
    LifeRow,
    MemoryAuditRow,
    MemoryOwnerRow,
    MidTermRow,
    MoodRow,
    MovementRow,
    NoticeRow,
    OutboxRow,
    ParticipantRow,
    PastSummaryRow,
    PastTurnRow,
    PendingEventRow,
    PersonRow,
    ReflectionRow,
    SeedRow,
    SelfFactRow,
    SummaryRow,
    TalkRow,
    UsageRow,
    VectorRow,
    WorldRow,
)

_DUE = ("running", "closing")

_MINE = (
    SummaryRow,
    OutboxRow,
    MidTermRow,
    MoodRow,
    SelfFactRow,
    InsightRow,
    ReflectionRow,
    SeedRow,
    PastTurnRow,
    PastSummaryRow,
    CorrectionRow,
    MemoryAuditRow,
)
"""What a character keeps for itself of what it lived through."""

_REST = (
    AttitudeChangeRow,
    CommitmentRow,
    ConversationRow,
    DecisionRow,
    PersonRow,
    EngagementRow,
    EventRow,
    FactRow,
    IdempotencyRow,
    LifeRow,
    MemoryOwnerRow,
    MovementRow,
    NoticeRow,
    TalkRow,
    PendingEventRow,
    UsageRow,
    VectorRow,
)


def forget_world(session: Session, memory: MemoryStore, world_id: str) -> list[str]:
    """Remove every row of a world that stands; the caller commits. Answers those who remembered something.

    Raises:
        WorldInUse: conversations that clients started run or are being closed.
    """
    session.get(WorldRow, world_id, with_for_update=True)
    _require_quiet(session, world_id, ConversationRow.clock_policy == ClockPolicy.NONE)
    people = _who_lived(session, world_id)
    for table in (*_MINE, *_REST):
        session.execute(delete(table).where(col(table.world_id) == world_id))
    session.execute(delete(WorldRow).where(col(WorldRow.id) == world_id))
    for person_id in people:
        memory.forget(session, Group(world_id=world_id, person_id=person_id))
    return people


def forget_character(session: Session, memory: MemoryStore, world_session: WorldSession, character_id: str) -> None:
    """Remove all that the character lived through, and that NPCs met it: they do not know it any more. What NPCs told
    about themselves stays, and so does what other characters remember of their talks with it.

    The caller commits.

    Raises:
        NotFound: no such character.
        Busy: it talks.
        WorldInUse: a talk of it is being closed.
    """
    world = world_session.world
    world.character(character_id)
    require_free(session, world_session, character_id)
    _require_quiet(session, world.id, takes_part(character_id))
    for table in _MINE:
        session.execute(delete(table).where(col(table.world_id) == world.id, col(table.person_id) == character_id))
    _let_npcs_forget(session, memory, world_session, character_id)
    _forget_talks(session, world_session, character_id)
    _forget_attitudes(session, world_session, character_id)
    world_session.agent_states[character_id] = AgentState()
    world_session.core.changed_people.add(character_id)
    memory.forget(session, Group(world_id=world.id, person_id=character_id))
    note(session, world.id, world.now, Forgot(), character_id)


def _let_npcs_forget(session: Session, memory: MemoryStore, world_session: WorldSession, character_id: str) -> None:
    world_id, npcs = world_session.world.id, list(world_session.world.cast.npcs)
    of_it = (
        col(SummaryRow.world_id) == world_id,
        col(SummaryRow.person_id).in_(npcs),
        col(SummaryRow.partner_id) == character_id,
    )
    given = (
        col(SeedRow.world_id) == world_id,
        col(SeedRow.person_id).in_(npcs),
        col(SeedRow.partner_id) == character_id,
    )
    remember = session.exec(select(SummaryRow.person_id).where(*of_it).distinct()).all()
    were_given = session.exec(select(SeedRow.person_id).where(*given).distinct()).all()
    for npc_id in sorted({*remember, *were_given}):
        memory.forget(session, Group(world_id=world_id, person_id=npc_id), character_id)
    session.execute(delete(SummaryRow).where(*of_it))
    drawn = select(InsightRow).where(InsightRow.world_id == world_id, col(InsightRow.person_id).in_(npcs))
    for insight in session.exec(drawn).all():
        if character_id in insight.partner_ids:
            session.delete(insight)
    session.execute(
        delete(MidTermRow).where(
            col(MidTermRow.world_id) == world_id,
            col(MidTermRow.person_id).in_(npcs),
            col(MidTermRow.partner_id) == character_id,
        )
    )
    by, to = col(CommitmentRow.by_id), col(CommitmentRow.to_id)
    promised = (by == character_id) | (by.in_(npcs) & (to == character_id))
    session.execute(delete(CommitmentRow).where(col(CommitmentRow.world_id) == world_id, promised))


def _forget_talks(session: Session, world_session: WorldSession, character_id: str) -> None:
    """Those that nobody else remembers."""
    session.flush()
    remembered = exists().where(
        col(SummaryRow.world_id) == col(ConversationRow.world_id),
        col(SummaryRow.conversation_id) == col(ConversationRow.id),
    )
    session.execute(
        delete(ConversationRow).where(
            col(ConversationRow.world_id) == world_session.world.id,
            takes_part(character_id),
            ~remembered,
        )
    )


def _forget_attitudes(session: Session, world_session: WorldSession, character_id: str) -> None:
    """How it stood to everybody, and how NPCs stood to it; how other characters stand to it is theirs."""
    owner, other = col(AttitudeChangeRow.owner_id), col(AttitudeChangeRow.other_id)
    npcs_to_it = owner.in_(list(world_session.world.cast.npcs)) & (other == character_id)
    here = col(AttitudeChangeRow.world_id) == world_session.world.id
    session.execute(delete(AttitudeChangeRow).where(here, (owner == character_id) | npcs_to_it))


def _who_lived(session: Session, world_id: str) -> list[str]:
    began = session.exec(select(ParticipantRow.person_id).where(ParticipantRow.world_id == world_id).distinct())
    remember = session.exec(select(SummaryRow.person_id).where(SummaryRow.world_id == world_id).distinct())
    given = session.exec(select(SeedRow.person_id).where(SeedRow.world_id == world_id).distinct())
    return sorted({*began, *remember, *given})


def _require_quiet(session: Session, world_id: str, *which: ColumnElement[bool] | bool) -> None:
    due: tuple[Any, ...] = (ConversationRow.world_id == world_id, col(ConversationRow.phase).in_(_DUE), *which)
    running = session.exec(select(ConversationRow.id).where(*due)).all()
    if running:
        raise WorldInUse(world_id=world_id, count=len(running))
