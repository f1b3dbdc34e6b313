"""Owns the tests of how two worlds differ."""

import asyncio

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.history.compare import compare
from service.history.rewind import PastMoment
from service.store.tables import CommitmentRow, ConversationKey
from tests.conversation.talks import FAMILY, THANKS, recollection, replies, says
from tests.memory.answers import memory
from tests.runtime.promised import appointment
from tests.runtime.test_snapshots import part, talked
from tests.runtime.worlds import fill
from tests.scripted_model import ScriptedModel
from world.time import WorldTime

OTHERWISE = "I live alone, with two cats."


def answered_otherwise(room: ConversationDependencies, script: ScriptedModel) -> ConversationKey:
    """In `what-if` Taro has told Ren something else, from the second turn on; the key is of the talk there."""
    of = talked(room, script).conversation_id
    part(room, "what-if", PastMoment(conversation_id=of, turn=1))
    cats = {"memories": [memory("Taro lives alone with two cats.", 1, about="b")]}
    closing = recollection(summary="Taro told Ren of his two cats.", first=cats, second={"affinity": -4})
    script.enqueue(replies(OTHERWISE), says(THANKS, achieved=True, leaves=True), replies("Bye."), closing)
    key = ConversationKey("what-if", of)
    asyncio.run(Engine(room).converse(key))
    asyncio.run(close(room, key))
    return key


def test_two_branches_differ_in_words_memories_attitudes_and_promises(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    key = answered_otherwise(room, script)
    kept = appointment("ren", "npc_taro", None, WorldTime(600), WorldTime(500))
    for world_id, state in (("main", "kept"), ("what-if", "open")):
        row = CommitmentRow(**kept.model_dump() | {"world_id": world_id, "state": state})
        room.database.write_now(lambda s: s.add(row))  # noqa: B023 - run here
    found = asyncio.run(compare(room, "main", "what-if", 20))
    assert found.parted_at == found.there.now
    (talk,) = found.conversations.items
    assert (talk.id, talk.people, talk.here, talk.there) == (key.conversation_id, ["Ren", "Taro"], 4, 4)
    said = [(one.turn, one.here and one.here.text, one.there and one.there.text) for one in talk.turns]
    assert said[0] == (1, FAMILY, OTHERWISE)
    assert [turn for turn, *_ in said] == [1, 2, 3]
    assert {(one.name, one.kind) for one in found.memories_here.items} >= {("Ren", "fact")}
    here, there = (
        {(one.name, one.kind) for one in some.items if "two cats" in one.text}
        for some in (found.memories_here, found.memories_there)
    )
    assert not here
    assert there >= {("Ren", "fact"), ("Ren", "summary"), ("Taro", "summary")}
    felt = {(one.name, one.other_name): (one.here.affinity, one.there.affinity) for one in found.attitudes.items}
    assert felt["Taro", "Ren"] == (8, -4)
    (promise,) = found.promises.items
    assert [one and one.state for one in (promise.here, promise.there)] == ["kept", "open"]
    mirrored = asyncio.run(compare(room, "what-if", "main", 20))
    assert (mirrored.memories_here, mirrored.memories_there) == (found.memories_there, found.memories_here)
    few = asyncio.run(compare(room, "main", "what-if", 1))
    assert (few.memories_there.count, len(few.memories_there.items)) == (found.memories_there.count, 1)
