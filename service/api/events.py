"""Owns the endpoint of what happened in a world."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from service.api import views
from service.api.dependencies import Serving, WorldId
from service.api.event_page import LIMIT_MAX, EventQuery, page
from service.api.fields import Slug
from service.api.problem import describe
from service.api.schemas import EventPage

router = APIRouter(tags=["world"])


@router.get("/world/events", response_model=EventPage, responses=describe())
async def read_events(
    deps: Serving,
    world_id: WorldId,
    after: Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before; later events only")] = 0,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="`next` of the page before, newest first; earlier events only")
    ] = None,
    kind: Annotated[str | None, Query(pattern="^[a-z_]{1,40}$")] = None,
    person_id: Slug | None = None,
    since: Annotated[str | None, Query(max_length=19, description="Not before that world time")] = None,
    until: Annotated[str | None, Query(max_length=19, description="Not after that world time")] = None,
    order: Annotated[Literal["asc", "desc"], Query(description="Oldest or newest first")] = "asc",
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = 100,
) -> EventPage:
    """What happened in the world, oldest first, or newest first."""
    asked = EventQuery(
        world_id=world_id,
        after=after,
        before=before,
        kind=kind,
        person_id=person_id,
        since=None if since is None else views.moment(since, "query.since"),
        until=None if until is None else views.moment(until, "query.until"),
        order=order,
        limit=limit,
    )
    return await deps.conversation.database.read(lambda s: page(s, asked))
