"""Owns the endpoints of worlds side by side: those that have begun, how two of them differ; a world is kept, brought
back to what it was, or goes on twice from there.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from sqlmodel import Session, col, func, select

from service.api import views
from service.api.dependencies import (
    KNOWN_QUERY,
    AsAsked,
    In,
    Out,
    Serving,
    Slug,
    Whole,
    WorldId,
    WorldTimeText,
    describe,
)
from service.api.schemas import Page, WorldOut
from service.core import Core
from service.errors import refuse
from service.history.compare import Comparison, compare
from service.history.rewind import PastMoment
from service.runtime import snapshots
from service.runtime.snapshots import WorldSnapshot
from service.store.idempotency import Once, write_once
from service.store.tables import ConversationRow, WorldRow
from world.time import WorldTime

router = APIRouter(tags=["world"], dependencies=[KNOWN_QUERY])


class SnapshotIn(In, examples={"a save of a game": {"name": "before-the-festival"}}):
    """A snapshot by its name."""

    name: Slug = Field(
        description="where one is kept, what had that name before is gone", examples=["before-the-festival"]
    )


class RestoredOut(Out):
    """A world that was brought back."""

    world_id: str = Field(description="the world", examples=["main"])
    name: str = Field(description="the snapshot that it is again", examples=["before-the-festival"])
    now: WorldTimeText = Field(description="its world time")


class BranchIn(
    In,
    examples={
        "as it stands": {"to_world": "what-if"},
        "from a snapshot": {"to_world": "what-if", "snapshot": "before-the-festival"},
        "at an earlier minute": {"to_world": "what-if", "at": "2026-04-01T18:00"},
        "before a turn": {"to_world": "what-if", "conversation_id": "0003f2a17c55d1b2", "turn": 3},
    },
):
    """Where the two go apart: now; at a snapshot; and of either at an earlier minute, or before a turn is spoken."""

    to_world: Slug = Field(description="the world to begin; there must be none of that name", examples=["what-if"])
    snapshot: Slug | None = Field(default=None, description="a snapshot of this world; left out: the world as it is")
    at: str | None = Field(default=None, max_length=19, description="the beginning of that minute of the world")
    conversation_id: str | None = Field(default=None, max_length=64, description="with `turn`: it goes on otherwise")
    turn: Whole | None = Field(default=None, ge=0, description="the first turn, from 0, that was not said yet")


class BranchOut(Out):
    """A world that has begun as another one was."""

    world_id: str = Field(description="send it as `X-World-Id`", examples=["what-if"])
    branched_from: str = Field(description="the world that it was", examples=["main"])
    branched_at: WorldTimeText = Field(description="up to this world time they are the same")


@router.post("/world/snapshots", status_code=201, responses=describe(404, 409))
async def keep_world(body: SnapshotIn, deps: Serving, world_id: WorldId, asked: AsAsked) -> WorldSnapshot:
    """Keep the world as it stands: clock, lives, conversations, memories, promises, feelings. Nothing stops meanwhile,
    and what is being said is kept as far as it was said. A snapshot of that name is replaced.
    """
    return await snapshots.keep(deps.conversation, world_id, body.name, request=Once.of(world_id, asked))


@router.get("/world/snapshots")
async def list_snapshots(deps: Serving, world_id: WorldId) -> list[WorldSnapshot]:
    """The snapshots of the world, by world time. A world is kept by itself when a day begins, and so many days as
    `KATARIBE_WORLD__DAILY_SNAPSHOTS` says.
    """
    return await deps.conversation.database.read(lambda s: snapshots.snapshots(s, world_id))


@router.delete("/world/snapshots/{name}", status_code=204)
async def delete_snapshot(name: Slug, deps: Serving, world_id: WorldId, asked: AsAsked) -> None:
    """Let go of a snapshot; the world stays as it is."""
    request = Once.of(world_id, asked)
    await write_once(deps.conversation.database, request, lambda s: snapshots.remove(s, world_id, name))


@router.post("/world/restore", responses=describe(404, 409))
async def restore_world(body: SnapshotIn, deps: Serving, world_id: WorldId, asked: AsAsked) -> RestoredOut:
    """Bring the world back to a snapshot: whatever came after it is no more, and what is still being asked of models
    can write nothing. It goes on from there by itself where it was on its way. Snapshots stay, also later ones;
    so does what was paid. Who follows conversations is told `world.restored`, and `timeline` of `GET /world/events` is
    another one.
    """

    def told(now: WorldTime) -> RestoredOut:
        return RestoredOut(world_id=world_id, name=body.name, now=now)

    return told(await deps.restore(world_id, body.name, Once.of(world_id, asked, shown=told)))


@router.post("/world/branch", status_code=201, responses=describe(404, 409))
async def branch_world(body: BranchIn, deps: Serving, world_id: WorldId, asked: AsAsked) -> BranchOut:
    """Begin another world that is this one up to a moment, and goes on by itself from there; this one goes on as it
    did.

    At an earlier minute, or before a turn, everything that was said, learned, felt, promised or decided later is not
    there. What is not written down minute by minute begins anew in it: what characters were doing, needed and had
    planned; whoever was talking then goes on with its talk, as one that a client has started.
    """

    def told(now: WorldTime) -> BranchOut:
        return BranchOut(world_id=body.to_world, branched_from=world_id, branched_at=now)

    request = Once.of(world_id, asked, shown=told)
    return told(await deps.branch(world_id, body.to_world, body.snapshot, _moment(body), request))


def _moment(body: BranchIn) -> PastMoment | None:
    """Raises: Invalid: it names two, or half of one."""
    has_turn = body.turn is not None
    halved = has_turn != (body.conversation_id is not None)
    refuse((halved or (body.at is not None and has_turn), "body.at", "answers.invalid_fields.one_moment"))
    if body.conversation_id is not None:
        return PastMoment(conversation_id=body.conversation_id, turn=body.turn or 0)
    return None if body.at is None else PastMoment(at=views.moment(body.at, "body.at"))


SNAPSHOTS_SHOWN = 20
"""Most of a world's snapshots that the list has."""

