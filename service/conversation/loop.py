"""Owns a conversation that a client started: turn after turn, each committed before the next one begins, to its end."""

from service.conversation.brief import brief
from service.conversation.ending import next_step
from service.conversation.phase import EndReason, Phase
from service.conversation.room import Room
from service.conversation.speaking import finish, speak
from service.conversation.transcript import failure_of, spoken, turns_of
from service.errors import NotFound
from service.store.tables import ConversationRow


async def converse(room: Room, conversation_id: str) -> ConversationRow:
    """Hold the conversation to its end, from the turns that are committed already. Answers the row as it then stands.

    Whatever a model does ends the conversation in a known state; it never becomes dialogue.
    """
    row, turns = await room.database.read(
        lambda s: (s.get_one(ConversationRow, conversation_id), turns_of(s, conversation_id))
    )
    if row.phase != Phase.RUNNING:
        return row
    try:
        known = await brief(room, row)
    except NotFound as exc:  # the author has taken one of the two out of the game meanwhile
        return await finish(room, row, EndReason.CONTENT_CHANGED, failure_of(exc, "character"))
    while True:
        step = next_step(spoken(turns, row.character_id), row.max_turns)
        if isinstance(step, EndReason):
            return await finish(room, row, step)
        turn = await speak(room, known, turns, step)
        if turn is None:
            return await room.database.read(lambda s: s.get_one(ConversationRow, conversation_id))
        turns.append(turn)
