"""Owns who carries which conversation: each goes from running through closing to closed, whatever stops on the way.

The conversation's row says how far it is, so that is all that is needed to go on after a crash. A lease on the row
keeps replicas from carrying the same one; see docs/decisions/0003-the-row-is-the-workflow.md. Where turns
take world time (`ClockPolicy.MINUTE`) the living world carries it, and it is left alone here.
"""

import asyncio
import logging
from functools import partial

from sqlalchemy import tuple_
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from service.conversation.action_results import expire, late
from service.conversation.closing import machine_time, reopen
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.game_actions import holds_up
from service.conversation.human import leave_in_silence
from service.conversation.stream import Ended, Settled, Stored
from service.conversation.turn_taking import silent, stands
from service.errors import BudgetExhausted, CassetteMiss, WorldRestored
from service.runtime.memory_jobs import GraphRelay
from service.runtime.tasks import cancel, repeat
from service.store.ids import new_id
from service.store.lease import Lease
from service.store.phase import ClockPolicy, EndReason, Phase
from service.store.tables import ConversationKey, ConversationRow

_log = logging.getLogger(__name__)

LEASE_SECONDS = 30.0
SWEEP_SECONDS = 2.0
_DUE = (Phase.RUNNING.value, Phase.CLOSING.value)
_GOES_ON = (col(ConversationRow.phase).in_(_DUE), col(ConversationRow.awaits).is_(None), ~stands())
_IS_DUE = (col(ConversationRow.clock_policy) == ClockPolicy.NONE, *_GOES_ON, ~holds_up())
_KEY = tuple_(col(ConversationRow.world_id), col(ConversationRow.id))
_CARRIES = Lease(holder=ConversationRow.runner, until=ConversationRow.lease_until)  # type: ignore[arg-type] # columns


