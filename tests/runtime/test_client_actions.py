"""Owns the tests of what a client makes a character do."""

from typing import Any

import pytest
from sqlmodel import SQLModel

import service.store.tables  # noqa: F401 - fills the metadata
from service.conversation.dependencies import ConversationDependencies
from service.conversation.transcript import end
from service.errors import Busy, FacilityClosed, Invalid, NotFound, NotPossible, NoWayThere
from service.people.person import positions
from service.runtime.client_actions import do, set_decision, sleep, take_control, walk
from service.runtime.world_session import WAITS_MINUTES
from service.store.events import events_after
from service.store.phase import Audience, EndReason
from service.store.tables import EventRow, MovementRow, PersonRow
from tests.conversation.talks import BESIDE_TARO, events_told_to, meet, rows, todays
from tests.runtime.worlds import command, fill, snapshot, tick
from tests.scripted_model import ScriptedModel
from world.life import Position, Segment


def _walk(room: ConversationDependencies, character_id: str = "aoi", **to: str) -> Segment:
    return command(room, lambda s, world_session: walk(s, world_session, character_id, **to))


def _tick(room: ConversationDependencies, ticks: int) -> list[EventRow]:
    return [event for event in tick(room, ticks) if event.person_id == "aoi"]


def _told(room: ConversationDependencies) -> list[EventRow]:
    """What happened to Aoi, except that it stopped doing nothing."""
    events = room.database.read_now(lambda s: events_after(s, "main", 0, 99))
    return [event for event in events if event.person_id == "aoi" and event.kind != "activity_ended"]


def _where(room: ConversationDependencies, character_id: str = "aoi") -> Position:
    return room.database.read_now(lambda s: positions(s, room.worlds.open(s, "main"))[character_id])


def _sleep(room: ConversationDependencies, character_id: str = "aoi", world_id: str = "main") -> int:
    return command(room, lambda s, world_session: sleep(s, world_session, character_id), world_id)


def test_a_walk_to_a_node_takes_its_minutes(room: ConversationDependencies) -> None:
    way = _walk(room, node_id="nagaya_lane")
    assert way.path == ("nagaya_one", "nagaya_lane")
    assert _where(room) == Position(node_id="nagaya_one", toward="nagaya_lane")
    _tick(room, way.arrival - way.start)
    assert _where(room) == Position(node_id="nagaya_lane")


def test_a_walk_to_an_npc_ends_beside_its_post(room: ConversationDependencies) -> None:
    assert _walk(room, npc_id="npc_taro").path[-1] == BESIDE_TARO


def test_a_walk_to_a_facility_ends_at_its_nearest_node(room: ConversationDependencies) -> None:
    _walk(room, node_id="quay_steps")
    _tick(room, 3 * 60)
    way = _walk(room, facility_id="row_house")
    assert way.path[-1] in ("nagaya_one", "nagaya_two")


def test_a_departure_is_told(room: ConversationDependencies) -> None:
    way = _walk(room, node_id="nagaya_lane")
    decided, event = _told(room)
    assert (decided.kind, decided.data["by"]) == ("decided", "client")
    assert (event.kind, event.person_id, event.at) == ("departed", "aoi", way.start)
    assert event.data == {
        "from_node_id": "nagaya_one",
        "to_node_id": "nagaya_lane",
        "arrives_at": f"2026-04-01T07:{way.arrival - way.start:02d}",
    }


def test_a_facility_that_is_shut_on_arrival_is_refused_with_its_hours(room: ConversationDependencies) -> None:
    with pytest.raises(FacilityClosed) as refused:
        _walk(room, facility_id="tavern")
    assert refused.value.facts["hours"] == "17:00-01:00"
    assert refused.value.facts["facility"] == "Chidori Tavern"
    assert refused.value.facts["at"] > "2026-04-01T07:00"
    assert rows(room, MovementRow) == events_told_to(room, Audience.WORLD) == rows(room, PersonRow) == []


