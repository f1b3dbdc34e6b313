"""Owns the tests of the start of a conversation, on both databases."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.conversation.start import require_free
from service.conversation.transcript import end
from service.errors import Busy, NotBeside
from service.store.phase import EndReason
from tests.conversation.talks import (
    begin,
    engaged,
    meet,
    place,
)


def test_a_busy_npc_says_with_whom_it_talks(room: ConversationDependencies) -> None:
    conversation_id = meet(room)
    place(room, "mio")
    with pytest.raises(Busy) as refused:
        begin(room, character_id="mio")
    assert refused.value.facts["person"] == "Taro"
    assert refused.value.facts["partner"] == "Aoi"
    assert refused.value.facts["conversation_id"] == conversation_id
    assert "Taro is talking with Aoi" in refused.value.sentence("en")


def test_of_the_first_two_starts_of_a_new_world_one_succeeds(room: ConversationDependencies) -> None:
    def attempt(_: int) -> bool:
        try:
            begin(room, world_id="fresh", character_id="aoi")
        except NotBeside:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(attempt, range(4))) == [False] * 4  # all of them answered, none crashed on the other


def test_an_end_frees_only_who_is_engaged_in_that_talk(room: ConversationDependencies) -> None:
    first = meet(room)
    room.database.write_now(lambda s: end(s, room.worlds, "main", first, EndReason.ENDED_BY_CLIENT))
    meet(room, character_id="mio", npc_id="npc_hamako")
    second = meet(room)
    assert len(engaged(room)) == 4
    room.database.write_now(lambda s: end(s, room.worlds, "main", second, EndReason.ENDED_BY_CLIENT))
    assert [one for one, _ in engaged(room)] == ["mio", "npc_hamako"]


def test_a_person_who_talks_is_not_free(room: ConversationDependencies) -> None:
    meet(room)

    def free(person_id: str) -> None:
        room.database.read_now(lambda s: require_free(s, room.worlds.open(s, "main"), person_id))

    free("mio")
    for person_id in ("aoi", "npc_taro"):
        with pytest.raises(Busy):
            free(person_id)


def test_a_character_that_talks_is_busy_for_other_characters(room: ConversationDependencies) -> None:
    meet(room, character_id="mio")
    place(room)
    with pytest.raises(Busy) as refused:
        begin(room, npc_id="mio")
    assert (refused.value.facts["person"], refused.value.facts["partner"]) == ("Mio", "Taro")
