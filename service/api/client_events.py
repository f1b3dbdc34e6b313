"""Owns the endpoints by which a game follows conversations with humans: as server-sent events, over a WebSocket, and by
asking again and again. They tell the same.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response, WebSocket, WebSocketDisconnect
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import Field
from sqlalchemy.sql import ColumnElement
from sqlmodel import Session

from service.api.dependencies import KNOWN_QUERY, Out, Serving, Slug, WorldId, describe
from service.api.stream import DESCRIBED, QUIET_SECONDS, SETTLED, EventStream, has_left
from service.api.telling import POSITION, AnyClientEvent, ClientEvent, StreamPosition, Telling
from service.conversation.stream import Mailbox, person_key
from service.conversation.transcript import conversations_open, phase_of
from service.core import Core
from service.errors import NeverTold, NotFound
from service.runtime.tasks import cancel
from service.store.client_event_kinds import TalkStarted, UtteranceDelta
from service.store.events import (
    events_after,
    newest_client_event,
    of_conversation,
    of_person,
    utterances_open,
)
from service.store.phase import Audience
from service.store.tables import ConversationKey, EventRow

AT_ONCE = 50
"""Most events that are read at once: a client that reads nothing keeps so many in memory."""

Told = tuple[ClientEvent, StreamPosition]
"""An event, and how much was told with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """What is followed: one conversation, or all in which a person takes part."""

    world_id: str
    conversation_id: str | None = None
    person_id: str = ""

    @property
    def key(self) -> ConversationKey:
        """By which news of it is told."""
        if self.conversation_id is None:
            return person_key(self.world_id, self.person_id)
        return ConversationKey(self.world_id, self.conversation_id)

    @property
    def events(self) -> Sequence[ColumnElement[bool]]:
        """Of client events: those of it."""
        if self.conversation_id is None:
            return of_person(self.world_id, self.person_id)
        return of_conversation(self.conversation_id)

    def is_over(self, session: Session) -> bool:
        """Whether nothing more will be told. Raises: NotFound: there is no such conversation."""
        return (
            self.conversation_id is not None
            and phase_of(session, ConversationKey(self.world_id, self.conversation_id)) in SETTLED
        )


class Follower:
    """Follows for one connection. It reads no faster than it is asked to."""

    def __init__(self, deps: Core, followed: Followed, box: Mailbox, telling: Telling) -> None:
        self._stream = deps.conversation.stream
        self._database = deps.conversation.database
        self._followed = followed
        self._telling = telling
        self.box = box
        self.is_over = False

    @property
    def position(self) -> StreamPosition:
        """How much was told so far."""
        return self._telling.position

    async def next(self, timeout_seconds: float) -> list[Told]:
        """What comes next, each with the position after it; empty: nothing happened for so long, or nothing will."""
        until = time.monotonic() + timeout_seconds
        while True:
            left = max(0.0, until - time.monotonic())
            await self.box.wait(left)
            has_news, words = self.box.take()
            told = await self._committed() if has_news else []
            for key, spoken in words.items():
                told += ((event, self.position) for event in self._telling.spoken(key, spoken))
            if told or self.is_over or not left:
                return told

    async def _committed(self) -> list[Told]:
        """What was committed since; at most `AT_ONCE` of it."""
        world_id, seq = self._followed.world_id, self.position.seq

        def work(session: Session) -> tuple[bool, list[EventRow]]:
            try:
                is_over = self._followed.is_over(session)
            except NotFound:  # where the world was brought back to, it had not begun
                is_over = True
            return is_over, events_after(
                session, world_id, seq, AT_ONCE, *self._followed.events, audience=Audience.PARTICIPANTS
            )

        is_over, rows = await self._database.read(work)
        if len(rows) == AT_ONCE:
            is_over = False
            self.box.put(self._followed.key, None)
        self.is_over = is_over or self.box.is_stopped
        for row in rows:
            if row.kind == TalkStarted.kind and row.conversation_id is not None:
                self._stream.follow(self.box, ConversationKey(world_id, row.conversation_id))
        return [(event, self.position) for row in rows for event in self._telling.committed(row)]


@asynccontextmanager
async def following(deps: Core, followed: Followed, position: StreamPosition) -> AsyncIterator[Follower]:
    """Follow from that position on.

    Raises:
        NotFound: there is no such conversation.
        NeverTold: no event of that number was told.
    """
    with deps.conversation.stream.mailbox(followed.key) as box:

        def work(session: Session) -> tuple[list[ConversationKey], list[EventRow]]:
            newest = newest_client_event(session, followed.world_id)
            if position.seq > newest:
                raise NeverTold(seq=position.seq, newest=newest)
            followed.is_over(session)
            running = conversations_open(session, followed.world_id, followed.person_id) if followed.person_id else []
            return running, utterances_open(session, followed.world_id, position.seq, followed.events)

        running, open_utterances = await deps.conversation.database.read(work)
        for key in running:
            deps.conversation.stream.follow(box, key)
        yield Follower(deps, followed, box, Telling(position, open_utterances))


