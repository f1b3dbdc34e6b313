"""When a promise is to be kept, from a day and a time as fields."""

import pytest

from service.people.commitment import BadDue, Commitment, Due, due_of
from world.time import WorldTime, iso, parse_time

SAID = parse_time("2026-04-01T18:00")


def promised(due: Due, made_at: WorldTime = SAID, node_id: str | None = "pier") -> Commitment:
    """A promise that is to be kept then."""
    return Commitment(
        id="p",
        by_id="mio",
        to_id="npc_taro",
        what="bring the net",
        place="",
        node_id=node_id,
        due=due,
        made_at=made_at,
        ends_at=due.at,
    )


@pytest.mark.parametrize(
    ("day", "when", "since", "at", "has_hour"),
    [
        ("2026-04-02", "06:30", None, "2026-04-02T06:30", True),
        ("2026-04-02", "", None, "2026-04-03T00:00", False),
        ("2026-04-01", "", None, "2026-04-02T00:00", False),
        ("2026-04-02", "morning", "2026-04-02T05:00", "2026-04-02T12:00", False),
        ("2026-04-01", "evening", "2026-04-01T17:00", "2026-04-01T22:00", False),
        ("2026-04-01", "night", "2026-04-01T20:00", "2026-04-02T05:00", False),
        ("", "19:00", None, "2026-04-01T19:00", True),
        ("", "06:30", None, "2026-04-02T06:30", True),
        ("", "morning", "2026-04-02T05:00", "2026-04-02T12:00", False),
        ("2028-02-29", "12:00", None, "2028-02-29T12:00", True),
    ],
)
def test_a_day_and_a_time_are_a_moment_or_a_part_of_a_day(
    day: str, when: str, since: str | None, at: str, has_hour: bool
) -> None:
    said_at = parse_time("2028-02-01T12:00") if day.startswith("2028") else SAID
    due = due_of(day, when, said_at)
    assert due is not None
    assert (due.since and iso(due.since), iso(due.at), due.has_hour) == (since, at, has_hour)


def test_no_time_that_was_said_is_none() -> None:
    assert due_of("", "", SAID) is None


@pytest.mark.parametrize(
    ("day", "when"),
    [
        ("2026-02-30", ""),
        ("2026-04-02", "25:00"),
        ("2026-04-02", "soon"),
        ("tomorrow", "06:00"),
        ("2026-04-02T06:00", ""),
        ("2026-04-01", "06:00"),
        ("2026-04-01", "morning"),
        ("2026-03-31", ""),
        ("2027-07-01", ""),
        ("9999-12-31", ""),
    ],
)
def test_what_is_no_date_or_does_not_lie_ahead_is_refused(day: str, when: str) -> None:
    with pytest.raises(BadDue):
        due_of(day, when, SAID)


def test_a_part_of_a_day_that_goes_on_begins_when_the_two_have_parted() -> None:
    evening = due_of("2026-04-01", "evening", SAID)
    assert evening is not None
    one, at = promised(evening), WorldTime(SAID + 15)
    assert one.window == (at, evening.at)
    assert (one.appointment, one.waits_until) == (at, at + 120)
    assert promised(evening, node_id=None).appointment is None
    late = promised(evening, WorldTime(evening.at - 1))
    assert late.window == (evening.at - 15, evening.at)


def test_an_hour_has_a_quarter_around_it_and_a_day_alone_has_no_time() -> None:
    six, day = due_of("2026-04-02", "06:00", SAID), due_of("2026-04-02", "", SAID)
    assert six is not None
    assert day is not None
    assert promised(six).window == (six.at - 15, six.at + 15)
    assert (promised(six).appointment, promised(six).waits_until) == (six.at, six.at + 15)
    assert (promised(day).window, promised(day).appointment, promised(day).waits_until) == (None, None, None)
