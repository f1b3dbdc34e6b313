"""Owns the tests of what time alone brings: mid-term memories expire, days begin, and all of it is told in order."""

from dataclasses import replace

import pytest
from sqlmodel import Session

from service.content.profile import Importance
from service.conversation.dependencies import ConversationDependencies
from service.memory.mind import expires_at, mid_term_memories, tell_over
from service.people.worlds import WorldRepository
from service.runtime.world_clock import advance_clock
from service.store.events import events_after, last_event
from service.store.tables import EventRow, MemoryRow
from tests.conversation.talks import rows
from world.time import MINUTES_PER_DAY, WorldTime, day_end, iso


def _pass(room: ConversationDependencies, minutes: int, world_id: str = "main") -> list[EventRow]:
    """Let time go by in which nobody does anything."""

    def work(session: Session) -> list[EventRow]:
        world = room.worlds.open(session, world_id, lock=True)
        first = last_event(session, world_id)
        advance_clock(session, world, WorldTime(world.now + minutes))
        return events_after(session, world_id, first, 999)

    return room.database.write_now(work)


def _kinds(events: list[EventRow]) -> list[str]:
    return [event.kind for event in events]


def _row(world_id: str, person_id: str, level: Importance, at: int, expires: int) -> MemoryRow:
    return MemoryRow(
        id=f"{world_id}-{person_id}-{level}",
        world_id=world_id,
        person_id=person_id,
        kind="mid_term",
        text=f"a {level} thing",
        support="perceived",
        source="conversation",
        valid_from=at,
        known_from=at,
        expires_at=expires,
        level=level,
        revision=1,
    )


def _remember(
    room: ConversationDependencies, importance: Importance, *, world_id: str = "main", character_id: str = "aoi"
) -> WorldTime:
    """A mid-term memory made now; the answer is when it is gone."""

    def work(session: Session) -> WorldTime:
        now = room.worlds.open(session, world_id, lock=True).now
        expiry = expires_at(importance, now, day_starts=room.settings.world.day_starts_minutes)
        session.add(_row(world_id, character_id, importance, now, expiry))
        return expiry

    return room.database.write_now(work)


def _on_mind(room: ConversationDependencies, character_id: str = "aoi") -> list[str]:
    return room.database.read_now(
        lambda s: [one.content for one in mid_term_memories(s, room.worlds.open(s, "main"), character_id)[character_id]]
    )


def _clock(room: ConversationDependencies, world_id: str = "main") -> str:
    return room.database.read_now(lambda s: iso(room.worlds.open(s, world_id).now))


@pytest.mark.parametrize(
    ("importance", "minutes"),
    [("low", 17 * 60), ("medium", 2 * MINUTES_PER_DAY), ("high", 3 * MINUTES_PER_DAY)],
)
def test_a_memory_is_there_until_the_minute_it_expires(
    room: ConversationDependencies, importance: Importance, minutes: int
) -> None:
    expiry = _remember(room, importance)
    assert expiry == room.worlds.start + minutes
    assert "memory_expired" not in _kinds(_pass(room, minutes - 1))
    assert _on_mind(room) == [f"a {importance} thing"]
    (event,) = [event for event in _pass(room, 1) if event.kind == "memory_expired"]
    assert (event.at, event.person_id) == (expiry, "aoi")
    assert event.data == {"content": f"a {importance} thing", "importance": importance}
    assert _on_mind(room) == []
    assert "memory_expired" not in _kinds(_pass(room, MINUTES_PER_DAY)), "it is told once"
    assert [row["text"] for row in rows(room, MemoryRow)] == [f"a {importance} thing"], "and stays"


def test_a_memory_expires_by_the_clock_of_its_own_world(room: ConversationDependencies) -> None:
    _remember(room, "low")
    _remember(room, "low", world_id="other")
    told = _pass(room, MINUTES_PER_DAY, "other")
    assert [event.world_id for event in told if event.kind == "memory_expired"] == ["other"]
    assert _on_mind(room) == ["a low thing"]


def test_a_memory_that_is_over_before_a_late_closing_writes_it_is_told_all_the_same(
    room: ConversationDependencies,
) -> None:
    def late(session: Session) -> None:
        now = room.worlds.open(session, "main", lock=True).now
        row = _row("main", "aoi", "low", now - 90, now - 30)
        session.add(row)
        tell_over(session, [row], now)

    room.database.write_now(late)
    (event,) = _pass(room, 1)
    assert (event.kind, event.data["content"], event.at) == ("memory_expired", "a low thing", room.worlds.start - 30)
    assert _pass(room, MINUTES_PER_DAY)[0].kind != "memory_expired"


def test_a_low_memory_of_the_last_minute_lasts_that_minute(room: ConversationDependencies) -> None:
    _pass(room, 17 * 60 - 1)
    expiry = _remember(room, "low")
    assert iso(expiry) == "2026-04-02T00:00"
    assert _on_mind(room) == ["a low thing"]
    assert _kinds(_pass(room, 1)) == ["day_began", "memory_expired"]


def test_a_leap_over_many_days_tells_the_last_one(room: ConversationDependencies) -> None:
    (event,) = _pass(room, 400 * MINUTES_PER_DAY)
    assert event.data == {"day": "2027-05-06"}


def _ruled(room: ConversationDependencies, **values: int) -> ConversationDependencies:
    settings = room.settings.changed(world=values)
    return replace(room, settings=settings, worlds=WorldRepository(room.worlds.content, settings.world))


def test_a_day_may_begin_at_another_hour(room: ConversationDependencies) -> None:
    room = _ruled(room, day_starts_minutes=300)
    assert _pass(room, 17 * 60) == []
    expiry = _remember(room, "low")
    assert expiry == day_end(room.worlds.start, day_starts=300)
    step = _pass(room, 300)
    assert _kinds(step) == ["day_began", "memory_expired"]
    assert iso(WorldTime(step[0].at)) == "2026-04-02T05:00"
