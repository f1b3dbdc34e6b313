"""What days and times that are said in words mean where they are said; nothing that was not said."""

import pytest

from service.memory.said_time import said_times
from world.time import parse_time

WEDNESDAY_MORNING = parse_time("2026-04-01T07:00")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("I'll come tomorrow at five.", "2026-04-02T17:00"),
        ("The day after tomorrow, five in the afternoon.", "2026-04-03T17:00"),
        ("Next Monday, noon, the noodle bar.", "2026-04-06T12:00"),
        ("Half past eight tonight.", "2026-04-01T20:30"),
        ("Tomorrow morning at eight, then.", "2026-04-02T08:00"),
        ("Sunday at ten. In the morning.", "2026-04-05T10:00"),
        ("At 17:00 tomorrow", "2026-04-02T17:00"),
        ("I'm there at 5pm.", "2026-04-01T17:00"),
        ("In two hours, on the hill.", "2026-04-01T09:00"),
        ("In half an hour.", "2026-04-01T07:30"),
        ("at midnight", "2026-04-02T00:00"),
        ("Friday week at ten in the morning", "2026-04-10T10:00"),
        ("明日の五時に行きます。", "2026-04-02T17:00"),
        ("明後日の夕方五時", "2026-04-03T17:00"),
        ("三日後の午後三時半", "2026-04-04T15:30"),
        ("来週の月曜、正午に。", "2026-04-06T12:00"),
        ("今夜九時、港で。", "2026-04-01T21:00"),
        ("明日の17時", "2026-04-02T17:00"),
        ("明朝六時", "2026-04-02T06:00"),
        ("三時間後に", "2026-04-01T10:00"),
        ("明日の十七時半", "2026-04-02T17:30"),
        ("今夜二十一時に", "2026-04-01T21:00"),
        ("あす午後3時", "2026-04-02T15:00"),
        ("On the twelfth, at noon.", "2026-04-12T12:00"),
        ("十二日の正午に", "2026-04-12T12:00"),
    ],
)
def test_a_said_moment_is_that_moment(text: str, moment: str) -> None:
    assert any(one.allows(parse_time(moment)) for one in said_times(text, WEDNESDAY_MORNING))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I'll have it tomorrow.", "2026-04-02"),
        ("In three days, then.", "2026-04-04"),
        ("A week today.", "2026-04-08"),
        ("Collect it on the 3rd of May.", "2026-05-03"),
        ("今度の日曜、お弁当こさえて。", "2026-04-05"),
        ("しあさって", "2026-04-04"),
        ("来週の金曜に取りに来な", "2026-04-10"),
        ("火曜の昼にはお返しします", "2026-04-07"),
        ("さ来週の火曜", "2026-04-14"),
        ("A fortnight from Saturday.", "2026-04-18"),
        ("The second of May, then.", "2026-05-02"),
        ("On May the third.", "2026-05-03"),
        ("On New Year's Eve.", "2026-12-31"),
        ("元日に来て", "2027-01-01"),
        ("来月の三日に返すよ", "2026-05-03"),
    ],
)
def test_a_day_alone_has_no_hour(text: str, day: str) -> None:
    assert [(one.day, one.minutes) for one in said_times(text, WEDNESDAY_MORNING)] == [
        (parse_time(day) // 1440, frozenset())
    ]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the day after tomorrow", "2027-01-01"),
        ("On the first.", "2027-01-01"),
        ("On the 31st of next month.", "2027-01-31"),
        ("あさって", "2027-01-01"),
        ("三日までに", "2027-01-03"),
        ("来週の金曜", "2027-01-08"),
        ("On January 4th.", "2027-01-04"),
    ],
)
def test_a_day_is_found_across_the_end_of_the_year(text: str, day: str) -> None:
    said = said_times(text, parse_time("2026-12-30T23:50"))
    assert [one.day for one in said] == [parse_time(day) // 1440]


def test_the_friday_after_next_is_never_the_next() -> None:
    days = [one.day for one in said_times("The Friday after next.", WEDNESDAY_MORNING)]
    assert days == [parse_time("2026-04-10") // 1440, parse_time("2026-04-17") // 1440]


def test_an_hour_of_two_figures_is_not_its_second() -> None:
    (said,) = said_times("明日の十七時に", WEDNESDAY_MORNING)
    assert not said.allows(parse_time("2026-04-02T19:00"))


@pytest.mark.parametrize(
    "text",
    [
        "I have three goats and two cows.",
        "One of these days.",
        "子供が三人います。",
        "いつか行こう。",
        "",
        "三日かかった。",
        "三日に一度は来る。",
        "On the second floor.",
    ],
)
def test_what_names_no_time_has_none(text: str) -> None:
    assert said_times(text, WEDNESDAY_MORNING) == ()


def test_an_hour_that_is_over_is_not_todays() -> None:
    assert said_times("at nine in the morning", parse_time("2026-04-01T14:20")) == ()


def test_each_hour_goes_with_the_day_that_stands_nearest() -> None:
    said = said_times("Soles tomorrow. Collect them on Friday, any time after three.", WEDNESDAY_MORNING)
    assert any(one.allows(parse_time("2026-04-03T15:00")) for one in said)
    assert not any(one.allows(parse_time("2026-04-02T15:00")) for one in said)
