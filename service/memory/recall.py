"""Owns what a person remembers when it speaks or is asked: what is recent, and of what lasts that which answers."""

import logging
from dataclasses import dataclass

from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from service.errors import GraphUnavailable
from service.locales.time import ago
from service.memory.mid_term import mid_term_memories
from service.memory.store import Group, MemoryStore, Recalled
from service.people.attitude import STRANGERS, Attitude, attitudes_between
from service.people.person import night_of
from service.people.worlds import WorldView
from service.store.session import Database
from service.store.tables import (
    ConversationKey,
    ConversationRow,
    MidTermRow,
    ParticipantRow,
    SummaryRow,
    TurnRow,
    said_in,
)
from world.time import WorldTime

_log = logging.getLogger(__name__)

UNSETTLED_LINES = 6
"""How many last lines of a talk that is not yet remembered a speaker is reminded of."""


@dataclass(frozen=True, kw_only=True)
class RecentMemory:
    """What SQL holds of a person, and of it and a partner.

    `attitude` is how it stands to the partner, `partners` how the partner stands to it. `unsettled`: last lines of the
    two that no closing has remembered yet, oldest first. Without a partner there is neither of these, nor a
    `last_summary`.
    """

    attitude: Attitude
    partners: Attitude
    last_summary: SummaryRow | None
    mid_term: tuple[MidTermRow, ...]
    today: tuple[SummaryRow, ...]
    unsettled: tuple[TurnRow, ...]


@dataclass(frozen=True, kw_only=True)
class PersonMemory:
    """What a person remembers about a partner, or about anything.

    `found`: something of it bears on what was asked. `unavailable`: the store could not be asked, so `facts` is empty.
    """

    recent: RecentMemory
    facts: tuple[Recalled, ...]
    found: bool = True
    unavailable: GraphUnavailable | None = None


async def recall(
    database: Database,
    memory: MemoryStore,
    world: WorldView,
    person_id: str,
    partner_id: str | None,
    *,
    query: str,
    limit: int,
    history: bool = False,
    at: WorldTime | None = None,
) -> PersonMemory:
    """What the person remembers at the moment of `world`: about its partner; without one, about `query`.

    The facts are ordered by how well they answer `query`; `at` asks for them as of another moment.
    """
    recent = await database.read(lambda session: recent_memory(session, world, person_id, partner_id))
    try:
        facts = await memory.recall(
            Group(world_id=world.id, person_id=person_id),
            query,
            at=world.now if at is None else at,
            about=None if partner_id is None else world.name_of(partner_id),
            partner_id=partner_id,
            limit=limit,
            history=history,
        )
    except GraphUnavailable as exc:
        return PersonMemory(recent=recent, facts=(), found=False, unavailable=exc)
    met = recent.last_summary is not None and not query.strip()
    return PersonMemory(recent=recent, facts=tuple(facts), found=met or any(one.bears for one in facts))


async def remembered(
    memory: MemoryStore, world: WorldView, person_id: str, query: str, *, limit: int, partner_id: str | None = None
) -> list[Recalled]:
    """The facts about the partner (None: about anybody) that answer `query` best at the moment of `world`; nothing
    while the store is away, which keeps nobody from speaking.
    """
    if not limit:
        return []
    about = None if partner_id is None else world.name_of(partner_id)
    group = Group(world_id=world.id, person_id=person_id)
    try:
        return await memory.recall(group, query, at=world.now, about=about, partner_id=partner_id, limit=limit)
    except GraphUnavailable as exc:
        _log.warning("asked without long-term memory: %s", exc)
        return []


def recent_memory(session: Session, world: WorldView, person_id: str, partner_id: str | None) -> RecentMemory:
    """The SQL part of `recall`."""
    attitude, partners = STRANGERS, STRANGERS
    if partner_id is not None:
        attitude, partners = attitudes_between(session, world.id, person_id, partner_id, world.now)
    return RecentMemory(
        attitude=attitude,
        partners=partners,
        last_summary=None if partner_id is None else _last_summary(session, world, person_id, partner_id),
        mid_term=tuple(mid_term_memories(session, world, person_id)),
        today=tuple(todays_summaries(session, world, person_id)),
        unsettled=() if partner_id is None else tuple(_unsettled(session, world, person_id, partner_id)),
    )


def todays_summaries(session: Session, world: WorldView, person_id: str) -> list[SummaryRow]:
    """The conversations of the day the person lives at the moment of `world`, since it last slept; oldest first."""
    query = select(SummaryRow).where(
        SummaryRow.world_id == world.id,
        SummaryRow.person_id == person_id,
        SummaryRow.night == night_of(session, world, person_id),
        SummaryRow.at <= world.now,
    )
    return list(session.exec(query.order_by(col(SummaryRow.at), col(SummaryRow.conversation_id))))


def remembered_as(world: WorldView, recalled: Recalled) -> str:
    """A fact as a speaker is told it: with when it was learned."""
    fact = recalled.fact
    since = ago(fact.created_at, world.now, world.language, day_starts=world.settings.day_starts_minutes)
    return f"({since}) {fact.statement}"


def _last_summary(session: Session, world: WorldView, person_id: str, partner_id: str) -> SummaryRow | None:
    query = select(SummaryRow).where(
        SummaryRow.world_id == world.id,
        SummaryRow.person_id == person_id,
        SummaryRow.partner_id == partner_id,
        SummaryRow.at <= world.now,
    )
    return session.exec(query.order_by(col(SummaryRow.at).desc(), col(SummaryRow.conversation_id).desc())).first()


def _unsettled(session: Session, world: WorldView, person_id: str, partner_id: str) -> list[TurnRow]:
    one, other = aliased(ParticipantRow), aliased(ParticipantRow)
    query = (
        select(ConversationRow.id)
        .where(
            *(table.world_id == world.id for table in (ConversationRow, one, other)),
            one.conversation_id == ConversationRow.id,
            one.person_id == person_id,
            other.conversation_id == ConversationRow.id,
            other.person_id == partner_id,
            col(ConversationRow.phase).in_(("closing", "closing_failed")),
            col(ConversationRow.ended_at) <= world.now,
        )
        .order_by(col(ConversationRow.ended_at).desc(), col(ConversationRow.id).desc())
    )
    conversation_id = session.exec(query.limit(1)).first()
    if conversation_id is None:
        return []
    turns = select(TurnRow).where(*said_in(ConversationKey(world.id, conversation_id)))
    return list(reversed(session.exec(turns.order_by(col(TurnRow.turn).desc()).limit(UNSETTLED_LINES)).all()))
