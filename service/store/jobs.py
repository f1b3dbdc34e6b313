"""Owns the jobs that wait in the store: each is enqueued in the transaction that makes it due, held by one process at a
time, and gone in the transaction that writes what came of it. See docs/decisions/0037-one-runner-of-jobs.md.
"""

from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, delete, null, text, tuple_, update
from sqlmodel import Session, SQLModel, col, func, select

from service.errors import RestoredMeanwhile
from service.steady_time import steady_time
from service.store.insert import upsert_rows
from service.store.lease import Lease
from service.store.tables import ConversationKey, JobKey, JobRow

HELD = Lease(holder=JobRow.runner)  # type: ignore[arg-type] # a column of the class
_KEY = tuple_(col(JobRow.world_id), col(JobRow.kind), col(JobRow.key))
_CLAIM = text(
    """
    UPDATE jobs SET runner = :runner, tries = tries + 1 WHERE runner IS NULL AND (world_id, kind, key) = (
        SELECT j.world_id, j.kind, j.key FROM jobs j
        WHERE NOT j.is_cancelled AND j.runner IS NULL AND j.due_at <= :now AND j.kind IN :kinds AND j.kind <> 'talk'
            AND (:kind = '' OR (j.world_id = :world_id AND j.kind = :kind AND :key IN ('', j.key)))
            AND (SELECT count(*) FROM jobs h WHERE h.runner IS NOT NULL AND h.kind <> 'talk') < :most
            AND NOT EXISTS (
                SELECT 1 FROM jobs o WHERE o.world_id = j.world_id AND o.kind = j.kind AND o.owner = j.owner
                AND (o.runner IS NOT NULL
                    OR (NOT o.is_cancelled AND o.last_error = '' AND (o.created_at, o.key) < (j.created_at, j.key)))
            )
        ORDER BY j.priority, j.created_at LIMIT 1
    ) RETURNING world_id, kind, key, created_at, tries, asked
"""
).bindparams(bindparam("kinds", expanding=True))
_TALKS = text(
    """
    UPDATE jobs SET runner = :runner, tries = tries + 1
    WHERE kind = 'talk' AND NOT is_cancelled AND due_at <= :now AND runner IS NULL
    RETURNING world_id, kind, key, created_at, tries, asked
"""
)
_ALONE = text("SELECT pg_advisory_xact_lock(7203917)")
"""PostgreSQL lets one process choose a job at a time: so the bound holds over all of them."""


class JobKind(StrEnum):
    """What a job does; those named first go first."""

    TALK = "talk"
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


def job_of(key: ConversationKey) -> JobKey:
    """What carries the conversation on."""
    return JobKey(key.world_id, JobKind.TALK, key.conversation_id)


def enqueue(session: Session, *keys: JobKey, at: float = 0.0, why: str = "") -> None:
    """Let these be done, not before `at` (machine time); one that is being done is done once more. `why`: what has
    failed before. The caller commits.
    """
    now, order = steady_time(), list(JobKind)
    rows = [
        {
            **key._asdict(),
            "owner": key.key.partition(":")[0],
            "priority": order.index(JobKind(key.kind)),
            "due_at": max(at, now),
            "created_at": now,
            "tries": 0,
            "asked": 1,
            "is_cancelled": False,
            "last_error": why,
        }
        for key in keys
    ]
    upsert_rows(session, JobRow, rows, ("due_at", "is_cancelled", "last_error"), ("asked",))
    if at <= now:
        session.info.setdefault("enqueued", set()).update(key.kind for key in keys)


def enqueue_missing(session: Session, due: Iterable[JobKey]) -> None:
    """Enqueue those that do not wait already; the caller commits."""
    known = {JobKey(*found) for found in session.exec(select(JobRow.world_id, JobRow.kind, JobRow.key))}
    enqueue(session, *(key for key in due if key not in known))


def claim(
    session: Session, runner: str, lost: Collection[JobKey], kinds: Collection[str], *, most: int, only: JobKey | None
) -> list[Job]:
    """Hold jobs of these kinds, those that are next, or `only` that one: with an empty key any of its kind. At most
    `most` are held by all processes together; a quarter is left to what somebody waits for. Talks are not counted, and
    held alone where they are the only kind. What dead processes held may be held anew, and what `runner` has `lost`.
    """
    found = list[Any]()
    if {*kinds} != {JobKind.TALK}:
        if session.get_bind().dialect.name == "postgresql":
            session.execute(_ALONE)
        gone = (col(JobRow.runner) != runner) | _KEY.in_(list(lost))
        HELD.give_back(session, gone, HELD.is_open_to(session, runner))
        bound = {"runner": runner, "now": steady_time(), "most": most if only else max(1, most * 3 // 4)}
        wanted = (only or JobKey("", "", ""))._asdict()
        while one := session.execute(_CLAIM, {**bound, **wanted, "kinds": list(kinds)}).first():
            found.append(one)
    if JobKind.TALK in kinds and only is None:
        found += session.connection().execute(_TALKS, {"runner": runner, "now": steady_time()})
    return [Job(JobKey(*one[:3]), *one[3:]) for one in found]


_JOBS = SQLModel.metadata.tables["jobs"]
_MINE = (
    _JOBS.c.world_id == bindparam("of_world"),
    _JOBS.c.kind == bindparam("of_kind"),
    _JOBS.c.key == bindparam("of_key"),
    _JOBS.c.runner == bindparam("held_by"),
    _JOBS.c.created_at == bindparam("since"),
)
_AS_ASKED = (*_MINE, _JOBS.c.asked == bindparam("as_asked"))
_GONE = delete(_JOBS).where(*_AS_ASKED).returning(null())
_RESTS = update(_JOBS).where(*_AS_ASKED).values(runner=None, tries=0, due_at=bindparam("at")).returning(_JOBS.c.due_at)
_AGAIN = update(_JOBS).where(*_MINE).values(runner=None).returning(_JOBS.c.due_at)

Write = Callable[[Session], float | None]
"""Writes what came of a job; answers when (machine time) it is to be done again. None: never."""


def finish(session: Session, runner: str, job: Job, write: Write | None) -> bool:
    """Write what came of it; the job goes, or is due again where it was enqueued again, or by what is written. Answers
    whether it is due at once. The caller commits.

    Raises:
        RestoredMeanwhile: the process does not hold it any more.
    """
    at = write(session) if write is not None else None
    key = job.key
    mine = {
        "of_world": key.world_id,
        "of_kind": key.kind,
        "of_key": key.key,
        "held_by": runner,
        "since": job.created_at,
    }
    bound = {**mine, "as_asked": job.asked}
    found = (
        session.execute(_GONE, bound).first() if at is None else session.execute(_RESTS, {**bound, "at": at}).first()
    )
    if found is None and (found := session.execute(_AGAIN, mine).first()) is None:
        raise RestoredMeanwhile(world_id=job.key.world_id)
    return found[0] is not None and found[0] <= steady_time()


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
