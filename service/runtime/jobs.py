"""Owns the doing of jobs: a process takes those that are due, so many at once over all processes, and tries each until
it succeeds or a person cancels it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from sqlalchemy import delete, update
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col

from service.conversation.dependencies import ConversationDependencies
from service.errors import BudgetExhausted, CassetteMiss, KataribeError, RestoredMeanwhile
from service.runtime.tasks import cancel, repeat
from service.steady_time import steady_time
from service.store.jobs import (
    HELD,
    Job,
    JobKind,
    Write,
    awaits_first_try,
    change_job,
    claim,
    enqueue_missing,
    finish,
)
from service.store.session import Database
from service.store.tables import JobKey, JobRow

_log = logging.getLogger(__name__)

LOOKS_EVERY_SECONDS = 2.0
"""How often a process looks for jobs that another has enqueued, or left, and for those that have waited."""
MOST_AT_ONCE = 16
"""So many jobs are done at once, over all processes on a database."""
AWAITS_SECONDS = 0.05
"""How often is looked whether another process has done what is waited for."""


class Work:
    """Does the jobs of one kind."""

    kind: JobKind
    first_wait = 2.0
    """seconds until a job that failed is tried again; doubled with each failure"""
    longest_wait = 30.0
    """seconds; it waits no longer than that"""

    def __init__(self, deps: ConversationDependencies) -> None:
        self._deps = deps

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """What is to be done by the state of that world, or of all."""
        return ()

    async def work(self, job: JobKey) -> Write | None:
        """Do it, but for what is written in the transaction that ends the job. What it raises is a failure."""
        raise NotImplementedError


class Jobs:
    """Does jobs of these kinds. Talks have no bound; the others have one, over all processes."""

    def __init__(self, database: Database, works: Sequence[Work], *, most: int = MOST_AT_ONCE) -> None:
        self._database = database
        self._works = {work.kind.value: work for work in works}
        self._most = most
        self._id = database.presence.new_holder()
        self._choosing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._doing: dict[JobKey, asyncio.Task[None]] = {}
        self._held: set[JobKey] = set()
        self._left_alone: set[JobKey] = set()
        self._store_failed: dict[JobKey, OperationalError] = {}
        self._wanted = asyncio.Event()
        self._wanted_kinds: set[str] = set()
        self._looks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Do what is due, from now on as soon as it is enqueued; what waits for a budget too, for it may be another."""

        def begin(session: Session) -> None:
            self.fill(session)
            waits = col(JobRow.last_error).startswith(BudgetExhausted.__name__)
            session.execute(update(JobRow).where(waits).values(due_at=steady_time()))

        await self._database.write(begin)
        loop = asyncio.get_running_loop()
        self._database.on_enqueued = lambda kinds: loop.call_soon_threadsafe(self._want, kinds)
        self._looks = [asyncio.create_task(repeat(self._look, LOOKS_EVERY_SECONDS, self._wanted))]

    async def stop(self) -> None:
        """Let go of everything; whoever is next does it."""
        self._database.on_enqueued = bool
        await self._choosing.acquire()  # whoever still waits for a job takes none any more
        await cancel([*self._looks, *self._tasks])
        await self._database.write(lambda s: HELD.give_back(s, col(JobRow.runner) == self._id))

    def fill(self, session: Session, world_id: str | None = None, *, anew: bool = False) -> None:
        """Enqueue what is due by the state of that world, or of all; `anew`: what waits goes, and of what is being done
        nothing is written. The caller commits.
        """
        if anew:
            session.execute(delete(JobRow).where(col(JobRow.world_id) == world_id))
        enqueue_missing(session, (key for work in self._works.values() for key in work.due(session, world_id)))

    async def submit(self, key: JobKey) -> None:
        """Do it, or with an empty key all of the kind in the world, before what nobody waits for; return when each has
        been tried, here or by another process.
        """
        while await self._database.read(lambda s: awaits_first_try(s, key)):
            await self._claim(self._works, key)
            if doing := [task for one, task in self._doing.items() if key in (one, one._replace(key=""))]:
                done, _ = await asyncio.wait(doing, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            else:
                await asyncio.sleep(AWAITS_SECONDS)

    async def tried(self, key: JobKey) -> None:
        """Return when this process does not do it, or not any more. Raises: OperationalError: as `require_store`."""
        if (task := self._doing.get(key)) is not None:
            await asyncio.wait([task])
        self.require_store(key)

    def require_store(self, key: JobKey) -> None:
        """Raises: OperationalError: the store failed while it was done; told once. It is tried again."""
        if key in self._store_failed:
            raise self._store_failed.pop(key)

    @asynccontextmanager
    async def dropped(self, key: JobKey) -> AsyncIterator[None]:
        """Let go of it if this process does it, and leave it alone; then it is done from where it stands."""
        self._left_alone.add(key)
        try:
            await cancel([self._doing[key]] if key in self._doing else [])
            yield
        finally:
            self._left_alone.discard(key)
            self._want(self._works)

    async def drop_world(self, world_id: str) -> None:
        """Let go of all that is done in the world: it is brought back to an earlier moment."""
        await cancel([task for key, task in self._doing.items() if key.world_id == world_id])

    def _want(self, kinds: Iterable[str]) -> None:
        self._wanted_kinds.update(kinds)
        self._wanted.set()

    async def _look(self) -> None:
        kinds = self._works.keys() & self._wanted_kinds
        self._wanted_kinds.clear()
        await self._claim([JobKind.TALK] if kinds == {JobKind.TALK} else self._works)

    async def _claim(self, kinds: Collection[str], only: JobKey | None = None) -> None:
        async with self._choosing:
            lost = self._held - self._doing.keys() - self._left_alone
            choose = partial(claim, runner=self._id, lost=lost, kinds=kinds, most=self._most, only=only)
            for job in await self._database.write(choose):
                self._held.add(job.key)
                task = self._doing[job.key] = asyncio.create_task(self._do(job))
                self._tasks.add(task)
                task.add_done_callback(partial(self._ended, job.key))

    def _ended(self, key: JobKey, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._doing.get(key) is task:
            del self._doing[key]
        if key.kind != JobKind.TALK or (key in self._held and key not in self._left_alone):
            self._want(self._works)

    async def _do(self, job: Job) -> None:
        key, work = job.key, self._works[job.key.kind]
        self._store_failed.pop(key, None)
        try:
            write = await work.work(key)
            if await self._database.write(partial(finish, runner=self._id, job=job, write=write)):
                self._want([key.kind])
        except RestoredMeanwhile:
            pass  # what is still to be done was enqueued anew
        except Exception as exc:
            is_known, reason = isinstance(exc, KataribeError), f"{type(exc).__name__}: {exc}"
            _log.log(
                logging.WARNING if is_known else logging.ERROR,
                "the %s of %s failed, and is tried again: %s",
                key.kind,
                key.key,
                reason,
                exc_info=not is_known,
            )
            wait = min(work.longest_wait, work.first_wait * 2.0 ** min(job.tries - 1, 30))
            if isinstance(exc, BudgetExhausted):
                wait = float(exc.facts["retry_after_seconds"])
            failed = {"runner": None, "last_error": reason, "due_at": steady_time() + wait}
            mine = (JobRow.runner == self._id, JobRow.created_at == job.created_at)
            if isinstance(exc, OperationalError):
                self._store_failed[key] = exc
            with suppress(OperationalError):  # it is held, and let go of when the store is back
                await self._database.write(lambda s: change_job(s, key, *mine, **failed))
                self._held.discard(key)
            if isinstance(exc, CassetteMiss):
                raise
            return
        self._held.discard(key)
