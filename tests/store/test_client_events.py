"""Client events are numbered within their world, in the order in which they are committed, and never twice."""

import asyncio
from functools import partial

from service.store.client_event_kinds import NpcThinking, UtteranceDiscarded, UtteranceStarted
from service.store.events import (
    events_after,
    newest_client_event,
    of_conversation,
    of_person,
    tell_clients,
    utterances_open,
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


def test_numbers_grow_by_one_within_a_world(database: Database) -> None:
    here, there, elsewhere = (inserted(database, world) for world in ("main", "main", "other"))

    async def tell_all() -> None:
        told = (NpcThinking(person_id="a"), started(1))
        keys = (here, there, elsewhere) * 10
        await asyncio.gather(*(database.write(partial(tell_clients, key=key, at=NOW, told=told)) for key in keys))

    asyncio.run(tell_all())
    found = database.read_now(lambda s: events_after(s, "main", 0, 100, audience=Audience.PARTICIPANTS))
    assert [row.id for row in found] == [*range(1, 41)]
    assert [row.kind for row in found] == ["npc.thinking", "utterance.started"] * 20
    assert database.read_now(lambda s: newest_client_event(s, "other")) == 20
    assert database.read_now(lambda s: newest_client_event(s, "third")) == 0
    of = of_conversation(here.conversation_id)
    one = database.read_now(lambda s: events_after(s, "main", 10, 5, *of, audience=Audience.PARTICIPANTS))
    assert len(one) == 5
    assert {row.conversation_id for row in one} == {here.conversation_id}


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


def test_a_persons_events_are_those_of_its_conversations(database: Database) -> None:
    first, second = inserted(database, "main", "ken", "taro"), inserted(database, "main", "mio", "taro")
    for key in (first, second):
        database.write_now(partial(tell_clients, key=key, at=NOW, told=(started(0),)))

    def told(person_id: str) -> list[int]:
        of = of_person("main", person_id)
        return [
            row.id
            for row in database.read_now(lambda s: events_after(s, "main", 0, 9, *of, audience=Audience.PARTICIPANTS))
        ]

    assert [*map(told, ("ken", "mio", "taro"))] == [[1], [2], [1, 2]]


def test_an_utterance_is_open_until_it_is_said_or_dropped(database: Database) -> None:
    key = inserted(database, "main")
    told = (started(0), UtteranceDiscarded(utterance_id="c.0.0", spoken_sentences=0), started(0))
    database.write_now(lambda s: tell_clients(s, key, NOW, told))

    def open_at(seq: int) -> list[int]:
        return [row.id for row in database.read_now(lambda s: utterances_open(s, "main", seq, ()))]

    assert [*map(open_at, range(4))] == [[], [1], [], [3]]
