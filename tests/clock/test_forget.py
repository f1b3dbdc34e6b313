"""Owns the tests of the forgetting of a whole world."""

import asyncio

import pytest

from service.clock.forget import forget_world
from service.conversation.loop import converse
from service.conversation.phase import Phase
from service.conversation.room import Room
from service.errors import WorldInUse
from service.llm.scripted import ScriptedModel
from service.store.tables import ConversationRow
from tests.clock.worlds import converse_silently, fill, of_world, snapshot
from tests.conversation.talks import talk


def _forget(room: Room, world_id: str) -> None:
    room.database.write_now(lambda s: forget_world(s, world_id))


def test_every_row_of_the_world_goes_and_the_other_world_stays_as_it_was(room: Room, script: ScriptedModel) -> None:
    fill(room, script)
    before = snapshot(room)
    filled = {name for name, found in of_world(before, "main").items() if found}
    assert set(before) - filled == {"characters", "engagements"}
    _forget(room, "main")
    after = snapshot(room)
    assert after == of_world(before, "other")


def test_a_world_nobody_wrote_to_can_be_forgotten(room: Room) -> None:
    _forget(room, "nowhere")


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.CLOSING])
def test_a_world_in_which_they_talk_is_not_forgotten(room: Room, script: ScriptedModel, phase: Phase) -> None:
    conversation_id = converse_silently(room, script, "main")
    if phase == Phase.CLOSING:
        asyncio.run(converse(room, conversation_id))
    assert talk(room, conversation_id).phase == phase
    before = snapshot(room)
    with pytest.raises(WorldInUse) as refused:
        _forget(room, "main")
    assert refused.value.facts == {"world_id": "main", "count": 1}
    assert snapshot(room) == before
    _forget(room, "other")


def test_a_failed_closing_does_not_keep_a_world_alive(room: Room, script: ScriptedModel) -> None:
    conversation_id = converse_silently(room, script, "main")
    room.database.write_now(
        lambda s: setattr(s.get_one(ConversationRow, conversation_id), "phase", Phase.CLOSING_FAILED)
    )
    _forget(room, "main")
    assert of_world(snapshot(room), "main") == {name: [] for name in snapshot(room)}
