"""Owns conversations' rows in tests, made without a start."""

from typing import Any

from service.store.tables import ConversationKey, ConversationRow, ParticipantRow


def conversation_row(*, id: str, world_id: str, character_id: str, npc_id: str, **fields: Any) -> ConversationRow:
    """A conversation of two; `fields` are those of its row."""
    people = [
        ParticipantRow(world_id=world_id, conversation_id=id, person_id=person_id, seat=seat)
        for seat, person_id in enumerate((character_id, npc_id))
    ]
    return ConversationRow(id=id, world_id=world_id, participants=people, **fields)


def main(conversation_id: str) -> ConversationKey:
    """The key of a conversation of the world `main`."""
    return ConversationKey("main", conversation_id)