router = APIRouter(dependencies=[KNOWN_QUERY])

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


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"itemSchema": DESCRIBED}}},
    204: {"description": "Nothing more will be told to who comes back with this `Last-Event-ID`"},
    **describe(404),
}


def _follow(of: Callable[..., Any], prefix: str, tag: str, suffix: str = "") -> None:
    """Serve the three ways to follow what the dependency `of` says, below that path: server-sent events, and what asks
    again and again, or holds a WebSocket, and is told the same.
    """

    @router.get(
        f"{prefix}/stream",
        response_class=EventStream,
        responses=_STREAM,
        tags=[tag],
        name=f"stream_client_events{suffix}",
    )
    async def stream_client_events(
        deps: Serving,
        followed: Annotated[Followed, Depends(of)],
        after: After = "0",
        last_event_id: LastEventId = None,
    ) -> Response:
        """A conversation with a human as it is spoken, or all in which a person takes part, those to come included, as
        server-sent events (docs/client-events.md): the name of each is its `kind`, its data is as in `GET …/updates`.
        The stream ends when the conversation is remembered; who comes back with the `Last-Event-ID` of its end is
        answered 204, at which a browser's EventSource stops.
        """
        position = StreamPosition.read(last_event_id or after)
        # A stream that has begun can answer with no problem: its beginning is read first. And an EventSource comes back
        # whenever a stream has ended, for ever, unless it is told 204 (HTML, 9.2.3).
        async with following(deps, followed, position) as follower:
            is_over = last_event_id is not None and not await follower.next(0) and follower.is_over
            if is_over and not follower.box.is_stopped:
                return Response(status_code=204)
        return EventStream.of(_events(deps, followed, position))

    @router.get(
        f"{prefix}/updates",
        response_model=Updates,
        responses=describe(404),
        tags=[tag],
        name=f"read_client_events{suffix}",
    )
    async def read_client_events(
        deps: Serving, followed: Annotated[Followed, Depends(of)], after: After = "0", wait: Wait = 25.0
    ) -> Updates:
        """What the stream tells, for clients without streams: the answer comes with the next event or sentence, or
        after `wait` seconds. Ask again with its `next`.
        """
        async with following(deps, followed, StreamPosition.read(after)) as follower:
            until = time.monotonic() + wait
            told = await follower.next(wait)
            while not follower.is_over and all(event.kind == UtteranceDelta.kind for event, _ in told):
                if (left := until - time.monotonic()) <= 0:
                    break
                told += await follower.next(left)
            return Updates(items=[event for event, _ in told], next=str(follower.position), over=follower.is_over)

    @router.websocket(f"{prefix}/ws", name=f"send_client_events{suffix}")
    async def send_client_events(
        websocket: WebSocket, deps: Serving, followed: Annotated[Followed, Depends(of)], after: After = "0"
    ) -> None:
        """What the stream tells, each event a text message of JSON. What a client sends is not read."""
        async with following(deps, followed, StreamPosition.read(after)) as follower:
            await websocket.accept()
            leaving = asyncio.create_task(has_left(websocket))
            telling = asyncio.create_task(_tell(websocket, follower))
            try:
                await asyncio.wait((leaving, telling), return_when=asyncio.FIRST_COMPLETED)
                if telling.done():
                    telling.result()
            finally:
                await cancel([leaving, telling])


async def _events(deps: Core, followed: Followed, position: StreamPosition) -> AsyncGenerator[bytes]:
    async with following(deps, followed, position) as follower:
        while not follower.is_over:
            told = await follower.next(QUIET_SECONDS)
            for event, place in told:
                yield format_sse_event(event=event.kind, data_str=event.model_dump_json(), id=str(place))
            if not told:
                yield KEEPALIVE_COMMENT


async def _tell(websocket: WebSocket, follower: Follower) -> None:
    with suppress(WebSocketDisconnect):
        while not follower.is_over:
            for event, _ in await follower.next(QUIET_SECONDS):
                await websocket.send_text(event.model_dump_json())
        await websocket.close(RESTARTING if follower.box.is_stopped else OVER)


_follow(_of_conversation, "/conversations/{conversation_id}", "conversations")
_follow(_of_person, "/people/{person_id}", "people", "_of_person")
