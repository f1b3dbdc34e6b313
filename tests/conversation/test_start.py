"""Owns the tests of the start of a conversation, on both databases."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.start import require_free
from service.conversation.transcript import end
from service.errors import Busy, Invalid, KataribeError, NotBeside, NotFound, Walking
from service.llm.choose import ROLES
from service.store.events import events_after
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationRow, ParticipantRow
from tests.conversation.talks import (
    BESIDE_TARO,
    HELLO,
    begin,
    engaged,
    meet,
    pass_minutes,
    place,
    replies,
    rows,
    says,
    send,
    talk,
)
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main


def test_a_conversation_begins_running_and_engages_both(room: ConversationDependencies) -> None:
    conversation_id = meet(room, max_turns=6)
    row = talk(room, conversation_id)
    assert (row.phase, row.max_turns, row.node_id, row.language) == (Phase.RUNNING, 6, BESIDE_TARO, "en")
    assert row.models == dict.fromkeys(ROLES, "scripted")
    assert row.started_at == room.worlds.start
    assert engaged(room) == [
        ("aoi", conversation_id),
        ("npc_taro", conversation_id),
    ]
    (event,) = room.database.read_now(lambda s: events_after(s, "main", 0, 10))
    assert (event.kind, event.person_id, event.data["partner_id"]) == ("conversation_started", "aoi", "npc_taro")


def test_who_stands_elsewhere_is_told_the_way_in_minutes(room: ConversationDependencies) -> None:
    with pytest.raises(NotBeside) as refused:
        begin(room)
    assert refused.value.facts == {
        "character": "Aoi",
        "character_node": "Row House, First Door",
        "character_node_id": "nagaya_one",
        "partner": "Taro",
        "partner_node": "Taro's Bench",
        "partner_node_id": "tavern_bench",
        "walk_minutes": 6,
    }
    assert not rows(room, ConversationRow)
    assert engaged(room) == []


def test_the_minutes_told_are_those_it_takes(room: ConversationDependencies) -> None:
    with pytest.raises(NotBeside) as refused:
        begin(room)
    send(room, "aoi", BESIDE_TARO)
    pass_minutes(room, refused.value.facts["walk_minutes"])
    assert talk(room, begin(room)).phase == Phase.RUNNING


def test_who_walks_does_not_talk(room: ConversationDependencies) -> None:
    send(room, "aoi", BESIDE_TARO)
    with pytest.raises(Walking) as refused:
        begin(room)
    assert refused.value.facts["person"] == "Aoi"
    assert refused.value.facts["node_id"] == BESIDE_TARO
    assert refused.value.facts["arrives_at"] > "2026-04-01T07:00"


@pytest.mark.parametrize(
    ("character_id", "npc_id"), [("nobody", "npc_taro"), ("aoi", "npc_nobody"), ("npc_hamako", "npc_taro")]
)
def test_an_unknown_person_is_not_found(room: ConversationDependencies, character_id: str, npc_id: str) -> None:
    with pytest.raises(NotFound):
        begin(room, character_id=character_id, npc_id=npc_id)


def test_a_busy_character_says_with_whom_it_talks(room: ConversationDependencies) -> None:
    conversation_id = meet(room)
    with pytest.raises(Busy) as refused:
        begin(room, npc_id="npc_hamako")
    assert refused.value.facts == {
        "person": "Aoi",
        "person_id": "aoi",
        "partner": "Taro",
        "partner_id": "npc_taro",
        "conversation_id": conversation_id,
    }


def test_a_busy_npc_says_with_whom_it_talks(room: ConversationDependencies) -> None:
    conversation_id = meet(room)
    place(room, "mio")
    with pytest.raises(Busy) as refused:
        begin(room, character_id="mio")
    assert refused.value.facts["person"] == "Taro"
    assert refused.value.facts["partner"] == "Aoi"
    assert refused.value.facts["conversation_id"] == conversation_id
    assert "Taro is talking with Aoi" in refused.value.sentence("en")


def test_two_pairs_talk_side_by_side(room: ConversationDependencies) -> None:
    meet(room)
    meet(room, character_id="mio", npc_id="npc_hamako")
    assert len(engaged(room)) == 4


def test_the_same_people_of_another_world_are_other_people(room: ConversationDependencies) -> None:
    meet(room)
    meet(room, world_id="other")
    assert sorted({r["world_id"] for r in rows(room, ParticipantRow) if r["engaged"]}) == ["main", "other"]


def test_of_many_simultaneous_starts_exactly_one_succeeds(room: ConversationDependencies) -> None:
    for character_id in ("aoi", "mio", "nagi", "ren"):
        place(room, character_id)

    def attempt(character_id: str) -> str | KataribeError:
        try:
            return begin(room, character_id=character_id)
        except Busy as exc:
            return exc

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(attempt, ["aoi", "mio", "nagi", "ren"] * 2))
    (started,) = [answer for answer in answers if isinstance(answer, str)]
    assert {of for _, of in engaged(room)} == {started}
    assert [r["id"] for r in rows(room, ConversationRow)] == [started]


def test_of_the_first_two_starts_of_a_new_world_one_succeeds(room: ConversationDependencies) -> None:
    def attempt(_: int) -> bool:
        try:
            begin(room, world_id="fresh", character_id="aoi")
        except NotBeside:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(attempt, range(4))) == [False] * 4  # all of them answered, none crashed on the other


def test_both_are_free_again_after_the_end(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(says(HELLO, leaves=True), replies("Bye."))
    first = meet(room)
    asyncio.run(Engine(room).converse(main(first)))
    second = begin(room)
    assert {of for _, of in engaged(room)} == {second}


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


def test_a_talk_takes_place_where_the_character_stands_now(room: ConversationDependencies) -> None:
    place(room, node_id="main_cross")
    pass_minutes(room, 1)
    place(room)
    assert talk(room, begin(room)).node_id == BESIDE_TARO


def test_two_characters_who_stand_beside_each_other_may_talk(room: ConversationDependencies) -> None:
    place(room)
    place(room, "mio")
    row = talk(room, begin(room, npc_id="mio"))
    assert (*row.person_ids, row.talk_id) == ("aoi", "mio", None)
    assert [one for one, _ in engaged(room)] == ["aoi", "mio"]


def test_a_character_elsewhere_is_told_of_with_the_way(room: ConversationDependencies) -> None:
    place(room)
    with pytest.raises(NotBeside) as refused:
        begin(room, npc_id="mio")
    assert refused.value.facts["partner"] == "Mio"
    assert refused.value.facts["walk_minutes"] > 0


def test_a_character_on_its_way_is_not_spoken_to(room: ConversationDependencies) -> None:
    place(room)
    send(room, "mio", BESIDE_TARO)
    with pytest.raises(Walking) as refused:
        begin(room, npc_id="mio")
    assert refused.value.facts["person"] == "Mio"


def test_a_character_that_talks_is_busy_for_other_characters(room: ConversationDependencies) -> None:
    meet(room, character_id="mio")
    place(room)
    with pytest.raises(Busy) as refused:
        begin(room, npc_id="mio")
    assert (refused.value.facts["person"], refused.value.facts["partner"]) == ("Mio", "Taro")


def test_nobody_talks_to_itself(room: ConversationDependencies) -> None:
    place(room)
    with pytest.raises(Invalid) as refused:
        begin(room, npc_id="aoi")
    assert refused.value.facts["field"] == "partner_id"