WorldState = Literal["standing", "moving", "running", "stopped"]
"""Whether a world's clock goes on: not; to where it was told to go; by itself; not any more, for the service has
stopped it."""


class WorldSummary(Out, of=WorldOut, shows="id language now name characters npcs conversations_running"):
    """A world that has begun; `GET /world` tells more of it."""

    branched_from: str | None = Field(
        description="the world that it was before they went on apart; null: it began by itself"
    )
    branched_at: WorldTimeText | None = Field(
        description="up to this world time they are the same; null: it began by itself"
    )
    state: WorldState = Field(
        description="standing; moving: on its way to where a tick was to bring it; running: its clock runs by itself; "
        "stopped: the service has stopped its clock (`clock.stopped` of `GET /world` says why)"
    )
    conversations: int = Field(description="how many conversations it has had")
    snapshots: list[WorldSnapshot] = Field(
        description="its newest snapshots by world time, twenty at most (`GET /world/snapshots` has all)"
    )


@router.get("/worlds")
async def list_worlds(
    deps: Serving,
    after: Annotated[Slug | None, Query(description="`next` of the page before; left out: the first page")] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="At most so many worlds")] = 50,
) -> Page[WorldSummary]:
    """The worlds that have begun, in the order of their ids.

    A world begins when something is first written to it, and is gone with `DELETE /world`.
    """

    def work(session: Session) -> Page[WorldSummary]:
        query = select(WorldRow).order_by(col(WorldRow.id)).limit(limit + 1)
        if after is not None:
            query = query.where(col(WorldRow.id) > after)
        rows = session.exec(query).all()
        items = _summaries(session, deps, rows[:limit])
        return Page[WorldSummary](items=items, next=rows[limit - 1].id if len(rows) > limit else None)

    return await deps.conversation.database.read(work)


@router.get("/world/compare", responses=describe(404))
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


def _summaries(session: Session, deps: Core, rows: Sequence[WorldRow]) -> list[WorldSummary]:
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
            snapshots=snapshots.snapshots(session, row.id)[-SNAPSHOTS_SHOWN:],
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
