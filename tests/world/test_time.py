"""Owns the proof of the calendar: text and minutes agree, days begin where they should, ago says it in words."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.maps import modest
from world.errors import BadWorldTime, WorldError
from world.time import (
    LATEST,
    MINUTES_PER_DAY,
    Language,
    WorldTime,
    ago,
    clock_label,
    day_end,
    day_of,
    iso,
    minute_of_day,
    parse_time,
    to_datetime,
)

world_times = st.integers(0, LATEST).map(WorldTime)
offsets_of_day = st.integers(0, MINUTES_PER_DAY - 1)
languages: st.SearchStrategy[Language] = st.sampled_from(("en", "ja"))


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
    assert caught.value.text == text
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


@pytest.mark.parametrize(
    ("text", "en", "ja"),
    [
        ("2026-04-01T07:05", "Wed 1 Apr, 7:05", "4月1日(水) 7:05"),
        ("2024-02-29T00:00", "Thu 29 Feb, 0:00", "2月29日(木) 0:00"),
        ("2026-12-27T23:59", "Sun 27 Dec, 23:59", "12月27日(日) 23:59"),
    ],
)
def test_the_clock_speaks_both_languages(text: str, en: str, ja: str) -> None:
    assert clock_label(parse_time(text), "en") == en
    assert clock_label(parse_time(text), "ja") == ja


@pytest.mark.parametrize(
    ("then", "en", "ja"),
    [
        ("2026-04-11T12:00", "just now", "たった今"),
        ("2026-04-10T12:00", "just now", "たった今"),
        ("2026-04-10T11:59", "1 minute ago", "1分前"),
        ("2026-04-10T11:01", "59 minutes ago", "59分前"),
        ("2026-04-10T11:00", "1 hour ago", "1時間前"),
        ("2026-04-10T00:00", "12 hours ago", "12時間前"),
        ("2026-04-09T23:59", "yesterday", "昨日"),
        ("2026-04-09T00:00", "yesterday", "昨日"),
        ("2026-04-08T23:59", "2 days ago", "2日前"),
        ("2026-04-08T00:00", "2 days ago", "2日前"),
        ("2026-03-28T12:00", "13 days ago", "13日前"),
        ("2026-03-27T12:00", "2 weeks ago", "2週間前"),
        ("2026-02-10T12:00", "8 weeks ago", "8週間前"),
        ("2026-02-09T12:00", "2 months ago", "2か月前"),
        ("2024-04-11T12:00", "24 months ago", "24か月前"),
        ("2024-04-10T12:00", "2 years ago", "2年前"),
        ("0001-01-01T00:00", "2026 years ago", "2026年前"),
    ],
)
def test_ago_says_it_as_a_person_would(then: str, en: str, ja: str) -> None:
    noon = parse_time("2026-04-10T12:00")
    assert ago(parse_time(then), noon, "en") == en
    assert ago(parse_time(then), noon, "ja") == ja


def test_ago_across_midnight_counts_hours_until_six_have_passed() -> None:
    late = parse_time("2026-04-09T22:00")
    assert ago(late, parse_time("2026-04-10T00:30"), "en") == "2 hours ago"
    assert ago(late, parse_time("2026-04-10T03:59"), "ja") == "5時間前"
    assert ago(late, parse_time("2026-04-10T04:00"), "ja") == "昨日"


def test_ago_counts_days_from_where_they_start() -> None:
    evening, small_hours = parse_time("2026-04-09T20:00"), parse_time("2026-04-10T04:30")
    assert ago(evening, small_hours, "en") == "yesterday"
    assert ago(evening, small_hours, "en", day_starts=300) == "8 hours ago"
    assert ago(evening, parse_time("2026-04-11T04:59"), "ja") == "2日前"
    assert ago(evening, parse_time("2026-04-11T04:59"), "ja", day_starts=300) == "昨日"


@modest
@given(world_times, st.integers(2, 13), offsets_of_day, offsets_of_day)
def test_two_days_ago_is_two_day_boundaries_whatever_the_hour(
    then: WorldTime, days: int, minute: int, day_starts: int
) -> None:
    now = WorldTime(day_end(then, day_starts=day_starts) + (days - 1) * MINUTES_PER_DAY + minute)
    assert ago(then, now, "en", day_starts=day_starts) == f"{days} days ago"
    assert ago(then, now, "ja", day_starts=day_starts) == f"{days}日前"


@modest
@given(world_times, st.timedeltas(timedelta(0), timedelta(days=4000)), languages)
def test_what_is_to_come_and_what_is_now_is_just_now(then: WorldTime, later: timedelta, language: Language) -> None:
    to_come = WorldTime(then + later // timedelta(minutes=1))
    assert ago(to_come, then, language) == ("just now" if language == "en" else "たった今")
