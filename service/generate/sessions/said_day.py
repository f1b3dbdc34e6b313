"""Owns the past days that are said in words: what "3 days ago" and 「4月21日」 mean on the day they are said. Pure."""

import re
from datetime import date, timedelta

from service.memory.claim import folded, value_of

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen".split()
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"

_BACK = (
    re.compile(rf"\b(?P<n>\d{{1,3}}|{'|'.join(_WORDS)}) days? ago\b"),
    re.compile(r"(?P<n>\d{1,3}|[一二三四五六七八九十]{1,3})日前"),
)
_NAMED = (
    (re.compile(r"\btoday\b|\bthis (?:morning|afternoon)\b|\bhours? ago\b|今日|今朝|\d時間前"), 0),
    (re.compile(r"\byesterday\b|\blast night\b|(?<!一)昨日|きのう|昨夜|ゆうべ"), 1),
    (re.compile(r"\bthe day before yesterday\b|一昨日|おととい"), 2),
    (re.compile(r"\b(?:a|one|1) week ago\b|[1一]週間前"), 7),
)
_DATED = (
    re.compile(rf"\b{_DAY} (?:of )?{_MONTH}\b"),
    re.compile(rf"\b{_MONTH} {_DAY}\b"),
    re.compile(r"(?P<month>\d{1,2})月(?P<day>\d{1,2})日"),
)


def said_days(text: str, on: date) -> set[date]:
    """Every past day that the text names, said on that day. A date without a year is the last such one."""
    plain = folded(text)
    back = {_number(found["n"]) for pattern in _BACK for found in pattern.finditer(plain)}
    back |= {days for pattern, days in _NAMED if pattern.search(plain)}
    dated = (_last(found["month"], int(found["day"]), on) for pattern in _DATED for found in pattern.finditer(plain))
    return {on - timedelta(days=days) for days in back} | {day for day in dated if day is not None}


def _number(word: str) -> int:
    return _WORDS.index(word) if word in _WORDS else value_of(word)


def _last(month: str, day: int, on: date) -> date | None:
    number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
    for year in (on.year, on.year - 1):
        try:
            found = date(year, number, day)
        except ValueError:
            continue
        if found <= on:
            return found
    return None
