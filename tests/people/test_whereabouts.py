"""Owns the tests of where people are, now and at past times."""

from functools import partial

from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.people.person import move, positions
from service.people.worlds import WorldView
from world.life import Position, Segment
from world.time import WorldTime


def _open(room: ConversationDependencies, world_id: str = "main") -> WorldView:
    return room.database.read_now(lambda s: room.worlds.open(s, world_id))


def _move(room: ConversationDependencies, segment: Segment, character_id: str = "aoi", world_id: str = "main") -> None:
    world = _open(room, world_id)
    room.database.write_now(partial(move, world=world, character_id=character_id, segment=segment))


def _where(room: ConversationDependencies, at: int | None = None, world_id: str = "main") -> dict[str, Position]:
    def work(session: Session) -> dict[str, Position]:
        world = room.worlds.open(session, world_id)
        return positions(session, world.at(WorldTime(world.now + (at or 0))))

    return room.database.read_now(work)


def _walk(room: ConversationDependencies, *nodes: str, departs: int = 0) -> Segment:
    start = _open(room).now + departs
    return Segment(path=nodes, times=tuple(WorldTime(start + 2 * i) for i in range(len(nodes))))


def test_of_two_ways_begun_in_the_same_minute_the_later_sent_holds(room: ConversationDependencies) -> None:
    _move(room, _walk(room, "nagaya_one", "nagaya_lane"))
    _move(room, _walk(room, "nagaya_one", "quay_steps"))
    assert _where(room, 5)["aoi"] == Position(node_id="quay_steps")


def test_a_way_that_has_not_begun_does_not_hold(room: ConversationDependencies) -> None:
    _move(room, _walk(room, "nagaya_one", "quay_steps", departs=10))
    assert _where(room, 9)["aoi"] == Position(node_id="nagaya_one")
