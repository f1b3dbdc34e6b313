"""Owns which events of a world's log are asked for, and the pages they come in."""

from dataclasses import dataclass
from typing import Any, Literal

from sqlmodel import Session, col, select

from service.api import views
from service.api.schemas import EventPage
from service.runtime.world_runner import Step
from service.store.event_kinds import IN_A_MINUTE, ActivityEnded
from service.store.tables import EventRow
from world.time import WorldTime

LIMIT_MAX = 1000

_AT_ONCE = [payload.kind for payload in IN_A_MINUTE[: IN_A_MINUTE.index(ActivityEnded)]]
"""Told when the clock comes to their minute; the others of that minute follow when it goes on."""


@dataclass(frozen=True, kw_only=True)
class EventQuery:
    """Events with an id above `after` and below `before`, at world times from `since` to `until`, both included."""

    world_id: str
    after: int = 0
    before: int | None = None
    kind: str | None = None
    person_id: str | None = None
    since: WorldTime | None = None
    until: WorldTime | None = None
    order: Literal["asc", "desc"] = "asc"
    limit: int = 100


def page(session: Session, asked: EventQuery, *more: Any) -> EventPage:
    """At most `limit` of them; `next` is the id to go on from."""
    query = select(EventRow).where(EventRow.world_id == asked.world_id, col(EventRow.id) > asked.after, *more)
    if asked.before is not None:
        query = query.where(col(EventRow.id) < asked.before)
    if asked.kind is not None:
        query = query.where(EventRow.kind == asked.kind)
    if asked.person_id is not None:
        query = query.where(EventRow.person_id == asked.person_id)
    if asked.since is not None:
        query = query.where(EventRow.at >= asked.since)
    if asked.until is not None:
        query = query.where(EventRow.at <= asked.until)
    ids = col(EventRow.id)
    rows = session.exec(query.order_by(ids if asked.order == "asc" else ids.desc()).limit(asked.limit + 1)).all()
    items = [views.event(row) for row in rows[: asked.limit]]
    return EventPage(items=items, next=str(items[-1].id) if len(rows) > asked.limit else None)


def page_of_step(session: Session, step: Step, asked: EventQuery) -> EventPage:
    """What a tick brought: the same whenever it is asked for, however far the world has gone on since."""
    at, kind = col(EventRow.at), col(EventRow.kind)
    return page(
        session,
        asked,
        (at > step.before) | ((at == step.before) & kind.not_in(_AT_ONCE)),
        (at < step.after) | ((at == step.after) & kind.in_(_AT_ONCE)),
    )
