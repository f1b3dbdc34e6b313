"""Owns the tests of a conversation's rows: found in their own world only, ended once."""

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.conversation.transcript import conversation_of, end, failure_of
from service.errors import ModelTimeout, NotFound, WrongPhase
from service.store.phase import EndReason, Phase
from tests.conversation.talks import meet, talk


def test_a_conversation_is_found_in_its_own_world_only(room: ConversationDependencies) -> None:
    conversation_id = meet(room)
    assert room.database.read_now(lambda s: conversation_of(s, "main", conversation_id)).id == conversation_id
    with pytest.raises(NotFound):
        room.database.read_now(lambda s: conversation_of(s, "other", conversation_id))
    with pytest.raises(NotFound):
        room.database.read_now(lambda s: conversation_of(s, "main", "0" * 28))


def test_a_conversation_of_another_world_cannot_be_ended(room: ConversationDependencies) -> None:
    conversation_id = meet(room)
    with pytest.raises(NotFound):
        room.database.write_now(lambda s: end(s, room.worlds, "other", conversation_id, EndReason.ENDED_BY_CLIENT))
    assert talk(room, conversation_id).phase == Phase.RUNNING


def test_a_conversation_ends_once(room: ConversationDependencies) -> None:
    conversation_id = meet(room)
    room.database.write_now(lambda s: end(s, room.worlds, "main", conversation_id, EndReason.ENDED_BY_CLIENT))
    with pytest.raises(WrongPhase) as refused:
        room.database.write_now(lambda s: end(s, room.worlds, "main", conversation_id, EndReason.TURN_LIMIT))
    assert refused.value.facts == {"conversation_id": conversation_id, "phase": "closed", "wanted": "running"}
    assert talk(room, conversation_id).end_reason == EndReason.ENDED_BY_CLIENT


def test_a_failure_is_kept_in_both_languages() -> None:
    error = ModelTimeout(model="m", seconds=3)
    assert failure_of(error, "npc") == {
        "type": "model-timeout",
        "role": "npc",
        "en": "m did not answer within 3 seconds (KATARIBE_LLM__TIMEOUT_SECONDS).",
        "ja": "m が 3 秒以内に答えませんでした(KATARIBE_LLM__TIMEOUT_SECONDS)。",
    }
