"""Owns the tests of the step of world time."""

import pytest
from sqlmodel import Session

from service.cast.profile import Importance
from service.clock.act import Destination, walk
from service.clock.advance import Advance, advance
from service.conversation.room import Room
from service.errors import Invalid
from service.memory.expiry import expires_at
from service.memory.recall import mid_term_memories
from service.store.tables import MidTermRow, WorldRow
from tests.conversation.talks import BESIDE_TARO, rows
from world.time import LATEST, MINUTES_PER_DAY, WorldTime, day_end, iso


def _tick(room: Room, ticks: int, world_id: str = "main") -> Advance:
    return room.database.write_now(lambda s: advance(s, room.stage, world_id, ticks))


def _kinds(step: Advance) -> list[str]:
    return [event.kind for event in step.events]


def _remember(room: Room, importance: Importance, *, world_id: str = "main", character_id: str = "aoi") -> WorldTime:
    """A mid-term memory made now; the answer is when it is gone."""

    def work(session: Session) -> WorldTime:
        now = room.stage.open(session, world_id, lock=True).now
        expiry = expires_at(importance, now, day_starts=room.settings.world.day_starts_minutes)
        session.add(
            MidTermRow(
                id=f"{world_id}-{character_id}-{importance}",
                world_id=world_id,
                character_id=character_id,
                content=f"a {importance} thing",
                importance=importance,
                created_at=now,
                expires_at=expiry,
            )
        )
        return expiry

    return room.database.write_now(work)


def _on_mind(room: Room, character_id: str = "aoi") -> list[str]:
    return room.database.read_now(
        lambda s: [row.content for row in mid_term_memories(s, room.stage.open(s, "main"), character_id)]
    )


def test_a_tick_moves_the_clock_by_its_minutes(room: Room) -> None:
    step = _tick(room, 3)
    assert (iso(step.before), iso(step.after), step.events) == ("2026-04-01T07:00", "2026-04-01T07:03", ())
    assert _tick(room, 1).before == step.after


def test_other_worlds_stand_still(room: Room) -> None:
    _tick(room, 60)
    _tick(room, 1, "other")
    assert {row["id"]: iso(row["now"]) for row in rows(room, WorldRow)} == {
        "main": "2026-04-01T08:00",
        "other": "2026-04-01T07:01",
    }


def test_who_arrives_is_told_once_at_the_minute_of_arrival(room: Room) -> None:
    way = room.database.write_now(lambda s: walk(s, room.stage, "main", "aoi", Destination(npc_id="npc_taro")))
    minutes = way.arrival - way.start
    assert _tick(room, minutes - 1).events == ()
    (event,) = _tick(room, 5).events
    assert (event.kind, event.person_id, event.at) == ("arrived", "aoi", way.arrival)
    assert event.data == {"node_id": BESIDE_TARO}
    assert _tick(room, 5).events == ()


def test_an_arrival_in_the_very_minute_counts(room: Room) -> None:
    way = room.database.write_now(lambda s: walk(s, room.stage, "main", "aoi", Destination(npc_id="npc_taro")))
    assert _kinds(_tick(room, way.arrival - way.start)) == ["arrived"]


def test_who_was_turned_round_arrives_only_where_it_went_in_the_end(room: Room) -> None:
    room.database.write_now(lambda s: walk(s, room.stage, "main", "aoi", Destination(npc_id="npc_taro")))
    _tick(room, 2)
    room.database.write_now(lambda s: walk(s, room.stage, "main", "aoi", Destination(node_id="nagaya_one")))
    (event,) = _tick(room, 30).events
    assert event.data == {"node_id": "nagaya_one"}


def test_the_events_of_a_step_are_in_order_of_world_time(room: Room) -> None:
    room.database.write_now(lambda s: walk(s, room.stage, "main", "aoi", Destination(npc_id="npc_taro")))
    _remember(room, "low")
    _remember(room, "high")
    step = _tick(room, 4 * MINUTES_PER_DAY)
    assert _kinds(step) == ["arrived", "memory_expired", "memory_expired", "day_began"]
    times = [event.at for event in step.events]
    assert times == sorted(times)
    assert [event.id for event in step.events] == sorted(event.id or 0 for event in step.events)


@pytest.mark.parametrize(
    ("importance", "minutes"),
    [("low", 17 * 60), ("medium", 2 * MINUTES_PER_DAY), ("high", 3 * MINUTES_PER_DAY)],
)
def test_a_memory_is_there_until_the_minute_it_expires(room: Room, importance: Importance, minutes: int) -> None:
    expiry = _remember(room, importance)
    assert expiry == room.stage.start + minutes
    assert "memory_expired" not in _kinds(_tick(room, minutes - 1))
    assert _on_mind(room) == [f"a {importance} thing"]
    (event,) = [event for event in _tick(room, 1).events if event.kind == "memory_expired"]
    assert (event.at, event.person_id) == (expiry, "aoi")
    assert event.data == {"content": f"a {importance} thing", "importance": importance}
    assert _on_mind(room) == []
    assert rows(room, MidTermRow) == []


def test_a_memory_expires_by_the_clock_of_its_own_world(room: Room) -> None:
    _remember(room, "low")
    _remember(room, "low", world_id="other")
    _tick(room, MINUTES_PER_DAY, "other")
    assert [row["world_id"] for row in rows(room, MidTermRow)] == ["main"]


def test_a_low_memory_of_the_last_minute_lasts_that_minute(room: Room) -> None:
    _tick(room, 17 * 60 - 1)
    expiry = _remember(room, "low")
    assert iso(expiry) == "2026-04-02T00:00"
    assert _on_mind(room) == ["a low thing"]
    assert _kinds(_tick(room, 1)) == ["day_began", "memory_expired"]


def test_a_new_day_is_told_with_its_date(room: Room) -> None:
    assert "day_began" not in _kinds(_tick(room, 17 * 60 - 1))
    (event,) = _tick(room, 1).events
    assert (event.kind, event.data, iso(WorldTime(event.at))) == (
        "day_began",
        {"day": "2026-04-02"},
        "2026-04-02T00:00",
    )


def test_a_leap_over_many_days_tells_the_last_one(room: Room) -> None:
    (event,) = _tick(room, 400 * MINUTES_PER_DAY).events
    assert event.data == {"day": "2027-05-06"}


def test_a_day_may_begin_at_another_hour(room: Room) -> None:
    room.stage.settings.day_starts_minutes = 300
    assert _tick(room, 17 * 60).events == ()
    expiry = _remember(room, "low")
    assert expiry == day_end(room.stage.start, day_starts=300)
    step = _tick(room, 300)
    assert _kinds(step) == ["day_began", "memory_expired"]
    assert iso(WorldTime(step.events[0].at)) == "2026-04-02T05:00"


def test_the_calendar_ends(room: Room) -> None:
    left = LATEST - room.stage.start
    with pytest.raises(Invalid) as refused:
        _tick(room, left + 1)
    assert refused.value.facts["field"] == "ticks"
    assert rows(room, WorldRow) == []
    assert iso(_tick(room, left).after) == "9999-12-31T23:59"


def test_a_tick_can_be_longer_than_a_minute(room: Room) -> None:
    room.stage.settings.tick_minutes = 15
    assert iso(_tick(room, 2).after) == "2026-04-01T07:30"
