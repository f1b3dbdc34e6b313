"""Which block of the day a moment lies in, and when the next one begins."""

import pytest

from service.content.profile import RoutineBlock
from service.decision.routine import slot_at, starts_between
from world.time import WorldTime, iso, parse_time

DAY: tuple[RoutineBlock, ...] = tuple(
    RoutineBlock(starts=starts * 60, activity=activity)
    for starts, activity in ((6, "wakes"), (8, "works"), (22, "sleeps"))
)


@pytest.mark.parametrize(
    ("at", "activity", "since", "until"),
    [
        ("2026-04-02T06:00", "wakes", "2026-04-02T06:00", "2026-04-02T08:00"),
        ("2026-04-02T07:59", "wakes", "2026-04-02T06:00", "2026-04-02T08:00"),
        ("2026-04-02T23:30", "sleeps", "2026-04-02T22:00", "2026-04-03T06:00"),
        ("2026-04-02T05:59", "sleeps", "2026-04-01T22:00", "2026-04-02T06:00"),
    ],
)
def test_a_block_lasts_until_the_next_one_the_last_past_midnight(
    at: str, activity: str, since: str, until: str
) -> None:
    slot = slot_at(DAY, parse_time(at))
    assert slot is not None
    assert (slot.block.activity, iso(slot.since), iso(slot.until)) == (activity, since, until)


def test_a_single_block_lasts_the_whole_day() -> None:
    slot = slot_at(DAY[:1], parse_time("2026-04-02T06:00"))
    assert slot is not None
    assert slot.until - slot.since == 1440


def test_a_day_without_blocks_has_no_slot() -> None:
    assert slot_at((), WorldTime(0)) is None


@pytest.mark.parametrize(
    ("after", "until", "count"),
    [("05:59", "06:00", 1), ("06:00", "07:59", 0), ("06:00", "22:00", 2), ("06:01", "06:00", 0)],
)
def test_it_counts_the_blocks_that_begin_in_between(after: str, until: str, count: int) -> None:
    day = "2026-04-02T"
    assert starts_between(DAY, parse_time(day + after), parse_time(day + until)) == count


def test_every_block_begins_once_a_day() -> None:
    noon = parse_time("2026-04-02T12:00")
    assert starts_between(DAY, noon, WorldTime(noon + 3 * 1440)) == 9
