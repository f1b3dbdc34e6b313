"""Owns how a conversation's events reach the log: at once, or when the clock has passed them where turns take world
time.
"""

from sqlmodel import Session

from service.store.event_kinds import Payload
from service.store.events import note, schedule_event
from service.store.tables import ConversationRow, WorldRow
from world.time import WorldTime


def publish(
    session: Session,
    conversation: ConversationRow,
    at: WorldTime,
    payload: Payload,
    person_id: str,
    *,
    index: int | None = None,
) -> None:
    """Tell that something happened in the conversation. `index` tells events of one kind, person and minute apart.

    What comes too late for `at`, because the world's clock did not wait for it, happens now.
    """
    if conversation.clock_policy == "none":
        note(session, conversation.world_id, at, payload, person_id)
        return
    world = session.get_one(WorldRow, conversation.world_id)
    at = max(at, WorldTime(world.now))
    key = str(conversation.talk_id) if index is None else f"{conversation.talk_id}/{index:03}"
    schedule_event(session, conversation.world_id, at, payload, person_id, key=key)
