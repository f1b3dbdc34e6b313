"""Owns the endpoints of what a character could do, in the reader's language, and what a client makes it do."""

from typing import Annotated, Any

from fastapi import APIRouter, Header
from pydantic import TypeAdapter
from sqlmodel import Session

from service.api.dependencies import KNOWN_QUERY, AsAsked, IdempotencyKey, Serving, Slug, WorldId, describe, once_of
from service.api.life_schemas import (
    ActedOut,
    ActionIn,
    DoIn,
    DoingOut,
    MovedOut,
    MoveIn,
    OptionOut,
    PossibilitiesOut,
    RefusalOut,
    SleepIn,
    SleptOut,
)
from service.decision.options import action_name, option_line, why
from service.locales import language_accepted
from service.people.worlds import WorldView
from service.runtime.client_actions import Destination, do, possibilities, sleep, walk
from service.runtime.world_session import WorldSession, load
from service.store.idempotency import once
from world.actions import Option, Refusal

router = APIRouter(tags=["people"], dependencies=[KNOWN_QUERY])

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
        world_session = load(
            session, deps.conversation.worlds, world_id, models_missing=deps.conversation.models_missing
        )
        found = possibilities(session, world_session, character_id)
        language = language_accepted(accept_language) or world_session.world.language
        world = world_session.world.told_in(language)
        return PossibilitiesOut(
            character_id=character_id,
            now=world.now,
            language=language,
            options=[
                OptionOut.of(
                    one, **_named(world, one), place=world.map.label(one.node_id), text=option_line(world, one)
                )
                for one in found.options
            ],
            refusals=[
                RefusalOut.of(one, **_named(world, one), reason=one.reason.value, text=why(world, one))
                for one in found.refusals
            ],
        )

    return await deps.conversation.database.read(work)


@router.post("/characters/{character_id}/actions", response_model=ActedOut, responses=describe(400, 404, 409))
async def act(
    character_id: Slug,
    body: ActionIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
    key: IdempotencyKey,
) -> SleptOut | MovedOut | DoingOut:
    """Let a character sleep (its day's conversations are cleared), walk somewhere, or do an action, from now on.

    What it does ends, and from here on it is in the client's hands: when it is done it stands until it is told what to
    do next, while everybody else lives on. `PATCH /characters/{id}` with another `decision` gives it back.
    """
    request = once_of(world_id, key, f"act/{character_id}", body.model_dump())

    def work(session: Session, world_session: WorldSession) -> dict[str, Any]:
        return once(session, request, lambda: _act(session, world_session, character_id, body))

    return _ACTED.validate_python(await deps.world_runner.command(world_id, work, keeps_decisions=True, asked=asked))


def _act(
    session: Session, world_session: WorldSession, character_id: str, body: SleepIn | MoveIn | DoIn
) -> dict[str, Any]:
    now = world_session.world.now
    if isinstance(body, MoveIn):
        to = Destination(node_id=body.node_id, facility_id=body.facility_id, npc_id=body.npc_id)
        segment = walk(session, world_session, character_id, to)
        minutes = segment.arrival - segment.start
        return MovedOut.of(segment, arrives_at=segment.arrival, minutes=minutes).model_dump()
    if isinstance(body, DoIn):
        option = do(session, world_session, character_id, body.action_id, facility_id=body.facility_id)
        arrival = now + option.walk_minutes
        return DoingOut.of(option, arrives_at=arrival, until=arrival + option.minutes).model_dump()
    cleared = sleep(session, world_session, character_id)
    return SleptOut(at=now, cleared_conversations=cleared).model_dump()


def _named(world: WorldView, one: Option | Refusal) -> dict[str, Any]:
    facility = world.map.facilities.get(one.facility_id or "")
    return {
        "name": action_name(world, one.action_id),
        "facility_name": facility.name if facility else None,
        "target_name": world.name_of(one.target_id) if one.target_id else None,
    }
