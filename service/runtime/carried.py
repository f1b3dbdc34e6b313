"""Owns what a process does in the background, one task each: conversations, from running through closing to closed, and
the reflections that are due.

The row says how far each has come, and that is all that is needed to go on after a crash. A process holds the row for
as long as it lives, which keeps replicas from carrying the same one; see
docs/decisions/0003-the-row-is-the-workflow.md. Where the turns of a conversation take world time
(`ClockPolicy.MINUTE`) the living world carries it, and it is left alone here.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from sqlalchemy import tuple_
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from service.conversation.closing import machine_time, reopen
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.game_actions import holds_up
from service.conversation.human import expire, late, leave_in_silence
from service.conversation.turn_taking import silent, stands
from service.errors import BudgetExhausted, CassetteMiss, ModelError, RestoredMeanwhile
from service.memory.mind import (
    MOST_EPISODES,
    MOST_MEMORIES,
    Evidence,
    LivedThrough,
    ReflectionContext,
    ReflectionKey,
    due_reflections,
    fail_reflection,
    lived_through,
    reflect,
    settle_reflection,
    valid_insights,
)
from service.memory.record import FACTS, Episode, Group, Item, Memory
from service.memory.secrets import Discretion, discretion
from service.memory.telling import one_line, ref_of, told_of
from service.people.worlds import WorldView
from service.runtime.jobs import Jobs
from service.runtime.memory_jobs import Deliveries, FillVectors
from service.runtime.snapshots import DaySnapshots
from service.runtime.tasks import cancel, repeat
from service.store.jobs import JobKind
from service.store.lease import Lease
from service.store.phase import ClockPolicy, Phase
from service.store.tables import ConversationKey, ConversationRow, JobKey, WorldRow
from service.store.usage import count
from world.time import WorldTime

_log = logging.getLogger(__name__)

SWEEP_SECONDS = 2.0
_DUE = (Phase.RUNNING.value, Phase.CLOSING.value)
_GOES_ON = (col(ConversationRow.phase).in_(_DUE), col(ConversationRow.awaits).is_(None), ~stands())
_IS_DUE = (col(ConversationRow.clock_policy) == ClockPolicy.NONE, *_GOES_ON, ~holds_up())
_KEY = tuple_(col(ConversationRow.world_id), col(ConversationRow.id))
_CARRIES = Lease(holder=ConversationRow.runner)  # type: ignore[arg-type] # a column of the class


class ConversationRunner:
    """Carries the conversations of this process."""

    def __init__(
        self, deps: ConversationDependencies, *, sweep_seconds: float = SWEEP_SECONDS, carries: bool = True
    ) -> None:
        """Every `sweep_seconds` (machine time) it looks for conversations that nobody carries. With `carries`
        False somebody else decides what is spoken and closed when, as a replay does.
        """
        self._deps = deps
        self._engine = Engine(deps)
        self._sweep_seconds = sweep_seconds
        self._carries = carries
        self._id = deps.database.presence.new_holder()
        self._tasks: dict[ConversationKey, asyncio.Task[None]] = {}
        self._store_failed: dict[ConversationKey, OperationalError] = {}
        self._reopened_on = ""
        self._sweepers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Take up what a former process left, and look after it from now on."""
        if self._carries:
            self._sweepers = [asyncio.create_task(repeat(self._sweep, self._sweep_seconds))]

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
        """Carry the conversation on, for a human has spoken; also if this process is just finishing with it."""
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
        is_due = select(ConversationRow.id).where(_KEY.in_([key]), *_GOES_ON)
        while True:
            task = self._tasks.get(key)
            if task is not None:
                await asyncio.wait([task])
            self.require_store(key)
            if not await self._deps.database.read(lambda s: s.exec(is_due).first()) and key not in self._tasks:
                return
            await asyncio.sleep(0.05)

    def require_store(self, key: ConversationKey) -> None:
        """Raises: OperationalError: the store failed while the conversation was carried. The sweep tries it again."""
        if key in self._store_failed:
            raise self._store_failed[key]

    async def _carry(self, key: ConversationKey) -> None:
        self._store_failed.pop(key, None)
        try:
            tries = {"attempts": col(ConversationRow.attempts) + 1}
            due = (_KEY.in_([key]), *_IS_DUE)
            if await self._deps.database.write(lambda s: _CARRIES.take(s, self._id, *due, **tries)):
                if await self._engine.converse(key):
                    await self._engine.close(key)
                return
            row = await self._deps.database.read(lambda s: s.get_one(ConversationRow, key))
            if row.phase not in _DUE:
                self._deps.stream.settle(key)
        except RestoredMeanwhile:
            return  # what is still to be said or remembered, the sweep finds
        except CassetteMiss as miss:
            await self._engine.give_up(key, miss)
        except Exception as exc:  # noqa: BLE001
            # A dead database or a bug: the row still says how far it is, and the sweep comes by again.
            if isinstance(exc, OperationalError):
                self._store_failed[key] = exc
            _log.exception("conversation %s could not be carried on", key.conversation_id)

    async def _sweep(self) -> None:
        """Take up what nobody carries, and what waited to be tried again."""
        await self._reopen_due()
        for key in await self._deps.database.read(silent):
            if await self._deps.database.write(partial(leave_in_silence, worlds=self._deps.worlds, key=key)):
                self._deps.stream.hush(key)
        for world_id, call_id in await self._deps.database.read(late):
            expired = partial(expire, worlds=self._deps.worlds, world_id=world_id, call_id=call_id)
            if (of := await self._deps.database.write(expired)) is not None:
                self._deps.stream.tell(of)
                self.carry_on(of)
        for key in await self._deps.database.read(lambda s: _abandoned(s, self._id)):
            self.submit(key)

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


