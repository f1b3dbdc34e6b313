"""Owns how world time reads: a date, an hour, and how long ago something was."""

from service.locales import Language, sentence, sentences
from world.time import MINUTES_PER_HOUR, WorldTime, day_of, to_datetime


def date_label(t: WorldTime, language: Language) -> str:
    """Date and weekday as a person would say them."""
    moment = to_datetime(t)
    return sentence(
        language,
        "time.date",
        weekday=sentences(language, "time.weekday_names")[moment.weekday()],
        day=moment.day,
        month=sentences(language, "time.month_names")[moment.month - 1],
    )


def clock_label(t: WorldTime, language: Language) -> str:
    """Date, weekday and hour as a person would say them, for prompts and pages."""
    moment = to_datetime(t)
    return sentence(language, "time.clock", date=date_label(t, language), hour=f"{moment.hour}:{moment.minute:02d}")


def ago(then: WorldTime, now: WorldTime, language: Language, *, day_starts: int = 0) -> str:
    """How long ago `then` was, in words: by the minute, then by the hour, then by world days ("2日前").

    A moment that is not past is "just now".
    """
    minutes = now - then
    days = day_of(now, day_starts=day_starts) - day_of(then, day_starts=day_starts)
    if minutes < 1:
        return sentence(language, "time.just_now")
    if minutes < MINUTES_PER_HOUR:
        return sentence(language, "time.minutes", count=minutes)
    if days == 0 or minutes < 6 * MINUTES_PER_HOUR:
        return sentence(language, "time.hours", count=minutes // MINUTES_PER_HOUR)
    if days == 1:
        return sentence(language, "time.yesterday")
    if days < 14:
        return sentence(language, "time.days", count=days)
    if days < 60:
        return sentence(language, "time.weeks", count=days // 7)
    if days < 730:
        return sentence(language, "time.months", count=days // 30)
    return sentence(language, "time.years", count=days // 365)