class ConversationRunner:
    """Carries the conversations of this process."""

    def __init__(
        self, deps: ConversationDependencies, *, sweep_seconds: float = SWEEP_SECONDS, carries: bool = True
    ) -> None:
        """Every `sweep_seconds` (machine time) it looks for what nobody carries, and for memories that wait. Where it
        carries none, somebody else says what is spoken and closed when.
        """
        self.graph = GraphRelay(deps)
        self._deps = deps
        self._engine = Engine(deps)
        self._sweep_seconds = sweep_seconds
        self._carries = carries
        self._id = new_id()
        self._tasks: dict[ConversationKey, asyncio.Task[None]] = {}
        self._store_failed: dict[ConversationKey, OperationalError] = {}
        self._reopened_on = ""
        self._sweepers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Take up what a former process left, and look after it from now on."""
        if self._deps.database.is_sqlite:  # one process: whoever held a lease is gone
            await self._deps.database.write(lambda s: _CARRIES.give_back(s, *_IS_DUE))
        # Apart from each other: a memory graph that is slow to answer must not let the leases run out.
        works = (self._sweep, self.graph.deliver_due) if self._carries else (self.graph.deliver_due,)
        self._sweepers = [asyncio.create_task(repeat(work, self._sweep_seconds)) for work in works]

    async def stop(self) -> None:
        """Let go of everything; what is committed stays, and the next process goes on from there."""
        await cancel([*self._tasks.values(), *self._sweepers])
        await self._deps.database.write(lambda s: _CARRIES.give_back(s, col(ConversationRow.runner) == self._id))

    def submit(self, key: ConversationKey) -> None:
        """Carry the conversation on from where it stands; nothing if this process does so already."""
        if self._carries and key not in self._tasks:
            task = asyncio.create_task(self._carry(key))
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def carry_on(self, key: ConversationKey) -> None:
        """Carry the conversation on, for a human has spoken: also where this process is just about to let it go."""
        task = self._tasks.get(key)
        if task is None:
            self.submit(key)
        else:
            task.add_done_callback(lambda _: self.submit(key))

    async def interrupt(self, key: ConversationKey) -> None:
        """Drop the utterance in the making, if any, and carry the conversation on from what is committed."""
        await self.drop(key)
        self.submit(key)

    async def drop(self, key: ConversationKey) -> None:
        """Drop the utterance in the making, if any."""
        task = self._tasks.get(key)
        if task is not None:
            await cancel([task])

    async def abandon(self, world_id: str) -> None:
        """Let go of all that is said and remembered in the world, and of what is known of its conversations: the world
        is brought back to an earlier moment.
        """
        await cancel([task for key, task in self._tasks.items() if key.world_id == world_id])
        self._engine.begin_anew(world_id)

    async def wait(self, key: ConversationKey) -> None:
        """Return when the conversation is closed, its closing has failed, it is forgotten, stands, or waits for a
        human.

        Raises:
            OperationalError: as `require_store`.
        """
        while True:
            task = self._tasks.get(key)
            if task is not None:
                await asyncio.wait([task])
            self.require_store(key)
            if not await self._deps.database.read(lambda s: _is_due(s, key)) and key not in self._tasks:
                return
            await asyncio.sleep(0.05)

    def require_store(self, key: ConversationKey) -> None:
        """Raises: OperationalError: the store failed while the conversation was carried. The sweep tries it again."""
        if key in self._store_failed:
            raise self._store_failed[key]

    async def _carry(self, key: ConversationKey) -> None:
        self._store_failed.pop(key, None)
        try:
            if await self._deps.database.write(lambda s: _claim(s, key, self._id)):
                await self._advance(key)
                return
            row = await self._deps.database.read(lambda s: s.get_one(ConversationRow, key))
            if row.phase not in _DUE:
                self._deps.stream.tell(key, Settled())
        except WorldRestored:
            return  # what is still to be said or remembered, the sweep finds
        except CassetteMiss as miss:
            await self._engine.give_up(key, miss)
        except Exception as exc:  # noqa: BLE001
            # A dead database or a bug: the row still says how far it is, and the sweep comes by again.
            if isinstance(exc, OperationalError):
                self._store_failed[key] = exc
            _log.exception("conversation %s could not be carried on", key.conversation_id)

    async def _advance(self, key: ConversationKey) -> None:
        if await self._engine.converse(key):
            await self._engine.close(key)
            await self.graph.deliver_conversation(key)

    async def _sweep(self) -> None:
        """Extend the leases of what is carried here, take up what nobody carries, and what waited to be tried again."""
        await self._reopen_due()
        for key in await self._deps.database.read(silent):
            if await self._deps.database.write(partial(leave_in_silence, worlds=self._deps.worlds, key=key)):
                self._deps.stream.tell(key, Ended(reason=EndReason.SILENCE))
        for world_id, call_id in await self._deps.database.read(late):
            await self._expire(world_id, call_id)
        if self._tasks:
            mine = _KEY.in_(list(self._tasks))
            await self._deps.database.write(lambda s: _CARRIES.extend(s, self._id, LEASE_SECONDS, mine))
        for key in await self._deps.database.read(lambda s: _abandoned(s, self._id)):
            self.submit(key)

    async def _expire(self, world_id: str, call_id: str) -> None:
        key = await self._deps.database.write(lambda s: expire(s, self._deps.worlds, world_id, call_id))
        if key is not None:
            self._deps.stream.tell(key, Stored())
            self.carry_on(key)

    async def _reopen_due(self) -> None:
        """Closings that failed are due again when they have waited; those that the budget had no room for as soon as it
        has: on a new day, or with other limits.
        """
        day = self._deps.budget.day
        has_room = self._reopened_on != day and await self._deps.database.read(self._deps.budget.allows_closing)
        waited = _waited(has_room)
        if await self._deps.database.read(lambda s: s.exec(waited).unique().first()):
            await self._deps.database.write(lambda s: _reopen(s, waited))
        if has_room:
            self._reopened_on = day


def _is_due(session: Session, key: ConversationKey) -> bool:
    return session.exec(select(ConversationRow.id).where(_KEY.in_([key]), *_GOES_ON)).first() is not None


def _claim(session: Session, key: ConversationKey, runner: str) -> bool:
    tried = col(ConversationRow.attempts) + 1
    return _CARRIES.take(session, runner, LEASE_SECONDS, _KEY.in_([key]), *_IS_DUE, attempts=tried) == 1


def _abandoned(session: Session, runner: str) -> list[ConversationKey]:
    """Conversations with work due that no living runner holds, or that this one does."""
    query = select(ConversationRow.world_id, ConversationRow.id).where(*_IS_DUE, _CARRIES.is_open_to(runner))
    return [ConversationKey(*found) for found in session.exec(query.order_by(col(ConversationRow.id)))]


def _waited(has_room: bool) -> SelectOfScalar[ConversationRow]:
    """The failed closings that are to be tried again now; `has_room`: the budget has room for closings."""
    failure = col(ConversationRow.failure)
    next_try = failure["next_try_at"].as_string()
    is_due = next_try <= machine_time()
    if has_room:
        is_due |= next_try.is_not(None) & (failure["type"].as_string() == BudgetExhausted.slug)
    return select(ConversationRow).where(ConversationRow.phase == Phase.CLOSING_FAILED, is_due)


def _reopen(session: Session, waited: SelectOfScalar[ConversationRow]) -> None:
    """Make those of them due that no other replica is at."""
    for row in session.exec(waited.with_for_update(of=ConversationRow, skip_locked=True)).unique():
        reopen(session, row)
