"""Client events are numbered within their world, in the order in which they are committed, and never twice."""

from functools import partial

from service.store.client_event_kinds import UtteranceStarted
from service.store.events import (
    events_after,
    newest_client_event,
    tell_clients,
)
from service.store.ids import new_id
from service.store.phase import Audience
from service.store.session import Database
from service.store.tables import ConversationKey, ConversationRow
from tests.store.conversations import conversation_row
from world.time import WorldTime

NOW = WorldTime(600)


def started(number: int) -> UtteranceStarted:
    return UtteranceStarted(
        utterance_id=f"c.{number}.0", turn=number, speaker_id="a", speaker_name="A", language="en", voice=None
    )


def inserted(database: Database, world_id: str, one: str = "ken", other: str = "taro") -> ConversationKey:
    """A running conversation of the two."""
    fields = {"node_id": "quay", "language": "en", "max_turns": 9, "phase": "running", "started_at": NOW, "models": {}}
    row = conversation_row(id=new_id(), world_id=world_id, character_id=one, npc_id=other, **fields)
    database.write_now(lambda s: s.add(row))
    return ConversationKey(world_id, row.id)


def test_a_number_is_not_given_again_when_its_conversation_is_forgotten(database: Database) -> None:
    gone, kept = inserted(database, "main"), inserted(database, "main")
    for key in (kept, gone):
        database.write_now(partial(tell_clients, key=key, at=NOW, told=(started(0),)))
    database.write_now(lambda s: s.delete(s.get_one(ConversationRow, gone)))
    assert database.read_now(lambda s: newest_client_event(s, "main")) == 2
    database.write_now(lambda s: tell_clients(s, kept, NOW, (started(1),)))
    assert [
        row.id for row in database.read_now(lambda s: events_after(s, "main", 0, 9, audience=Audience.PARTICIPANTS))
    ] == [1, 3]
