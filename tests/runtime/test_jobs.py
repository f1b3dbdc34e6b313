"""Jobs are done once, in order, so many at a time, until they succeed or a person cancels. Tests of runtime/jobs.py."""

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from sqlalchemy import update
from sqlmodel import Session, select

from service.errors import NotFound
from service.runtime.jobs import Jobs, Work
from service.store.jobs import JobKind, enqueue
from service.store.session import Database
from service.store.tables import InstallationRow, JobKey, JobRow
from tests.runtime.patience import until

pytestmark = pytest.mark.anyio


def key(name: str, world_id: str = "main") -> JobKey:
    return JobKey(world_id, JobKind.REFLECTION, name)


class Works(Work):
    """Counts what is done in the store, one call of the installation for each."""

    kind = JobKind.REFLECTION
    first_wait, longest_wait = 30.0, 3600.0

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.fails = 0
        self.begun: list[str] = []
        self.now: Counter[str] = Counter()
        self.most = 0
        self.lets = asyncio.Event()
        self.lets.set()

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        return [key("aoi:1")] if world_id == "main" else []

    async def work(self, job: JobKey) -> Callable[[Session], None]:
        owner = job.key.partition(":")[0]
        self.begun.append(job.key)
        self.now[owner] += 1
        assert self.now[owner] == 1
        self.most = max(self.most, self.now.total())
        try:
            await self.lets.wait()
            await asyncio.sleep(self.seconds)
        finally:
            self.now[owner] -= 1
        if self.fails:
            self.fails -= 1
            raise NotFound(kind="world", id=job.key)
        return done


def done(session: Session) -> None:
    session.execute(update(InstallationRow).values(calls=InstallationRow.calls + 1))


def begin(database: Database, *names: str) -> None:
    def work(session: Session) -> None:
        if session.get(InstallationRow, 1) is None:
            session.add(InstallationRow())
        for name in names:
            enqueue(session, key(name))

    database.write_now(work)


def done_in(database: Database) -> int:
    return database.read_now(lambda s: s.get_one(InstallationRow, 1).calls)


def waiting(database: Database) -> dict[str, JobRow]:
    return {row.key: row for row in database.read_now(lambda s: s.exec(select(JobRow)).all())}


def rests(database: Database, name: str, tries: int) -> bool:
    row = waiting(database).get(name)
    return row is not None and row.runner is None and row.tries == tries


@asynccontextmanager
async def doing(database: Database, works: Works, most: int = 16) -> AsyncIterator[Jobs]:
    jobs = Jobs(database, [works], most=most)
    await jobs.start()
    try:
        yield jobs
    finally:
        await jobs.stop()


async def test_what_is_enqueued_is_done_at_once_and_once(database: Database) -> None:
    works = Works()
    begin(database, "aoi:1")
    async with doing(database, works):
        await until(lambda: not waiting(database))
        begin(database, "aoi:2", "mio:1")
        began = time.monotonic()
        await until(lambda: not waiting(database))
        assert time.monotonic() - began < 1.5, "nobody waited for a look"
    assert (sorted(works.begun), done_in(database)) == (["aoi:1", "aoi:2", "mio:1"], 3)


async def test_of_one_person_one_at_a_time_in_order(database: Database) -> None:
    works = Works(0.01)
    names = [f"aoi:{number}" for number in (3, 1, 2)]
    for name in names:
        begin(database, name)
    begin(database, "mio:1")
    async with doing(database, works):
        await until(lambda: not waiting(database))
    assert [name for name in works.begun if name.startswith("aoi")] == names


async def test_asked_for_again_while_it_is_done_it_is_done_again(database: Database) -> None:
    works = Works()
    works.lets.clear()
    begin(database, "aoi:1")
    async with doing(database, works):
        await until(lambda: bool(works.begun))
        begin(database, "aoi:1")
        works.lets.set()
        await until(lambda: not waiting(database))
    assert works.begun == ["aoi:1", "aoi:1"]


async def test_what_fails_waits_longer_each_time(database: Database) -> None:
    works = Works()
    works.fails = 3
    works.first_wait = 0.4
    begin(database, "aoi:1")
    waits = []
    async with doing(database, works) as jobs:
        for tries in (1, 2, 3):
            await until(partial(rests, database, "aoi:1", tries))
            row = waiting(database)["aoi:1"]
            assert row.last_error
            waits.append(row.due_at - time.time())
            if tries == 1:
                await jobs.submit(key("aoi:1"))  # a second try is not waited for
        await until(lambda: not waiting(database))
    assert waits[0] < waits[1] < waits[2] <= 1.6
    assert done_in(database) == 1


async def test_what_somebody_waits_for_goes_first_and_has_room(database: Database) -> None:
    works = Works()
    works.lets.clear()
    begin(database, *(f"person_{number}:1" for number in range(6)))
    async with doing(database, works, most=4) as jobs:
        await until(lambda: len(works.begun) == 3)
        waited = next(name for name in waiting(database) if name not in works.begun)
        trying = asyncio.create_task(jobs.submit(key(waited)))
        await until(lambda: len(works.begun) == 4)
        assert works.begun[-1] == waited
        works.lets.set()
        await trying
        await until(lambda: not waiting(database))
    assert (works.most, done_in(database)) == (4, 6)


async def test_a_job_of_a_world_that_was_brought_back_meanwhile_writes_nothing(database: Database) -> None:
    works = Works()
    works.lets.clear()
    begin(database, "aoi:1", "aoi:2")
    async with doing(database, works) as jobs:
        await until(lambda: works.begun == ["aoi:1"])

        def restore(session: Session) -> None:
            jobs.fill(session, "main", anew=True)

        works.now.clear()
        database.write_now(restore)
        await until(lambda: works.begun == ["aoi:1", "aoi:1"])
        works.lets.set()
        await until(lambda: not waiting(database))
        await asyncio.sleep(0.1)
    assert done_in(database) == 1, "what was begun before wrote nothing"


@pytest.mark.server
async def test_the_bound_and_the_order_hold_over_two_replicas(postgres_url: str) -> None:
    one, other = Database(postgres_url), Database(postgres_url)
    one.migrate()
    works = Works(0.3)
    begin(one, *(f"person_{number % 5}:{number}" for number in range(20)))
    async with doing(one, works, most=4), doing(other, works, most=4):
        await until(lambda: not waiting(one))
    assert works.most == 3, "of four at once one is for what is waited for"
    assert done_in(one) == 20
    one.close()
    other.close()


DIES = """
import asyncio, sys
from service.store.session import Database
from tests.runtime.test_jobs import Works, begin, doing
async def main():
    database, works = Database(sys.argv[1]), Works(3600.0)
    async with doing(database, works):
        while not works.begun:
            await asyncio.sleep(0.01)
        print("works", flush=True)
        await asyncio.sleep(3600)
asyncio.run(main())
"""


async def test_after_kill_9_another_process_does_it_once(database: Database) -> None:
    begin(database, "aoi:1", "aoi:2")
    url = database.url.render_as_string(hide_password=False)
    dying = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DIES, url, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}
    )
    assert dying.stdout is not None
    assert await dying.stdout.readline() == b"works\n"
    assert waiting(database)["aoi:1"].runner
    dying.send_signal(signal.SIGKILL)
    await dying.wait()
    works = Works()
    async with doing(database, works):
        began = time.monotonic()
        await until(lambda: not waiting(database))
        assert time.monotonic() - began < 5
    assert (works.begun, done_in(database)) == (["aoi:1", "aoi:2"], 2)
