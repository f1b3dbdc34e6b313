"""Owns the question whether the long-term memory still is the one of these worlds: of each it must hold what it was
given.
"""

from sqlmodel import Session, and_, col, select

from service.errors import MemoryMissing
from service.memory.memory_store import MemoryStore
from service.memory.record import Group
from service.store.session import Database
from service.store.tables import ParticipantRow, SummaryRow, WorldRow


async def require_complete(database: Database, memory: MemoryStore) -> None:
    """Ask a memory outside our database for the first and the last conversation of each world that the memory has been
    given.

    A memory that was emptied or replaced by another world's lacks the first, one replaced by an older copy the last.

    Raises:
        MemoryMissing: it does not hold one of them.
        GraphUnavailable.
    """
    delivery = memory.delivery
    if delivery is None:
        return
    for summary in await database.read(_witnesses):
        group = Group(world_id=summary.world_id, person_id=summary.person_id)
        if not await delivery.holds(group, summary.conversation_id):
            raise MemoryMissing(
                backend=memory.name,
                setting="KATARIBE_MEMORY__NEO4J_URI",
                reason="missing",
                world_id=summary.world_id,
                character_id=summary.person_id,
                conversation_id=summary.conversation_id,
            )


def _witnesses(session: Session) -> list[SummaryRow]:
    """Of each world the first and the last that was delivered, as who began it remembers it: a character, who can be
    let forget it.
    """
    found: list[SummaryRow] = []
    key = col(SummaryRow.conversation_id)
    began = (
        ParticipantRow.world_id == SummaryRow.world_id,
        ParticipantRow.conversation_id == key,
        ParticipantRow.person_id == SummaryRow.person_id,
        ParticipantRow.seat == 0,
    )
    for world_id in session.exec(select(WorldRow.id).order_by(col(WorldRow.id))).all():
        given = (
            select(SummaryRow)
            .join(ParticipantRow, and_(*began))
            .where(SummaryRow.world_id == world_id, col(SummaryRow.delivered))
            .limit(1)
        )
        for order in (key.asc(), key.desc()):
            found += session.exec(given.order_by(order)).all()
    return found
