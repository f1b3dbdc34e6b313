"""Owns world time: minutes on the game's own calendar, and its days."""

from datetime import datetime, timedelta
from typing import NewType

from world.errors import BadWorldTime

WorldTime = NewType("WorldTime", int)
"""Minutes since 0001-01-01T00:00 of the world's calendar (proleptic Gregorian, no time zone)."""

MINUTES_PER_HOUR = 60
MINUTES_PER_DAY = 24 * MINUTES_PER_HOUR

_EPOCH = datetime(1, 1, 1)
_MINUTE = timedelta(minutes=1)
LATEST = WorldTime((datetime(9999, 12, 31, 23, 59) - _EPOCH) // _MINUTE)
"""The last minute the calendar can name."""


def parse_time(text: str) -> WorldTime:
    """Read ``YYYY-MM-DDTHH:MM[:SS]`` (seconds are dropped; a bare date is its midnight).

    Raises:
        BadWorldTime: the text is no such time, or names a time zone.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as exc:
        raise BadWorldTime(text) from exc
    if moment.tzinfo is not None:
        raise BadWorldTime(text)
    return WorldTime((moment - _EPOCH) // _MINUTE)


def to_datetime(t: WorldTime) -> datetime:
    """The world time as a naive ``datetime``."""
    return _EPOCH + timedelta(minutes=t)


def iso(t: WorldTime) -> str:
    """``YYYY-MM-DDTHH:MM``, the form every API answer uses."""
    return to_datetime(t).strftime("%Y-%m-%dT%H:%M").rjust(16, "0")


def day_of(t: WorldTime, *, day_starts: int = 0) -> int:
    """Number of the world day that holds `t`; a day begins `day_starts` minutes after midnight."""
    return (t - day_starts) // MINUTES_PER_DAY


def day_end(t: WorldTime, *, day_starts: int = 0) -> WorldTime:
    """First minute of the next world day after `t`."""
    return WorldTime((day_of(t, day_starts=day_starts) + 1) * MINUTES_PER_DAY + day_starts)


def clock(minute: int) -> str:
    """``06:30`` for a minute of the day."""
    return f"{minute // MINUTES_PER_HOUR:02d}:{minute % MINUTES_PER_HOUR:02d}"


def minute_of_day(t: WorldTime) -> int:
    """Minutes since midnight, 0..1439."""
    return t % MINUTES_PER_DAY
