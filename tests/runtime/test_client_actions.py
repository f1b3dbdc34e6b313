"""Owns the tests of what a client makes a character do."""

import service.store.tables  # noqa: F401 - fills the metadata
from service.conversation.dependencies import ConversationDependencies
from service.people.person import positions
from service.runtime.client_actions import sleep, walk
from service.store.events import events_after
from service.store.tables import EventRow
from tests.runtime.worlds import command, tick
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


def test_what_counts_is_the_hour_of_arrival_not_of_departure(room: ConversationDependencies) -> None:
    _walk(room, node_id="nagaya_one")
    _tick(room, 9 * 60 + 58)  # 16:58; the tavern opens at 17:00
    assert _walk(room, facility_id="tavern").path[-1] == "tavern_door"


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


def test_who_is_on_the_way_lies_down_at_the_last_node_it_reached(room: ConversationDependencies) -> None:
    first = _walk(room, npc_id="npc_taro")
    _tick(room, 2)
    _sleep(room)
    _tick(room, 60)
    assert _where(room).toward is None
    assert _where(room).node_id in first.path[1:-1]


def test_who_was_turned_round_arrives_only_where_it_went_in_the_end(room: ConversationDependencies) -> None:
    _walk(room, npc_id="npc_taro")
    _tick(room, 2)
    _walk(room, node_id="nagaya_one")
    (event,) = [e for e in _tick(room, 30) if e.kind == "arrived"]
    assert event.data == {"node_id": "nagaya_one"}
