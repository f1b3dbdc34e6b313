"""Owns the endpoints of the work that the service does by itself: what of it waits, and what a person says of it."""

import time
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field
from sqlmodel import Session, col, or_, select

from service.api.dependencies import (
    KNOWN_QUERY,
    After,
    AsAsked,
    AtMost,
    In,
    Out,
    Serving,
    WorldId,
    cut,
    describe,
)
from service.api.schemas import Page
from service.errors import existing
from service.store.idempotency import Once, write_once
from service.store.jobs import JobKind
from service.store.tables import JobKey, JobRow

router = APIRouter(tags=["world"], dependencies=[KNOWN_QUERY])


class WorkOut(Out, of=JobRow, shows="kind key owner tries last_error"):
    """Work that waits or is being done: a talk to be carried on or remembered, a reflection, the vectors of a
    person's memories, their delivery to the memory graph, or the snapshot of a day.
    """

    world_id: str = Field(description="the world that it is done for")
    state: Literal["waiting", "running", "cancelled"] = Field(description="where it stands")
    since: str = Field(examples=["2026-04-01T07:00:00+00:00"], description="machine time at which it came to be due")
    next_try_at: str | None = Field(description="machine time of its next try; null: it is running, or cancelled")


class WorkIn(In, examples={"try it now": {"do": "again"}}):
    """What is to become of it."""

    do: Literal["again", "cancel"] = Field(description="again: it is tried now; cancel: it is not tried any more")


@router.get("/work")
async def list_work(deps: Serving, after: After = None, limit: AtMost = None) -> Page[WorkOut]:
    """What the service has to do by itself, of all worlds, the oldest first. Work that failed is tried again, with a
    growing wait, until it succeeds or is cancelled; what has succeeded is not listed, nor a talk that waits for
    somebody's words.
    """
    row = JobRow
    is_at_work = (row.kind != JobKind.TALK, row.last_error != "", col(row.due_at) <= time.time())
    order = (col(row.created_at), col(row.world_id), col(row.kind), col(row.key))
    query = select(row).where(or_(*is_at_work)).order_by(*order)
    rows = await deps.conversation.database.read(lambda s: s.exec(query).all())
    found, following = cut(rows, lambda row: f"{row.world_id}/{row.kind}/{row.key}", after, limit)
    return Page[WorkOut](items=[_out(row) for row in found], next=following)


@router.post("/work/{kind}/{job_key}", responses=describe(404))
async def change_work(
    kind: JobKind,
    job_key: Annotated[str, Path(max_length=200, description="which of that kind, as the list has it")],
    body: WorkIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> WorkOut:
    """Let work of the world be tried now, whatever it has waited for, or not any more. What is running is not stopped;
    cancelled, it is not tried again if it fails. It is due anew where something new makes it so.
    """

    def work(session: Session) -> WorkOut:
        found = session.get(JobRow, JobKey(world_id, kind, job_key), with_for_update=True)
        row = existing(found, "work", job_key)
        row.is_cancelled = body.do == "cancel"
        if body.do == "again":
            row.due_at = time.time()
            session.info["enqueued"] = {kind}
        return _out(row)

    return await write_once(deps.conversation.database, Once.of(world_id, asked), work)


def _out(row: JobRow) -> WorkOut:
    state = "running" if row.runner else "cancelled" if row.is_cancelled else "waiting"
    next_try = _moment(row.due_at) if state == "waiting" else None
    return WorkOut.of(row, state=state, since=_moment(row.created_at), next_try_at=next_try)


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
