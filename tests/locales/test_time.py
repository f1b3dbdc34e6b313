"""How world time reads: dates as a person would say them, and how long ago something was."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.locales import Language, ago, clock_label
from tests.world.maps import modest
from world.time import LATEST, MINUTES_PER_DAY, WorldTime, day_end, parse_time

world_times = st.integers(0, LATEST).map(WorldTime)
offsets_of_day = st.integers(0, MINUTES_PER_DAY - 1)
languages: st.SearchStrategy[Language] = st.sampled_from(("en", "ja"))


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
        ("2026-04-09T23:59", "last night", "昨夜"),
        ("2026-04-09T21:59", "yesterday evening", "昨日の夕方"),
        ("2026-04-09T12:00", "yesterday afternoon", "昨日の昼"),
        ("2026-04-09T05:00", "yesterday morning", "昨日の朝"),
        ("2026-04-09T00:00", "yesterday before dawn", "昨日の未明"),
        ("2026-04-08T23:59", "2 days ago", "2日前"),
        ("2026-04-08T00:00", "2 days ago", "2日前"),
        ("2026-03-28T12:00", "13 days ago", "13日前"),
        ("2026-03-27T12:00", "2 weeks ago, 27 Mar", "2週間前の3月27日"),
        ("2026-02-10T12:00", "8 weeks ago, 10 Feb", "8週間前の2月10日"),
        ("2026-02-09T12:00", "this winter, 9 Feb", "今年の冬、2月9日"),
        ("2025-10-12T12:00", "last autumn, 12 Oct", "去年の秋、10月12日"),
        ("2024-04-10T12:00", "spring 2024, 10 Apr", "2024年の春、4月10日"),
        ("0001-01-01T00:00", "winter 1, 1 Jan", "1年の冬、1月1日"),
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
    assert ago(late, parse_time("2026-04-10T04:00"), "ja") == "昨夜"


def test_ago_counts_days_from_where_they_start() -> None:
    evening, small_hours = parse_time("2026-04-09T20:00"), parse_time("2026-04-10T04:30")
    assert ago(evening, small_hours, "en") == "yesterday evening"
    assert ago(evening, small_hours, "en", day_starts=300) == "8 hours ago"
    assert ago(evening, parse_time("2026-04-11T04:59"), "ja") == "2日前"
    assert ago(evening, parse_time("2026-04-11T04:59"), "ja", day_starts=300) == "昨日の夕方"
    assert ago(small_hours, parse_time("2026-04-10T12:00"), "en", day_starts=300) == "last night"


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