def test_what_counts_is_the_hour_of_arrival_not_of_departure(room: ConversationDependencies) -> None:
    _walk(room, node_id="nagaya_one")
    _tick(room, 9 * 60 + 58)  # 16:58; the tavern opens at 17:00
    assert _walk(room, facility_id="tavern").path[-1] == "tavern_door"


def test_who_is_there_already_stays(room: ConversationDependencies) -> None:
    assert _walk(room, node_id="nagaya_one").path == ("nagaya_one",)
    assert rows(room, MovementRow) == []
    assert _told(room) == []


def test_a_walker_is_turned_round_at_the_last_node_it_reached(room: ConversationDependencies) -> None:
    first = _walk(room, npc_id="npc_taro")
    _tick(room, 2)
    reached = [node for node, at in zip(first.path, first.times, strict=True) if at <= first.start + 2][-1]
    back = _walk(room, node_id="nagaya_one")
    assert (back.path[0], back.path[-1], back.start) == (reached, "nagaya_one", first.start + 2)


def test_a_walker_sent_where_it_is_stops_there(room: ConversationDependencies) -> None:
    first = _walk(room, npc_id="npc_taro")
    _tick(room, 1)
    _walk(room, node_id=first.path[1])
    assert _where(room) == Position(node_id=first.path[1])
    _tick(room, 30)
    assert _where(room) == Position(node_id=first.path[1])


def test_nobody_walks_out_of_a_conversation(room: ConversationDependencies) -> None:
    conversation_id = meet(room)
    with pytest.raises(Busy) as refused:
        _walk(room, node_id="nagaya_one")
    assert refused.value.facts["conversation_id"] == conversation_id
    with pytest.raises(Busy):
        _sleep(room)
    room.database.write_now(lambda s: end(s, room.worlds, "main", conversation_id, EndReason.ENDED_BY_CLIENT))
    _walk(room, node_id="nagaya_one")


def test_the_post_of_an_npc_is_no_way_and_no_goal(room: ConversationDependencies) -> None:
    with pytest.raises(NoWayThere) as refused:
        _walk(room, node_id="tavern_bench")
    assert refused.value.facts["goal"] == "tavern_bench"


@pytest.mark.parametrize(
    "to", [{"node_id": "atlantis"}, {"facility_id": "casino"}, {"npc_id": "npc_nobody"}, {"npc_id": "mio"}]
)
def test_an_unknown_place_is_not_found(room: ConversationDependencies, to: dict[str, str]) -> None:
    with pytest.raises(NotFound) as refused:
        _walk(room, **to)
    assert refused.value.facts["id"] == next(iter(to.values()))


def test_an_unknown_character_neither_walks_nor_sleeps(room: ConversationDependencies) -> None:
    with pytest.raises(NotFound):
        _walk(room, "nobody", node_id="nagaya_one")
    with pytest.raises(NotFound):
        _sleep(room, "npc_taro")


