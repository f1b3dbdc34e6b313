"""Owns the endpoints by which a game follows conversations with humans: as server-sent events, over a WebSocket, and by
asking again and again. They tell the same.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, WebSocket, WebSocketDisconnect
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import Field

from service.api.dependencies import ApiDependencies, Serving, WorldId
from service.api.fields import Out, Slug
from service.api.following import Followed, Follower, following
from service.api.problem import describe
from service.api.stream import DESCRIBED, QUIET_SECONDS, EventStream
from service.api.telling import POSITION, AnyClientEvent, Position
from service.runtime.tasks import cancel
from service.store.client_event_kinds import UtteranceDelta

router = APIRouter(tags=["conversations"])

OVER, RESTARTING = 1000, 1012
"""Why a WebSocket is closed: nothing more will be told; the service stops, and the client is to come back."""

After = Annotated[
    str,
    Query(
        pattern=POSITION,
        description="`seq` of the last event that you have; 0: from the beginning. `next` of GET …/updates, and the "
        "`id` of a server-sent event, also say how much of the utterance that is being spoken you have: 57.120.3",
    ),
]
LastEventId = Annotated[
    str | None,
    Header(pattern=POSITION, description="The same as `after`, as a browser sends it when it comes back; it wins"),
]
Wait = Annotated[float, Query(ge=0, le=60, description="Seconds to wait for something new")]


class Updates(Out):
    """What happened since, oldest first."""

    items: list[AnyClientEvent] = Field(description="the events")
    next: str = Field(description="the `after` with which to ask again", examples=["57.120.3"])
    over: bool = Field(description="nothing more will be told: the conversation is over, and remembered or not")


def _of_conversation(conversation_id: Slug, world_id: WorldId) -> Followed:
    return Followed(world_id=world_id, conversation_id=conversation_id)


async def _of_person(person_id: Slug, deps: Serving, world_id: WorldId) -> Followed:
    await deps.read(world_id, lambda _, world: world.cast.person(person_id))
    return Followed(world_id=world_id, person_id=person_id)


OfConversation = Annotated[Followed, Depends(_of_conversation)]
OfPerson = Annotated[Followed, Depends(_of_person)]

_STREAM = {200: {"content": {"text/event-stream": {"itemSchema": DESCRIBED}}}, **describe(404)}


@router.get("/conversations/{conversation_id}/stream", response_class=EventStream, responses=_STREAM)
async def stream_client_events(
    deps: Serving, followed: OfConversation, after: After = "0", last_event_id: LastEventId = None
) -> EventStream:
    """A conversation with a human as it is spoken, as server-sent events (docs/client-events.md): the name of each is
    its `kind`, its data is as in `GET …/updates`. The stream ends when the conversation is remembered.
    """
    return await _stream(deps, followed, last_event_id or after)


@router.get("/conversations/{conversation_id}/updates", response_model=Updates, responses=describe(404))
async def read_client_events(deps: Serving, followed: OfConversation, after: After = "0", wait: Wait = 25.0) -> Updates:
    """What the stream tells, for clients without streams: the answer comes with the next event or sentence, or after
    `wait` seconds. Ask again with its `next`.
    """
    return await _updates(deps, followed, after, wait)


@router.websocket("/conversations/{conversation_id}/ws")
async def send_client_events(websocket: WebSocket, deps: Serving, followed: OfConversation, after: After = "0") -> None:
    """What the stream tells, each event a text message of JSON. What a client sends is not read."""
    await _send(websocket, deps, followed, after)


@router.get("/people/{person_id}/stream", response_class=EventStream, responses=_STREAM, tags=["people"])
async def stream_client_events_of_person(
    deps: Serving, followed: OfPerson, after: After = "0", last_event_id: LastEventId = None
) -> EventStream:
    """The same of all conversations with humans in which the person takes part, those to come included."""
    return await _stream(deps, followed, last_event_id or after)


@router.get("/people/{person_id}/updates", response_model=Updates, responses=describe(404), tags=["people"])
async def read_client_events_of_person(
    deps: Serving, followed: OfPerson, after: After = "0", wait: Wait = 25.0
) -> Updates:
    """What the person's stream tells, for clients without streams."""
    return await _updates(deps, followed, after, wait)


@router.websocket("/people/{person_id}/ws")
async def send_client_events_of_person(
    websocket: WebSocket, deps: Serving, followed: OfPerson, after: After = "0"
) -> None:
    """What the person's stream tells, each event a text message of JSON."""
    await _send(websocket, deps, followed, after)


async def _stream(deps: ApiDependencies, followed: Followed, after: str) -> EventStream:
    """A stream that has begun can answer with no problem: its beginning is read first."""
    position = Position.read(after)
    async with following(deps, followed, position):
        pass
    return EventStream.of(_events(deps, followed, position))


async def _events(deps: ApiDependencies, followed: Followed, position: Position) -> AsyncGenerator[bytes]:
    async with following(deps, followed, position) as follower:
        while not follower.is_over:
            told = await follower.next(QUIET_SECONDS)
            for event, place in told:
                yield format_sse_event(event=event.kind, data_str=event.model_dump_json(), id=str(place))
            if not told:
                yield KEEPALIVE_COMMENT


async def _updates(deps: ApiDependencies, followed: Followed, after: str, wait: float) -> Updates:
    async with following(deps, followed, Position.read(after)) as follower:
        until = time.monotonic() + wait
        told = await follower.next(wait)
        while not follower.is_over and all(event.kind == UtteranceDelta.kind for event, _ in told):
            if (left := until - time.monotonic()) <= 0:
                break
            told += await follower.next(left)
        return Updates(items=[event for event, _ in told], next=str(follower.position), over=follower.is_over)


async def _send(websocket: WebSocket, deps: ApiDependencies, followed: Followed, after: str) -> None:
    async with following(deps, followed, Position.read(after)) as follower:
        await websocket.accept()
        leaving = asyncio.create_task(_left(websocket))
        telling = asyncio.create_task(_tell(websocket, follower))
        try:
            await asyncio.wait((leaving, telling), return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
        finally:
            await cancel([leaving, telling])


async def _tell(websocket: WebSocket, follower: Follower) -> None:
    with suppress(WebSocketDisconnect):
        while not follower.is_over:
            for event, _ in await follower.next(QUIET_SECONDS):
                await websocket.send_text(event.model_dump_json())
        await websocket.close(RESTARTING if follower.is_stopped else OVER)


async def _left(websocket: WebSocket) -> None:
    """Return when the client has left; what it sends is not read."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass
