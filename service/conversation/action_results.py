"""Owns what the game says of what it was asked for: each thing once, in time."""

import time

from sqlmodel import Session, col, select

from service.conversation.client_events import tell_came_of_it
from service.conversation.human import plain
from service.conversation.transcript import held
from service.errors import ActionOver, NotFound
from service.people.worlds import WorldRepository
from service.store.events import log_in
from service.store.phase import CallState
from service.store.tables import ActionCallRow, ConversationKey

MESSAGE_MAX = 300
"""Most characters of what the game says beside it."""


def settle(
    session: Session, worlds: WorldRepository, key: ConversationKey, call_id: str, *, ok: bool, message: str
) -> ActionCallRow:
    """Take the game's word, that it is done or not, and what it says beside it, which the speaker is told; the caller
    commits, and has the conversation carried on.

    Raises:
        NotFound: no such conversation, or nothing was asked in it under that id.
        ActionOver: the game has said so before, or it is too late.
    """
    row, world = held(session, worlds, key)
    call = session.get(ActionCallRow, (key.world_id, call_id))
    if call is None or call.conversation_id != row.id:
        raise NotFound(kind="action_call", id=call_id)
    if call.state != CallState.REQUESTED:
        raise ActionOver(call_id=call_id, state=call.state)
    if call.deadline <= time.time():  # somebody comes by soon, and writes it down
        raise ActionOver(call_id=call_id, state=CallState.EXPIRED.value)
    call.state = CallState.DONE if ok else CallState.FAILED
    call.reason = None if ok else "client"
    call.message = " ".join(plain(message).split())
    log_in(session, key, world.now, "action_settled", call_id=call_id, ok=ok, message=call.message)
    tell_came_of_it(session, row, world, call)
    return call


def late(session: Session) -> list[tuple[str, str]]:
    """The ids, after that of their world, of what the game has said nothing of in time."""
    query = select(ActionCallRow.world_id, ActionCallRow.id).where(
        ActionCallRow.state == CallState.REQUESTED, col(ActionCallRow.deadline) <= time.time()
    )
    return [(world_id, call_id) for world_id, call_id in session.exec(query.order_by(col(ActionCallRow.id)))]


def expire(session: Session, worlds: WorldRepository, world_id: str, call_id: str) -> ConversationKey | None:
    """Nothing came of it; the caller commits, and has the conversation carried on. None: the game has spoken, or it was
    forgotten, in the same moment.
    """
    found = session.get(ActionCallRow, (world_id, call_id))
    if found is None:
        return None
    row, world = held(session, worlds, ConversationKey(world_id, found.conversation_id))
    session.refresh(found)
    if found.state != CallState.REQUESTED:
        return None
    found.state = CallState.EXPIRED
    log_in(session, row.key, world.now, "action_settled", call_id=call_id)
    tell_came_of_it(session, row, world, found)
    return row.key
