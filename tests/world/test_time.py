"""Owns the proof of the calendar: text and minutes agree, days begin where they should."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.maps import modest
from world.errors import BadWorldTime, WorldError
from world.time import LATEST, MINUTES_PER_DAY, WorldTime, day_end, day_of, iso, minute_of_day, parse_time, to_datetime

world_times = st.integers(0, LATEST).map(WorldTime)
offsets_of_day = st.integers(0, MINUTES_PER_DAY - 1)


@modest
@given(world_times)
def test_a_time_written_and_read_again_is_the_same(t: WorldTime) -> None:
    assert parse_time(iso(t)) == t
    assert len(iso(t)) == 16


@modest
@given(st.datetimes().map(lambda d: d.replace(second=0, microsecond=0)))
def test_the_calendar_is_that_of_datetime(moment: datetime) -> None:
    t = parse_time(moment.isoformat())
    assert to_datetime(t) == moment
    assert iso(t) == moment.isoformat(timespec="minutes")
    assert minute_of_day(t) == moment.hour * 60 + moment.minute


@modest
@given(world_times, world_times)
def test_times_sort_as_their_texts_do(one: WorldTime, other: WorldTime) -> None:
    assert (one < other) == (iso(one) < iso(other))


def test_the_calendar_runs_from_the_first_minute_of_year_1_to_the_last_of_9999() -> None:
    assert parse_time("0001-01-01T00:00") == 0
    assert iso(WorldTime(0)) == "0001-01-01T00:00"
    assert iso(LATEST) == "9999-12-31T23:59"
    assert parse_time("9999-12-31T23:59") == LATEST


def test_seconds_are_dropped_and_a_date_is_its_midnight() -> None:
    assert parse_time("2026-04-01T07:00:59") == parse_time("2026-04-01T07:00")
    assert parse_time("2026-04-01") == parse_time("2026-04-01T00:00")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noon",
        "2026-04-01T25:00",
        "2026-13-01T00:00",
        "2026-02-29T00:00",
        "1900-02-29T00:00",
        "10000-01-01T00:00",
        "0000-01-01T00:00",
        "2026-04-01T07:00Z",
        "2026-04-01T07:00+09:00",
        "四月一日",
    ],
)
def test_a_text_that_is_no_world_time_is_refused_and_named(text: str) -> None:
    with pytest.raises(BadWorldTime) as caught:
        parse_time(text)
    assert isinstance(caught.value, WorldError)
    assert caught.value.facts == (text,)
    assert repr(text) in str(caught.value)
    assert "YYYY-MM-DDTHH:MM" in str(caught.value)


@pytest.mark.parametrize(("year", "days"), [(2024, 29), (2026, 28), (1900, 28), (2000, 29)])
def test_a_leap_year_has_its_29th_of_february(year: int, days: int) -> None:
    february = parse_time(f"{year}-02-01")
    assert parse_time(f"{year}-03-01") - february == days * MINUTES_PER_DAY


@modest
@given(world_times, offsets_of_day)
def test_a_day_ends_where_the_next_begins(t: WorldTime, day_starts: int) -> None:
    end = day_end(t, day_starts=day_starts)
    assert 0 < end - t <= MINUTES_PER_DAY
    assert minute_of_day(end) == day_starts
    today = day_of(t, day_starts=day_starts)
    assert day_of(WorldTime(end - 1), day_starts=day_starts) == today
    assert day_of(end, day_starts=day_starts) == today + 1


def test_a_day_that_starts_at_five_still_holds_the_small_hours() -> None:
    night, dawn = parse_time("2026-04-02T04:59"), parse_time("2026-04-02T05:00")
    evening = parse_time("2026-04-01T20:00")
    assert day_of(night, day_starts=300) == day_of(evening, day_starts=300)
    assert day_of(dawn, day_starts=300) == day_of(evening, day_starts=300) + 1
    assert iso(day_end(evening, day_starts=300)) == "2026-04-02T05:00"
    assert iso(day_end(dawn, day_starts=300)) == "2026-04-03T05:00"
    assert iso(day_end(evening)) == "2026-04-02T00:00"
