"""Owns the server-sent events of a conversation: what is committed from the store, then what happens now."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import fields

from fastapi import Request, WebSocket
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import BaseModel
from sqlmodel import Session, col, select
from starlette.types import Send

from service.api import views
from service.api.schemas import TurnOut
from service.conversation.stream import Speaking
from service.core import Core
from service.store.phase import Phase
from service.store.tables import ConversationKey, ConversationRow, TurnRow, WorldRow, said_in

QUIET_SECONDS = 15.0
"""After so long without news a client is sent a comment: nothing between is to take the connection for a dead one."""

DESCRIBED = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}, "id": {"type": "string"}},
}
"""One event, for OpenAPI."""

_TOLD = [one.name for one in fields(Speaking) if one.name != "utterance_id"]
SETTLED = (Phase.CLOSED, Phase.CLOSING_FAILED)
"""In these phases nothing more comes of a conversation."""


class EventStream(StreamingResponse):
    """An answer of server-sent events.

    FastAPI's own way, an endpoint that yields, closes its channel before it ends the task that writes to it: a client
    that leaves while events wait there is an error in the log.
    """

    media_type = "text/event-stream"

    @classmethod
    def of(cls, events: AsyncGenerator[bytes]) -> "EventStream":
        """An answer that no proxy keeps or holds back."""
        return cls(events, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})

    async def stream_response(self, send: Send) -> None:
        """Send until the generator ends or the client has left; the generator is closed either way."""
        assert isinstance(self.body_iterator, AsyncGenerator)  # noqa: S101 - made by `of`
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self.body_iterator) as events:
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
                await asyncio.sleep(0)  # that a client has left is seen before the next event is written
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def has_left(client: Request | WebSocket) -> None:
    """Return when the client has left; what it sends is not read."""
    while not (await client.receive())["type"].endswith(".disconnect"):
        pass


async def events_of(
    deps: Core, world_id: str, conversation_id: str, last_event_id: int | None
) -> AsyncGenerator[bytes]:
    """Committed turns carry the ids 1, 2, …; a client that comes back with the last one it has misses none."""
    key, seen = ConversationKey(world_id, conversation_id), last_event_id or 0
    is_ended, timeline = False, None

    standing = (
        select(WorldRow.timeline, ConversationRow.phase, ConversationRow.end_reason)
        .join(ConversationRow, col(ConversationRow.world_id) == WorldRow.id)
        .where(WorldRow.id == world_id, ConversationRow.id == conversation_id)
    )

    def news(session: Session) -> tuple[tuple[int, str, str | None] | None, list[TurnRow]]:
        turns = select(TurnRow).where(*said_in(key), TurnRow.turn >= seen).order_by(col(TurnRow.turn))
        return session.exec(standing).first(), list(session.exec(turns))

    with deps.conversation.stream.mailbox(key) as box:
        while True:
            if not await box.wait(QUIET_SECONDS):
                yield KEEPALIVE_COMMENT
            has_news, words = box.take()
            if has_news:
                stands, turns = await deps.conversation.database.read(news)
                if stands is None or timeline not in (None, stands[0]):
                    yield _event("restored", {})
                    return
                timeline, phase, end_reason = stands
                for turn in turns:
                    seen = turn.turn + 1
                    yield _event("turn", TurnOut.model_validate(turn), id=str(seen))
                if end_reason is not None and not is_ended:
                    is_ended = True
                    yield _event("ended", {"reason": end_reason})
                if phase in SETTLED:
                    yield _event(phase, await views.read_conversation(deps, *key))
                    return
            if key in words and words[key].turn >= seen:
                yield _event("speaking", {name: getattr(words[key], name) for name in _TOLD})
            if box.is_stopped:
                return


def _event(kind: str, data: BaseModel | dict[str, object], id: str | None = None) -> bytes:
    text = data.model_dump_json() if isinstance(data, BaseModel) else json.dumps(data)
    return format_sse_event(event=kind, data_str=text, id=id)
