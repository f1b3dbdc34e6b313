"""Owns the server-sent events of a conversation: what is committed from the store, then what happens now."""

from collections.abc import AsyncIterator
from dataclasses import asdict

from fastapi.sse import ServerSentEvent

from service.api import views
from service.api.deps import House
from service.api.schemas import ConversationDetail
from service.conversation.phase import Phase
from service.conversation.stream import Ended, Said, Settled, Speaking

QUIET_SECONDS = 15.0
"""After so long without news the store is looked at: another replica may carry the conversation."""

_OVER = (Phase.CLOSED, Phase.CLOSING_FAILED)


async def events_of(
    house: House, world_id: str, conversation_id: str, last_event_id: int | None
) -> AsyncIterator[ServerSentEvent]:
    """Committed turns carry the ids 1, 2, …; a client that comes back with the last one it has misses none."""
    seen = last_event_id or 0
    ended = False
    with house.room.stream.listen(conversation_id) as listener:
        while True:
            detail = await _read(house, world_id, conversation_id)
            for turn in detail.turns[seen:]:
                yield ServerSentEvent(event="turn", id=str(turn.turn + 1), data=turn)
            seen = max(seen, len(detail.turns))
            if detail.end_reason is not None and not ended:
                ended = True
                yield ServerSentEvent(event="ended", data={"reason": detail.end_reason})
            if detail.phase in _OVER:
                yield ServerSentEvent(event=detail.phase.value, data=detail)
                return
            while (moment := await listener.next(QUIET_SECONDS)) is not None:
                if isinstance(moment, Speaking) and moment.turn >= seen:
                    yield ServerSentEvent(event="speaking", data=asdict(moment))
                elif isinstance(moment, Said) and moment.row.turn == seen:
                    seen += 1
                    yield ServerSentEvent(event="turn", id=str(seen), data=views.turn_out(moment.row))
                elif isinstance(moment, Ended) and not ended:
                    ended = True
                    yield ServerSentEvent(event="ended", data={"reason": moment.reason})
                elif isinstance(moment, Settled):
                    break


async def _read(house: House, world_id: str, conversation_id: str) -> ConversationDetail:
    return await house.room.database.read(
        lambda s: views.read_conversation(s, house.room.stage.open(s, world_id), conversation_id)
    )
