"""Owns what a character recalls when it decides: the day's talks, mid-term memories, and long-term memory."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import BindParameter, bindparam, func, select
from sqlmodel import Session, col

from service.decision.dependencies import DecisionDependencies
from service.memory.mid_term import OnMind, mid_term_memories
from service.memory.recall import remembered
from service.memory.record import Recalled
from service.memory.refs import MemoryKind
from service.memory.secrets import discretion
from service.people.worlds import WorldView
from service.store.tables import PersonRow, SummaryRow

MAX_REMEMBERED = 4
"""Facts that a decision is told; a talk is told more of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TalkSummary:
    """A talk of this day, as it was remembered."""

    conversation_id: str
    partner_id: str
    summary: str


@dataclass(frozen=True, kw_only=True)
class Recent:
    """Unexpired mid-term memories, the most urgent last, without promises; the day's talks, oldest first; what the character carries."""

    mid_term: tuple[OnMind, ...]
    today: tuple[TalkSummary, ...]
    items: tuple[str, ...]


async def recent(deps: DecisionDependencies, world: WorldView, character_id: str) -> Recent:
    """The SQL part, in one read. What would give a secret away is left out: others see what is decided."""
    kept = discretion(world.character(character_id))

    def work(session: Session) -> Recent:
        asked = {"world": world.id, "character": character_id, "now": world.now}
        return Recent(
            mid_term=tuple(
                one
                for one in mid_term_memories(session, world, character_id)[character_id]
                if not one.ref.startswith(f"{MemoryKind.PROMISE}:") and kept.lets(one.content)
            ),
            today=tuple(
                TalkSummary(conversation_id=i, partner_id=p, summary=s if kept.lets(s) else "…")
                for i, p, s in session.execute(_TODAY, asked)
            ),
            items=tuple(session.scalar(_ITEMS, asked) or ()),
        )

    return await deps.database.read(work)


async def facts_recalled(
    deps: DecisionDependencies, world: WorldView, character_id: str, query: str, today: Collection[str]
) -> tuple[Recalled, ...]:
    """Facts of the long-term memory that answer `query`; none while that memory is away.

    What comes from the conversations `today` (their ids) is left out: their summaries are told; and so is what would
    give a secret away, which no decision needs.
    """
    limit = deps.settings.memory.recall_limit
    found = await remembered(deps.memory, world, character_id, query, limit=2 * limit)
    known = discretion(world.character(character_id)).known(found, world)
    older = [one for one in known if one.memory.conversation_id not in today]
    return tuple(older[: min(limit, MAX_REMEMBERED)])


_WORLD: BindParameter[str] = bindparam("world")
_CHARACTER: BindParameter[str] = bindparam("character")
_NOW: BindParameter[int] = bindparam("now")
_NIGHT = (
    select(col(PersonRow.sleeps))
    .where(col(PersonRow.world_id) == _WORLD, col(PersonRow.person_id) == _CHARACTER)
    .scalar_subquery()
)
_TODAY = (
    select(col(SummaryRow.conversation_id), col(SummaryRow.partner_id), col(SummaryRow.summary))
    .where(col(SummaryRow.world_id) == _WORLD, col(SummaryRow.person_id) == _CHARACTER)
    .where(col(SummaryRow.night) == func.coalesce(_NIGHT, 0), col(SummaryRow.at) <= _NOW, col(SummaryRow.summary) != "")
    .order_by(col(SummaryRow.at), col(SummaryRow.conversation_id))
)
_ITEMS = select(col(PersonRow.items)).where(col(PersonRow.world_id) == _WORLD, col(PersonRow.person_id) == _CHARACTER)
