"""Owns the endpoints of worlds side by side: those that have begun, and how two of them differ, as two branches do."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from sqlmodel import Session, col, func, select

from service.api.dependencies import KNOWN_QUERY, ApiDependencies, Serving, Slug, WorldId, describe
from service.api.schemas import Page, WorldNow
from service.api.snapshots import SnapshotOut
from service.runtime.compare import Comparison, compare
from service.runtime.snapshots import snapshots
from service.store.tables import ConversationRow, WorldRow

router = APIRouter(tags=["world"], dependencies=[KNOWN_QUERY])

SNAPSHOTS_SHOWN = 20
"""Most of a world's snapshots that the list has."""

WorldState = Literal["standing", "moving", "running", "stopped"]
"""Whether a world's clock goes on: not; to where it was told to go; by itself; not any more, for the service has
stopped it."""


class WorldSummary(WorldNow, of=WorldRow, shows="branched_from branched_at"):
    """A world that has begun; `GET /world` tells more of it."""

    state: WorldState = Field(
        description="standing; moving: on its way to where a tick was to bring it; running: its clock runs by itself; "
        "stopped: the service has stopped its clock (`clock.stopped` of `GET /world` says why)"
    )
    conversations: int = Field(description="how many conversations it has had")
    snapshots: list[SnapshotOut] = Field(
        description="its newest snapshots by world time, twenty at most (`GET /world/snapshots` has all)"
    )


class WorldPage(Page):
    """Worlds in the order of their ids."""

    items: list[WorldSummary] = Field(description="the worlds of this page")


@router.get("/worlds", response_model=WorldPage, responses=describe())
async def list_worlds(
    deps: Serving,
    after: Annotated[Slug | None, Query(description="`next` of the page before; left out: the first page")] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="At most so many worlds")] = 50,
) -> WorldPage:
    """The worlds that have begun, in the order of their ids.

    A world begins when something is first written to it, and is gone with `DELETE /world`.
    """

    def work(session: Session) -> WorldPage:
        query = select(WorldRow).order_by(col(WorldRow.id)).limit(limit + 1)
        if after is not None:
            query = query.where(col(WorldRow.id) > after)
        rows = session.exec(query).all()
        items = _summaries(session, deps, rows[:limit])
        return WorldPage(items=items, next=rows[limit - 1].id if len(rows) > limit else None)

    return await deps.conversation.database.read(work)


@router.get("/world/compare", response_model=Comparison, responses=describe(404))
async def compare_worlds(
    deps: Serving,
    world_id: WorldId,
    with_: Annotated[Slug, Query(alias="with", description="the other world", examples=["what-if"])],
    limit: Annotated[int, Query(ge=1, le=200, description="At most so many differences of each kind")] = 20,
) -> Comparison:
    """Compare the world with another one, as two branches are: what was said, what people remember, how they stand to
    each other, what they promised. Each as it is at its own world time.
    """
    return await compare(deps.conversation, world_id, with_, limit)


def _summaries(session: Session, deps: ApiDependencies, rows: Sequence[WorldRow]) -> list[WorldSummary]:
    ids = [row.id for row in rows]
    counted = select(ConversationRow.world_id, ConversationRow.phase, func.count())
    counted = counted.where(col(ConversationRow.world_id).in_(ids))
    counted = counted.group_by(col(ConversationRow.world_id), col(ConversationRow.phase))
    count = {(world_id, phase): number for world_id, phase, number in session.exec(counted)}
    return [
        WorldSummary.of(
            row,
            name=world.cast.world_name,
            state=_state(row),
            characters=len(world.cast.characters),
            npcs=len(world.cast.npcs),
            conversations=sum(number for (world_id, _), number in count.items() if world_id == row.id),
            conversations_running=count.get((row.id, "running"), 0),
            snapshots=[SnapshotOut.of(one) for one in snapshots(session, row.id)[-SNAPSHOTS_SHOWN:]],
        )
        for row in rows
        for world in (deps.conversation.worlds.as_world(session, row),)
    ]


def _state(row: WorldRow) -> WorldState:
    if row.clock_stopped is not None:
        return "stopped"
    if row.clock_mode == "running":
        return "running"
    return "moving" if (row.target or row.now) > row.now else "standing"
