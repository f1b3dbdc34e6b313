"""Owns the endpoints of the way back: a world is kept, brought back to what it was, or goes on twice from there."""

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example
from pydantic import Field

from service.api import views
from service.api.dependencies import KNOWN_QUERY, In, Out, Serving, Slug, Whole, WorldId, WorldTimeText
from service.api.problem import describe
from service.errors import Invalid
from service.locales import Phrase
from service.runtime import snapshots
from service.runtime.rewind import Moment
from service.store.tables import SnapshotRow

router = APIRouter(prefix="/world", tags=["world"], dependencies=[KNOWN_QUERY])

_NAMES: dict[str, Example] = {"a save of a game": {"value": {"name": "before-the-festival"}}}
_BRANCHES: dict[str, Example] = {
    "as it stands": {"value": {"to_world": "what-if"}},
    "from a snapshot": {"value": {"to_world": "what-if", "snapshot": "before-the-festival"}},
    "at an earlier minute": {"value": {"to_world": "what-if", "at": "2026-04-01T18:00"}},
    "before a turn": {"value": {"to_world": "what-if", "conversation_id": "0003f2a17c55d1b2", "turn": 3}},
}


class SnapshotIn(In):
    """How the world as it stands is to be called."""

    name: Slug = Field(description="what was kept under that name before is gone", examples=["before-the-festival"])


class SnapshotOut(Out, of=SnapshotRow, shows="made_at automatic at"):
    """A world as it was kept."""

    name: str = Field(description="by which it is restored", examples=["before-the-festival"])
    size: int = Field(
        description="bytes that are kept for it beside the world as it is: what has changed since", examples=[52_340]
    )


class RestoreIn(In):
    """To which moment."""

    name: Slug = Field(description="of a snapshot of this world", examples=["before-the-festival"])


class RestoredOut(Out):
    """A world that was brought back."""

    world_id: str = Field(description="the world", examples=["main"])
    name: str = Field(description="the snapshot that it is again", examples=["before-the-festival"])
    now: WorldTimeText = Field(description="its world time")


class BranchIn(In):
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


@router.post("/snapshots", response_model=SnapshotOut, status_code=201, responses=describe(400, 404, 409))
async def keep_world(
    body: Annotated[SnapshotIn, Body(openapi_examples=_NAMES)], deps: Serving, world_id: WorldId
) -> SnapshotOut:
    """Keep the world as it stands: clock, lives, conversations, memories, promises, feelings. Nothing stops meanwhile,
    and what is being said is kept as far as it was said. A snapshot of that name is replaced.
    """
    return SnapshotOut.of(await snapshots.keep(deps.conversation, world_id, body.name))


@router.get("/snapshots", response_model=list[SnapshotOut], responses=describe())
async def list_snapshots(deps: Serving, world_id: WorldId) -> list[SnapshotOut]:
    """The snapshots of the world, by world time. A world is kept by itself when a day begins, and so many days as
    `KATARIBE_WORLD__DAILY_SNAPSHOTS` says.
    """
    found = await deps.conversation.database.read(lambda s: snapshots.snapshots(s, world_id))
    return [SnapshotOut.of(one) for one in found]


@router.delete("/snapshots/{name}", status_code=204, responses=describe(404))
async def delete_snapshot(name: Slug, deps: Serving, world_id: WorldId) -> None:
    """Let go of a snapshot; the world stays as it is."""
    await deps.conversation.database.write(lambda s: snapshots.remove(s, world_id, name))


@router.post("/restore", response_model=RestoredOut, responses=describe(400, 404, 409))
async def restore_world(
    body: Annotated[RestoreIn, Body(openapi_examples=_NAMES)], deps: Serving, world_id: WorldId
) -> RestoredOut:
    """Bring the world back to a snapshot: whatever came after it is no more, and what is still being asked of models
    can write nothing. It goes on from there by itself where it was on its way. Snapshots stay, also later ones;
    so does what was paid. Who follows conversations is told `world.restored`, and `timeline` of `GET /world/events` is
    another one.
    """
    await deps.restore(world_id, body.name)
    now = await deps.read(world_id, lambda _, world: world.now)
    return RestoredOut(world_id=world_id, name=body.name, now=now)


@router.post("/branch", response_model=BranchOut, status_code=201, responses=describe(400, 404, 409))
async def branch_world(
    body: Annotated[BranchIn, Body(openapi_examples=_BRANCHES)], deps: Serving, world_id: WorldId
) -> BranchOut:
    """Begin another world that is this one up to a moment, and goes on by itself from there; this one goes on as it
    did.

    At an earlier minute, or before a turn, everything that was said, learned, felt, promised or decided later is not
    there. What is not written down minute by minute begins anew in it: what characters were doing, needed and had
    planned; whoever was talking then goes on with its talk, as one that a client has started.
    """
    await deps.branch(world_id, body.to_world, body.snapshot, _moment(body))
    now = await deps.read(body.to_world, lambda _, world: world.now)
    return BranchOut(world_id=body.to_world, branched_from=world_id, branched_at=now)


def _moment(body: BranchIn) -> Moment | None:
    """Raises: Invalid: it names two, or half of one."""
    of_turn = (body.conversation_id is None, body.turn is None)
    if of_turn[0] != of_turn[1] or (body.at is not None and not of_turn[0]):
        raise Invalid(field="body.at", reason=Phrase("answers.invalid_fields.one_moment"))
    if body.conversation_id is not None:
        return Moment(conversation_id=body.conversation_id, turn=body.turn or 0)
    if body.at is None:
        return None
    return Moment(at=views.moment(body.at, "body.at"))
