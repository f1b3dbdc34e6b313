"""Owns the endpoints of what a character could do, and what a client makes it do."""

from typing import Annotated, Any

from fastapi import APIRouter, Header
from pydantic import TypeAdapter
from sqlmodel import Session

from service.api.dependencies import IdempotencyKey, Serving, WorldId, once_of
from service.api.fields import Slug
from service.api.life_schemas import (
    ActedOut,
    ActionIn,
    DoIn,
    DoingOut,
    MovedOut,
    MoveIn,
    PossibilitiesOut,
    SleepIn,
    SleptOut,
)
from service.api.possibilities import possibilities_out
from service.api.problem import describe
from service.locales import language_named
from service.runtime.client_actions import Destination, do, possibilities, sleep, walk
from service.runtime.world_session import WorldSession, load
from service.store.idempotency import once
from world.time import WorldTime, iso

router = APIRouter(tags=["people"])

_ACTED: TypeAdapter[SleptOut | MovedOut | DoingOut] = TypeAdapter(ActedOut)


@router.get("/characters/{character_id}/actions", response_model=PossibilitiesOut, responses=describe(404, 409))
async def read_actions(
    character_id: Slug,
    deps: Serving,
    world_id: WorldId,
    accept_language: Annotated[str | None, Header(max_length=200, description="ja or en; else the world's")] = None,
) -> PossibilitiesOut:
    """What the character could do now if it stopped what it does, and what not, and why. It changes nothing, and
    answers at once, also while the world moves.

    Options can be done with `POST` at the same address: `go` and `talk` aside, which are `move` and
    `POST /conversations/start`.
    """

    def work(session: Session) -> PossibilitiesOut:
        world_session = load(session, deps.conversation.worlds, world_id, models_missing=deps.models_missing)
        found = possibilities(session, world_session, character_id)
        language = language_named(accept_language) or world_session.world.language
        return possibilities_out(deps.conversation.worlds, world_session.world, language, character_id, found)

    return await deps.conversation.database.read(work)


@router.post("/characters/{character_id}/actions", response_model=ActedOut, responses=describe(400, 404, 409))
async def act(
    character_id: Slug, body: ActionIn, deps: Serving, world_id: WorldId, key: IdempotencyKey
) -> SleptOut | MovedOut | DoingOut:
    """Let a character sleep (its day's conversations are cleared), walk somewhere, or do an action, from now on.

    What it does ends, and from here on it is in the client's hands: when it is done it stands until it is told what to
    do next, while everybody else lives on. `PATCH /characters/{id}` with another `decision` gives it back.
    """
    request = once_of(world_id, key, f"act/{character_id}", body.model_dump())

    def work(session: Session, world_session: WorldSession) -> dict[str, Any]:
        return once(session, request, lambda: _act(session, world_session, character_id, body))

    return _ACTED.validate_python(await deps.world_runner.command(world_id, work, leaves_minds_alone=True))


def _act(
    session: Session, world_session: WorldSession, character_id: str, body: SleepIn | MoveIn | DoIn
) -> dict[str, Any]:
    now = world_session.world.now
    if isinstance(body, MoveIn):
        to = Destination(node_id=body.node_id, facility_id=body.facility_id, npc_id=body.npc_id)
        segment = walk(session, world_session, character_id, to)
        return MovedOut(
            path=list(segment.path),
            times=[iso(t) for t in segment.times],
            arrives_at=iso(segment.arrival),
            minutes=segment.arrival - segment.start,
        ).model_dump()
    if isinstance(body, DoIn):
        option = do(session, world_session, character_id, body.action_id, facility_id=body.facility_id)
        arrival = WorldTime(now + option.walk_minutes)
        return DoingOut(
            action_id=option.action_id,
            node_id=option.node_id,
            facility_id=option.facility_id,
            arrives_at=iso(arrival),
            until=iso(WorldTime(arrival + option.minutes)),
        ).model_dump()
    cleared = sleep(session, world_session, character_id)
    return SleptOut(at=iso(now), cleared_conversations=cleared).model_dump()
