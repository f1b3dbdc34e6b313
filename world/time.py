"""Owns world time: minutes on the game's own calendar, its days, and how long ago something was."""

from datetime import datetime, timedelta
from typing import NewType

from world.errors import BadWorldTime

Language = str
"""The code of a language: en, ja, or another that the service has a file for."""

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


def minute_of_day(t: WorldTime) -> int:
    """Minutes since midnight, 0..1439."""
    return t % MINUTES_PER_DAY


def clock_label(t: WorldTime, language: Language) -> str:
    """Date, weekday and hour as a person would say them, for prompts and pages."""
    moment = to_datetime(t)
    hour = f"{moment.hour}:{moment.minute:02d}"
    if language == "ja":
        return f"{moment.month}月{moment.day}日({'月火水木金土日'[moment.weekday()]}) {hour}"
    weekday = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()]
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[moment.month - 1]
    return f"{weekday} {moment.day} {month}, {hour}"


def ago(then: WorldTime, now: WorldTime, language: Language, *, day_starts: int = 0) -> str:
    """How long ago `then` was, in words: by the minute, then by the hour, then by world days ("2日前").

    A moment that is not past is "just now".
    """
    minutes = now - then
    days = day_of(now, day_starts=day_starts) - day_of(then, day_starts=day_starts)
    if minutes < 1:
        return "たった今" if language == "ja" else "just now"
    if minutes < MINUTES_PER_HOUR:
        return _count(minutes, "分前", "minute", language)
    if days == 0 or minutes < 6 * MINUTES_PER_HOUR:
        return _count(minutes // MINUTES_PER_HOUR, "時間前", "hour", language)
    if days == 1:
        return "昨日" if language == "ja" else "yesterday"
    if days < 14:
        return _count(days, "日前", "day", language)
    if days < 60:
        return _count(days // 7, "週間前", "week", language)
    if days < 730:
        return _count(days // 30, "か月前", "month", language)
    return _count(days // 365, "年前", "year", language)


def _count(number: int, ja: str, en: str, language: Language) -> str:
    if language == "ja":
        return f"{number}{ja}"
    return f"{number} {en}{'' if number == 1 else 's'} ago"
