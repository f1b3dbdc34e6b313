"""Owns the endpoints of what happened in a world, and of what came to it from outside; and the pages of events."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from service.api import views
from service.api.dependencies import KNOWN_QUERY, Serving, Slug, WorldId, describe
from service.api.schemas import EVENTS, EventPage
from service.runtime.world_clock import Tick
from service.store.event_kinds import IN_A_MINUTE, ActivityEnded
from service.store.events import events_after, line_of, told_to
from service.store.phase import Audience
from service.store.tables import EventRow, WorldRow
from world.time import iso

router = APIRouter(tags=["world"], dependencies=[KNOWN_QUERY])

LIMIT_MAX = 1000
NDJSON = "application/x-ndjson"
_COMMANDS: dict[int | str, dict[str, Any]] = {200: {"description": f"Lines of JSON ({NDJSON})"}}
"""Makers of clients refuse a description of content that they do not know."""

_AT_ONCE = [payload.kind for payload in IN_A_MINUTE[: IN_A_MINUTE.index(ActivityEnded)]]
"""Told when the clock comes to their minute; the others of that minute follow when it goes on."""


def page(
    session: Session,
    world_id: str,
    *which: ColumnElement[bool],
    after: int = 0,
    order: Literal["asc", "desc"] = "asc",
    limit: int,
    **columns: str | None,
) -> EventPage:
    """At most `limit` events with an id above `after`, or below it where it has a minus, that have those values in
    their `columns` (None: any); `next` is the id to go on from, with a minus where earlier ones follow.
    """
    ids = col(EventRow.id)
    of = [col(getattr(EventRow, name)) == value for name, value in columns.items() if value is not None]
    query = select(EventRow).where(*told_to(Audience.WORLD, world_id), *which, *of)
    query = query.where(ids > after if after >= 0 else ids < -after)
    rows = session.exec(query.order_by(ids if order == "asc" else ids.desc()).limit(limit + 1)).all()
    sign = "" if order == "asc" else "-"
    world = session.get(WorldRow, world_id)
    return EventPage(
        items=[EVENTS[row.kind].model_validate(row) for row in rows[:limit]],
        next=f"{sign}{rows[limit - 1].id}" if len(rows) > limit else None,
        timeline=world.timeline if world is not None else 0,
    )


def page_of_step(session: Session, world_id: str, tick: Tick, **asked: Any) -> EventPage:
    """What a tick brought: the same whenever it is asked for, however far the world has gone on since."""
    at, kind = col(EventRow.at), col(EventRow.kind)
    begun = (at > tick.before) | ((at == tick.before) & kind.not_in(_AT_ONCE))
    over = (at < tick.after) | ((at == tick.after) & kind.in_(_AT_ONCE))
    return page(session, world_id, begun, over, after=tick.first, **asked)


@router.get("/world/events", response_model=EventPage, responses=describe())
async def read_events(
    deps: Serving,
    world_id: WorldId,
    after: Annotated[
        int,
        Query(ge=-(2**62), le=2**62, description="`next` of the page before; or the id of an event: later ones only"),
    ] = 0,
    kind: Annotated[str | None, Query(pattern="^[a-z_]{1,40}$", description="Only events of that kind")] = None,
    person_id: Annotated[Slug | None, Query(description="Only that person's own events")] = None,
    involving: Annotated[
        Slug | None, Query(description="Only that person's events and those of who speaks with that person")
    ] = None,
    since: Annotated[str | None, Query(max_length=19, description="Not before that world time")] = None,
    until: Annotated[str | None, Query(max_length=19, description="Not after that world time")] = None,
    order: Annotated[Literal["asc", "desc"], Query(description="Oldest or newest first")] = "asc",
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = 100,
) -> EventPage:
    """What happened in the world, oldest first, or newest first.

    A cursor has a sign where the newest come first: it leads to what is earlier.
    """
    at, which = col(EventRow.at), list[ColumnElement[bool]]()
    if involving is not None:
        partner = col(EventRow.data)["partner_id"].as_string()
        which.append((col(EventRow.person_id) == involving) | (partner == involving))
    if since is not None:
        which.append(at >= views.moment(since, "query.since"))
    if until is not None:
        which.append(at <= views.moment(until, "query.until"))
    asked: dict[str, Any] = {"after": after, "order": order, "limit": limit, "kind": kind, "person_id": person_id}
    return await deps.conversation.database.read(lambda s: page(s, world_id, *which, **asked))


@router.get("/world/commands", response_class=Response, responses=_COMMANDS | describe())
async def read_commands(deps: Serving, world_id: WorldId) -> Response:
    """What came to the world from outside, each with the minute that its clock showed, a line of JSON each: requests,
    and what was said and remembered in conversations that clients began. The first line says how far the world is.

    `kataribe replay` does it all again in a world that has not lived: with the same content, settings and answers of
    models it comes out the same.
    """

    def work(session: Session) -> bytes:
        now = deps.conversation.worlds.open(session, world_id).now
        lines = [{"type": "commands", "version": 1, "until": iso(now)}]
        seq = 0
        while some := events_after(session, world_id, seq, LIMIT_MAX, audience=Audience.AUTHOR):
            lines += map(line_of, some)
            seq = some[-1].id
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()

    told = await deps.conversation.database.read(work)
    return Response(told, media_type=NDJSON)
