"""Owns what happens once after a conversation: one extraction, the gate, one transaction."""

from typing import Any

from sqlmodel import Session

from service.conversation.phase import Phase
from service.conversation.room import Room
from service.conversation.transcript import count_failure, failure_of, require, turns_of
from service.errors import KataribeError, ModelError, NotFound
from service.llm.chat import Usage
from service.memory.extract import Extraction, extract, prepare
from service.memory.gate import Kept, gate
from service.memory.recall import recall
from service.memory.write import settle
from service.store.events import note
from service.store.tables import ConversationRow
from service.store.usage import count

MEMORIES_SHOWN = 10
"""How many known facts the extraction is shown, so that it can say which of them changed."""


async def close(room: Room, conversation_id: str) -> ConversationRow:
    """Close a conversation that is due. Answers the row as it then stands: closed, or closing_failed with the reason.

    Doing it twice changes nothing: whatever is not `closing` is left as it is.
    """
    row = await room.database.read(lambda s: s.get_one(ConversationRow, conversation_id))
    if row.phase != Phase.CLOSING:
        return row
    try:
        extraction = await _prepare(room, row)
        answer = await extract(room.models.for_role("closing"), extraction.scene)
    except ModelError as exc:
        paid = Usage(calls=exc.calls, prompt_tokens=exc.prompt_tokens, completion_tokens=exc.completion_tokens)
        return await _fail(room, row, exc, paid)
    except NotFound as exc:  # the author has taken one of the two out of the game meanwhile
        return await _fail(room, row, exc, Usage())
    kept = gate(answer.value, extraction.scene, affinity_step=room.settings.memory.affinity_step)
    return await room.database.write(lambda s: _settle(s, room, row.id, extraction, kept, answer.usage))


def reopen(session: Session, row: ConversationRow) -> None:
    """Make a failed closing due again; the caller commits.

    Raises:
        WrongPhase: its closing has not failed.
    """
    require(row, Phase.CLOSING_FAILED)
    row.phase = Phase.CLOSING
    row.failure = None


async def _prepare(room: Room, row: ConversationRow) -> Extraction:
    turns, world = await room.database.read(
        lambda s: (turns_of(s, row.id), room.stage.open(s, row.world_id)),
    )
    memory = await recall(
        room.database,
        room.graph,
        world,
        row.character_id,
        row.npc_id,
        query=" ".join(turn.text for turn in turns),
        limit=MEMORIES_SHOWN,
    )
    return await room.database.read(
        lambda s: prepare(
            s,
            world,
            row,
            turns,
            memory.recent,
            memory.facts,
            mood_cools_hours=room.settings.memory.mood_cools_hours,
        )
    )


def _settle(
    session: Session, room: Room, conversation_id: str, extraction: Extraction, kept: Kept, usage: Usage
) -> ConversationRow:
    row = session.get_one(ConversationRow, conversation_id, with_for_update=True)
    world = room.stage.open(session, row.world_id)
    count(session, world.id, world.day, "closing", usage)
    row.calls += usage.calls
    row.prompt_tokens += usage.prompt_tokens
    row.completion_tokens += usage.completion_tokens
    if row.phase != Phase.CLOSING:
        return row
    changes = settle(session, world, row, extraction, kept, room.settings.memory)
    row.changes = changes
    row.phase, row.closed_at = Phase.CLOSED, world.now
    note(session, world.id, world.now, "conversation_closed", row.character_id, **_told(row))
    return row


async def _fail(room: Room, row: ConversationRow, error: KataribeError, usage: Usage) -> ConversationRow:
    def work(session: Session) -> ConversationRow:
        count_failure(session, room.stage, row.id, "closing", usage)
        current = session.get_one(ConversationRow, row.id, with_for_update=True)
        if current.phase != Phase.CLOSING:
            return current
        current.phase = Phase.CLOSING_FAILED
        current.failure = failure_of(error, "closing")
        world = room.stage.open(session, row.world_id)
        note(session, world.id, world.now, "closing_failed", row.character_id, **_told(row), error=error.slug)
        return current

    return await room.database.write(work)


def _told(row: ConversationRow) -> dict[str, Any]:
    return {"conversation_id": row.id, "npc_id": row.npc_id}
