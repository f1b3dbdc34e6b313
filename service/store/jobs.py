"""Owns the jobs that wait in the store: each is enqueued in the transaction that makes it due, held by one process at a
time, and gone in the transaction that writes what came of it. See docs/decisions/0037-one-runner-of-jobs.md.
"""

import time
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, text, tuple_, update
from sqlmodel import Session, col, func, select

from service.errors import RestoredMeanwhile
from service.store.insert import upsert_rows
from service.store.lease import Lease
from service.store.tables import JobKey, JobRow

HELD = Lease(holder=JobRow.runner)  # type: ignore[arg-type] # a column of the class
_KEY = tuple_(col(JobRow.world_id), col(JobRow.kind), col(JobRow.key))
_CLAIM = """
    UPDATE jobs SET runner = :runner, tries = tries + 1 WHERE (world_id, kind, key) = (
        SELECT j.world_id, j.kind, j.key FROM jobs j
        WHERE NOT j.is_cancelled AND j.runner IS NULL AND j.due_at <= :now
            AND (:kind = '' OR (j.world_id = :world_id AND j.kind = :kind AND :key IN ('', j.key)))
            AND (SELECT count(*) FROM jobs h WHERE h.runner IS NOT NULL) < :most
            AND NOT EXISTS (
                SELECT 1 FROM jobs o WHERE o.world_id = j.world_id AND o.kind = j.kind AND o.owner = j.owner
                AND (o.runner IS NOT NULL
                    OR (NOT o.is_cancelled AND o.last_error = '' AND (o.created_at, o.key) < (j.created_at, j.key)))
            )
        ORDER BY j.priority, j.created_at LIMIT 1
    ) RETURNING world_id, kind, key, created_at, tries, asked
"""
_ALONE = text("SELECT pg_advisory_xact_lock(7203917)")
"""PostgreSQL lets one process choose a job at a time: so the bound holds over all of them."""


class JobKind(StrEnum):
    """What a job does; those named first go first."""

    REFLECTION = "reflection"
    VECTORS = "vectors"
    DELIVERY = "delivery"
    SNAPSHOT = "snapshot"


class Job(NamedTuple):
    """A job that a process holds; it was tried and enqueued so often, with this time."""

    key: JobKey
    created_at: float
    tries: int
    asked: int


def enqueue(session: Session, *keys: JobKey) -> None:
    """Let these be done; one that is being done is done once more. The caller commits."""
    now, order = time.time(), list(JobKind)
    rows = [
        {
            **key._asdict(),
            "owner": key.key.partition(":")[0],
            "priority": order.index(JobKind(key.kind)),
            "due_at": now,
            "created_at": now,
            "tries": 0,
            "asked": 1,
            "is_cancelled": False,
            "last_error": "",
        }
        for key in keys
    ]
    upsert_rows(session, JobRow, rows, ("due_at", "is_cancelled"), ("asked",))
    session.info["enqueued"] = True


def enqueue_missing(session: Session, due: Iterable[JobKey]) -> None:
    """Enqueue those that do not wait already; the caller commits."""
    known = {JobKey(*found) for found in session.exec(select(JobRow.world_id, JobRow.kind, JobRow.key))}
    enqueue(session, *(key for key in due if key not in known))


def claim(
    session: Session, runner: str, busy: Collection[JobKey], *, most: int, only: JobKey | None = None
) -> Job | None:
    """Hold the job that is next; None: there is none, or `most` are held already. A quarter of them is left to what
    somebody waits for: `only` that, where its key is empty any of the kind. Of what `runner` holds it is `busy` with
    these; the others, and what dead processes held, may be held anew.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(_ALONE)
    HELD.give_back(session, col(JobRow.runner).is_not(None), HELD.is_open_to(session, runner), _KEY.not_in(list(busy)))
    bound = {"runner": runner, "now": time.time(), "most": most if only else max(1, most * 3 // 4)}
    found = session.execute(text(_CLAIM), {**bound, **(only or JobKey("", "", ""))._asdict()}).first()
    return Job(JobKey(*found[:3]), *found[3:]) if found else None


def finish(session: Session, runner: str, job: Job, write: Callable[[Session], None] | None) -> None:
    """Write what came of it; the job goes, or is due again where it was enqueued again. The caller commits.

    Raises:
        RestoredMeanwhile: the process does not hold it any more.
    """
    if write is not None:
        write(session)
    mine = (_KEY.in_([job.key]), col(JobRow.runner) == runner, col(JobRow.created_at) == job.created_at)
    gone = delete(JobRow).where(*mine, col(JobRow.asked) == job.asked).returning(col(JobRow.key))
    again = update(JobRow).where(*mine).values(runner=None, tries=0, last_error="").returning(col(JobRow.key))
    if not (session.execute(gone).first() or session.execute(again).first()):
        raise RestoredMeanwhile(world_id=job.key.world_id)


def change_job(session: Session, key: JobKey, *which: object, **values: object) -> None:
    """Set these columns of its row, if it is one of `which`; the caller commits."""
    session.execute(update(JobRow).where(_KEY.in_([key]), *which).values(**values))  # type: ignore[arg-type]


def jobs_waiting(session: Session, key: JobKey) -> int:
    """How many there are: it, or with an empty key all of the kind in the world."""
    return session.exec(select(func.count()).where(*_such_as(key))).one()


def awaits_first_try(session: Session, key: JobKey) -> bool:
    """It, or with an empty key any of the kind in the world, has neither succeeded nor failed yet."""
    untried = (JobRow.last_error == "", col(JobRow.is_cancelled).is_(False))
    return session.exec(select(JobRow.key).where(*_such_as(key), *untried).limit(1)).first() is not None


def _such_as(key: JobKey) -> tuple[ColumnElement[bool], ...]:
    of_kind = (col(JobRow.world_id) == key.world_id, col(JobRow.kind) == key.kind)
    return (*of_kind, col(JobRow.key) == key.key) if key.key else of_kind
