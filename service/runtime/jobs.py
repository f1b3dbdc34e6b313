"""Owns the doing of jobs: a process takes those that are due, so many at once over all processes, and tries each until
it succeeds or a person cancels it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from sqlalchemy import delete
from sqlmodel import Session, col

from service.errors import CassetteMiss, KataribeError, RestoredMeanwhile
from service.runtime.tasks import cancel, repeat
from service.store.jobs import HELD, Job, JobKind, awaits_first_try, change_job, claim, enqueue_missing, finish
from service.store.session import Database
from service.store.tables import JobKey, JobRow

_log = logging.getLogger(__name__)

LOOKS_EVERY_SECONDS = 2.0
"""How often a process looks for jobs that another has enqueued, or left, and for those that have waited."""
MOST_AT_ONCE = 16
"""So many jobs are done at once, over all processes on a database."""
AWAITS_SECONDS = 0.05
"""How often is looked whether another process has done what is waited for."""


class Work(Protocol):
    """Does the jobs of one kind."""

    kind: JobKind
    first_wait: float
    """seconds until a job that failed is tried again; doubled with each failure"""
    longest_wait: float
    """seconds; it waits no longer than that"""

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """What is to be done by the state of that world, or of all."""

    async def work(self, job: JobKey) -> Callable[[Session], None] | None:
        """Do it, but for what is written in the transaction that ends the job. What it raises is a failure."""


class Jobs:
    """Does jobs of these kinds."""

    def __init__(self, database: Database, works: Sequence[Work], *, most: int = MOST_AT_ONCE) -> None:
        self._database = database
        self._works = {work.kind.value: work for work in works}
        self._most = most
        self._id = database.presence.new_holder()
        self._choosing = asyncio.Lock()
        self._held: dict[Job, asyncio.Task[None]] = {}
        self._wanted = asyncio.Event()
        self._looks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Do what is due, from now on as soon as it is enqueued."""
        await self._database.write(self.fill)
        loop = asyncio.get_running_loop()
        self._database.on_enqueued = lambda: loop.call_soon_threadsafe(self._wanted.set)
        self._looks = [asyncio.create_task(repeat(self._look, LOOKS_EVERY_SECONDS, self._wanted))]

    async def stop(self) -> None:
        """Let go of everything; whoever is next does it."""
        self._database.on_enqueued = bool
        await self._choosing.acquire()  # whoever still waits for a job takes none any more
        await cancel([*self._looks, *self._held.values()])
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
            if await self._claim(key):
                continue
            doing = [task for job, task in self._held.items() if job.key in (key, key._replace(key=job.key.key))]
            if doing:
                await asyncio.wait(doing, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(AWAITS_SECONDS)

    async def _look(self) -> None:
        while await self._claim():
            pass

    async def _claim(self, only: JobKey | None = None) -> bool:
        async with self._choosing:
            busy = [job.key for job in self._held]
            job = await self._database.write(partial(claim, runner=self._id, busy=busy, most=self._most, only=only))
            if job is not None:
                self._held[job] = asyncio.create_task(self._do(job))
                self._held[job].add_done_callback(partial(self._ended, job))
            return job is not None

    def _ended(self, job: Job, _: asyncio.Task[None]) -> None:
        del self._held[job]
        self._wanted.set()

    async def _do(self, job: Job) -> None:
        key, work = job.key, self._works[job.key.kind]
        try:
            write = await work.work(key)
            await self._database.write(partial(finish, runner=self._id, job=job, write=write))
        except RestoredMeanwhile:
            return  # what is still to be done was enqueued anew
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
            failed = {"runner": None, "last_error": reason, "due_at": time.time() + wait}
            mine = (JobRow.runner == self._id, JobRow.created_at == job.created_at)
            await self._database.write(lambda s: change_job(s, key, *mine, **failed))
            if isinstance(exc, CassetteMiss):
                raise
