"""Owns how tests have conversations carried on, as a service does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.runtime.carried import Talks, goes_on, jobs_of
from service.runtime.jobs import Jobs
from service.store.jobs import job_of
from service.store.tables import ConversationKey


async def carried(room: ConversationDependencies, jobs: Jobs, key: ConversationKey) -> None:
    """Return when nothing more is said or remembered, or somebody is waited for."""
    while True:
        await jobs.tried(job_of(key))
        if not await room.database.read(lambda s: goes_on(s, key)):
            return
        await asyncio.sleep(0.02)


@asynccontextmanager
async def carrying(room: ConversationDependencies) -> AsyncIterator[Jobs]:
    """What carries conversations meanwhile."""
    with pytest.MonkeyPatch.context() as soon:
        soon.setattr("service.runtime.jobs.LOOKS_EVERY_SECONDS", 0.05)
        soon.setattr(Talks, "longest_wait", 0.05)
        jobs = jobs_of(room)
        await jobs.start()
        try:
            yield jobs
        finally:
            await jobs.stop()