@pytest.mark.parametrize("to", [{}, {"node_id": "a", "npc_id": "b"}])
def test_a_destination_is_exactly_one_thing(room: ConversationDependencies, to: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        _walk(room, **to)


def test_sleep_clears_the_days_talks_and_nothing_else(room: ConversationDependencies, script: ScriptedModel) -> None:
    fill(room, script)
    before = snapshot(room)
    assert _sleep(room) == 1
    after = snapshot(room)
    slept = [event for event in after["events"] if event["world_id"] == "main"][-1]
    assert (slept["kind"], slept["person_id"], slept["data"]) == ("slept", "aoi", {"cleared": 1})
    changed = {table for table in before if before[table] != after[table]}
    assert changed - {"kept_rows"} == {"people", "worlds", "events"}
    assert [len(todays(room, who)) for who in ("aoi", "mio")] == [0, 1]
    (mine,) = [row for row in after["people"] if (row["world_id"], row["person_id"]) == ("main", "aoi")]
    assert (mine["sleeps"], mine["decision"]) == (1, "client")
    assert set(before) == set(SQLModel.metadata.tables)


def test_who_sleeps_again_has_nothing_to_forget(room: ConversationDependencies) -> None:
    assert [_sleep(room), _sleep(room)] == [0, 0]


def test_who_is_on_the_way_lies_down_at_the_last_node_it_reached(room: ConversationDependencies) -> None:
    first = _walk(room, npc_id="npc_taro")
    _tick(room, 2)
    _sleep(room)
    _tick(room, 60)
    assert _where(room).toward is None
    assert _where(room).node_id in first.path[1:-1]


def test_who_arrives_is_told_once_at_the_minute_of_arrival(room: ConversationDependencies) -> None:
    way = _walk(room, npc_id="npc_taro")
    assert [e.kind for e in _tick(room, way.arrival - way.start - 1)] == []
    (event,) = [e for e in _tick(room, 1) if e.kind == "arrived"]
    assert (event.at, event.data) == (way.arrival, {"node_id": BESIDE_TARO})
    assert [e.kind for e in _tick(room, 5) if e.kind == "arrived"] == []


def test_who_was_turned_round_arrives_only_where_it_went_in_the_end(room: ConversationDependencies) -> None:
    _walk(room, npc_id="npc_taro")
    _tick(room, 2)
    _walk(room, node_id="nagaya_one")
    (event,) = [e for e in _tick(room, 30) if e.kind == "arrived"]
    assert event.data == {"node_id": "nagaya_one"}


def test_who_is_in_a_clients_hands_stands_until_it_is_told_something(room: ConversationDependencies) -> None:
    _walk(room, node_id="nagaya_lane")
    _tick(room, 600)
    assert _where(room) == Position(node_id="nagaya_lane")
    assert [e.data["by"] for e in _told(room) if e.kind == "decided"] == ["client"]


@pytest.mark.parametrize("step", [1600, 400])
def test_a_clients_hand_lets_go_after_a_day_without_a_word(room: ConversationDependencies, step: int) -> None:
    way = _walk(room, node_id="nagaya_lane")
    happened = [event for _ in range(1600 // step) for event in _tick(room, step)]
    decided = next(event for event in happened if event.kind == "decided")
    stands_since = way.arrival + 1
    assert (decided.at, decided.data["by"]) == (stands_since + WAITS_MINUTES, "routine")


def test_every_word_of_a_client_lets_it_keep_the_character(room: ConversationDependencies) -> None:
    _walk(room, node_id="nagaya_lane")
    _tick(room, 1000)
    command(room, lambda s, world_session: take_control(s, world_session, "aoi"))
    assert [event for event in _tick(room, 1440) if event.kind == "decided"] == []
    assert [event.data["by"] for event in _tick(room, 60) if event.kind == "decided"][:1] == ["routine"]


def test_an_action_is_done_and_a_refusal_says_why(room: ConversationDependencies) -> None:
    option = command(room, lambda s, world_session: do(s, world_session, "aoi", "rest"))
    assert (option.action_id, option.walk_minutes, option.minutes) == ("rest", 0, 20)
    assert [event.kind for event in _told(room)] == ["decided", "activity_started"]
    with pytest.raises(NotPossible) as refused:
        command(room, lambda s, world_session: do(s, world_session, "aoi", "sleep"))
    assert refused.value.facts["reason"] == "wrong_time"
    with pytest.raises(NotFound):
        command(room, lambda s, world_session: do(s, world_session, "aoi", "hold"))


def test_who_is_given_back_decides_by_itself(room: ConversationDependencies) -> None:
    command(room, lambda s, world_session: take_control(s, world_session, "aoi"))
    assert _tick(room, 60) == []
    command(room, lambda s, world_session: set_decision(s, world_session, "aoi", None))
    assert "decided" in [event.kind for event in _tick(room, 60)]