def _abandoned(session: Session, runner: str) -> list[ConversationKey]:
    """Conversations with work due that no living runner holds, or that this one does."""
    query = select(ConversationRow.world_id, ConversationRow.id).where(*_IS_DUE, _CARRIES.is_open_to(session, runner))
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


MOST_MEMORIES_READ = 200


class Reflections:
    """Makes reflections. A run waits until one was tried for the first time: a model that is away holds up nobody."""

    kind = JobKind.REFLECTION
    first_wait, longest_wait = 30.0, 3600.0

    def __init__(self, deps: ConversationDependencies) -> None:
        self._deps = deps

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """Those that are to be made."""
        return [key.job for key in due_reflections(session, world_id)]

    async def work(self, job: JobKey) -> Callable[[Session], None] | None:
        """Ask the model. What the person comes to think is known an hour after, or from now on where it is later."""
        key = ReflectionKey.of(job)

        def read(session: Session) -> tuple[WorldView, LivedThrough | None]:
            self._deps.budget.require_talk(session)
            return self._deps.worlds.open(session, key.world_id).at(key.at), lived_through(session, key)

        world, lived = await self._deps.database.read(read)
        if lived is None:
            return None
        context = await self._context(world, key, lived)
        try:
            answer = await reflect(self._deps.models.for_role("closing"), context, "/".join(map(str, key)))
        except ModelError as exc:
            error = exc
            await self._deps.database.write(lambda s: _fail(s, key, world.day, error))
            raise
        insights, dropped = valid_insights(answer.value.insights, context)

        def settle(session: Session) -> None:
            row = session.get_one(WorldRow, key.world_id, with_for_update=True)
            settle_reflection(session, key, WorldTime(row.now), insights, dropped)
            count(session, key.world_id, world.day, "closing", answer.usage)

        return settle

    async def _context(self, world: WorldView, key: ReflectionKey, lived: LivedThrough) -> ReflectionContext:
        owner = world.cast.find(key.person_id)
        kept = discretion(owner) if owner else Discretion()  # others see what it comes to think
        group = Group(world_id=key.world_id, person_id=key.person_id)
        newest = await self._deps.memory.recall(group, "", at=key.at, kinds=FACTS, limit=MOST_MEMORIES_READ)
        memories = [
            memory
            for memory in (one.memory for one in newest)
            if memory.known_from > lived.since and kept.lets_item(memory)
        ]
        episodes = [one for one in lived.episodes if kept.lets_item(one)]
        return ReflectionContext(
            language=world.language,
            person_id=key.person_id,
            name=world.name_of(key.person_id),
            now=world.sky,
            evidence=_evidence(world, key.person_id, episodes, memories),
            personality=owner.personality if owner else "",
            wishes=tuple(goal.goal for goal in owner.goals) if owner else (),
            thoughts=tuple(filter(kept.lets, lived.thoughts)),
            own_prompts=world.cast.own_prompts,
        )


def _fail(session: Session, key: ReflectionKey, day: int, error: ModelError) -> None:
    fail_reflection(session, key, error.slug)
    if error.usage.calls:
        count(session, key.world_id, day, "closing", error.usage, failures=1)


def _evidence(
    world: WorldView, person_id: str, episodes: Sequence[Episode], memories: Sequence[Memory]
) -> tuple[Evidence, ...]:
    """The last episodes, and the memories that matter most, in the order in which they came to be known."""
    last = sorted(episodes, key=lambda one: (one.at, one.conversation_id))[-MOST_EPISODES:]
    most = sorted(memories, key=lambda one: (-one.importance, one.known_from, one.id))[:MOST_MEMORIES]
    items: list[Item] = [*last, *sorted(most, key=lambda one: (one.known_from, one.id))]
    return tuple(
        Evidence(
            ref=f"e{number}",
            text=one_line(told_of(world, one, person_id)),
            source=ref_of(one),
            partner_ids=(one.partner_id, *one.others) if isinstance(one, Episode) else (one.partner_id,),
        )
        for number, one in enumerate(items, 1)
    )


def jobs_of(deps: ConversationDependencies) -> Jobs:
    """What does the jobs of all kinds."""
    return Jobs(deps.database, [Reflections(deps), FillVectors(deps), Deliveries(deps), DaySnapshots(deps)])
