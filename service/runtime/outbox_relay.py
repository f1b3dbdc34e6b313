"""Owns the delivery of memories to a store outside our database: in order for each person, tried until it succeeds."""

import asyncio
import logging
import time
from collections import defaultdict

from sqlalchemy import tuple_
from sqlmodel import Session, col, func, select

from service.conversation.dependencies import ConversationDependencies
from service.errors import GraphUnavailable
from service.memory.outbox import hand_over, is_forget, is_of_conversation, take_back, waiting_groups
from service.memory.record import Delivery, Group
from service.store.tables import ConversationKey, ConversationRow, OutboxRow, SummaryRow

_log = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS = 30.0


class OutboxRelay:
    """Delivers what conversations left in the outbox; nothing where the memory is in our own database.

    The store takes a second delivery of the same episode for nothing new, so a crash between delivery and deletion,
    or two replicas at once, do no harm.
    """

    def __init__(self, deps: ConversationDependencies) -> None:
        self._deps = deps
        self._locks: defaultdict[Group, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def deliver_due(self) -> None:
        """Deliver for every person whose oldest entry is due."""
        if self._deps.memory.delivery is not None:
            for group in await self._deps.database.read(_due_groups):
                await self.deliver(group)

    async def deliver_conversation(self, key: ConversationKey) -> None:
        """Deliver for all who were in the conversation."""
        if self._deps.memory.delivery is not None:
            for group in await self._deps.database.read(lambda s: waiting_groups(s, key)):
                await self.deliver(group)

    async def deliver(self, group: Group) -> None:
        """Deliver the person's entries, oldest first, until none is left or the store is away."""
        delivery = self._deps.memory.delivery
        if delivery is None:
            return
        async with self._locks[group]:
            while row := await self._deps.database.read(lambda s: _oldest(s, group)):
                if not await self._hand_over(delivery, row):
                    return

    async def _hand_over(self, delivery: Delivery, row: OutboxRow) -> bool:
        try:
            await hand_over(delivery, row)
        except Exception as exc:  # noqa: BLE001 - one that cannot be written must not keep others from being written
            level = logging.WARNING if isinstance(exc, GraphUnavailable) else logging.ERROR
            _log.log(level, "the memory of conversation %s waits: %s", row.conversation_id, exc, exc_info=exc)
            reason = str(exc)
            await self._deps.database.write(lambda s: _postpone(s, row, reason))
            return False
        if not await self._deps.database.write(lambda s: _done(s, row)):
            await take_back(delivery, row)  # it was forgotten while it was on the way
        return True


def waiting(session: Session, world_id: str) -> int:
    """How many conversations' memories of a world the store still has to be given."""
    talks = func.count(func.distinct(OutboxRow.conversation_id))
    query = select(talks).where(OutboxRow.world_id == world_id)
    return session.exec(query).one()


def _due_groups(session: Session) -> list[Group]:
    person = (col(OutboxRow.world_id), col(OutboxRow.person_id))
    heads = select(*person, func.min(OutboxRow.revision)).group_by(*person)
    query = select(OutboxRow).where(tuple_(*person, col(OutboxRow.revision)).in_(heads), OutboxRow.due <= time.time())
    return [Group(world_id=row.world_id, person_id=row.person_id) for row in session.exec(query)]


def _oldest(session: Session, group: Group) -> OutboxRow | None:
    query = select(OutboxRow).where(*group.owns(OutboxRow))
    return session.exec(query.order_by(col(OutboxRow.revision)).limit(1)).first()


def _entry(session: Session, row: OutboxRow) -> OutboxRow | None:
    """The row as it stands; None where it is gone."""
    return session.get(OutboxRow, (row.world_id, row.person_id, row.revision))


def _done(session: Session, delivered: OutboxRow) -> bool:
    """Take it off the list; False where what was remembered has been forgotten meanwhile."""
    row = _entry(session, delivered)
    # A world that was forgotten and begun anew counts its revisions anew: another entry may stand there.
    is_there = row is not None and row.conversation_id == delivered.conversation_id
    if is_there:
        session.delete(row)
    if not is_of_conversation(delivered):
        return is_forget(delivered) or is_there
    summary = session.get(SummaryRow, (delivered.world_id, delivered.person_id, delivered.conversation_id))
    if summary is not None:
        summary.delivered = True
    return session.get(ConversationRow, (delivered.world_id, delivered.conversation_id)) is not None


def _postpone(session: Session, failed: OutboxRow, reason: str) -> None:
    row = _entry(session, failed)
    if row is not None:
        row.attempts += 1
        row.due = time.time() + min(LONGEST_WAIT_SECONDS, 2.0**row.attempts)
        row.last_error = reason
