"""Owns how tests have jobs tried that are due by the state of the store."""

import asyncio

from sqlalchemy import update
from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.runtime.carried import jobs_of
from service.store.jobs import JobKind
from service.store.tables import JobKey, JobRow


def try_jobs(room: ConversationDependencies, kind: JobKind, *keys: str, world_id: str = "main") -> None:
    """Have these of a world tried (none named: all of the kind), whatever they have waited for."""
    asyncio.run(trying(room, kind, *keys, world_id=world_id))


async def trying(room: ConversationDependencies, kind: JobKind, *keys: str, world_id: str = "main") -> None:
    jobs = jobs_of(room)

    def make_due(session: Session) -> None:
        jobs.fill(session)
        session.execute(update(JobRow).values(due_at=0.0, last_error="", runner=None))

    await room.database.write(make_due)
    for key in keys or ("",):
        await jobs.submit(JobKey(world_id, kind, key))
    await jobs.stop()


def job(room: ConversationDependencies, kind: JobKind, key: str, world_id: str = "main") -> JobRow | None:
    """How it stands; None: there is none."""
    return room.database.read_now(lambda s: s.get(JobRow, JobKey(world_id, kind, key)))
