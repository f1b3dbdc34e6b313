"""Owns the days and times that are said in words: what "the day after tomorrow at five" and 「明後日の夕方五時」 mean
where they are said. Pure.

Only what is said is resolved: a day without an hour has none, an hour without a day is today's, if that is yet to come.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from service.memory.claim import folded, value_of
from world.time import MINUTES_PER_DAY, WorldTime, minute_of_day, to_datetime

NOON = 12 * 60
_WEEK = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class SaidTime:
    """What a text may mean by its words: a day (days since the calendar began), and the minutes of it that may be
    meant; 1440 is the midnight at its end.

    "At nine" may be in the morning or in the evening. Without `minutes` a day was said and no hour.
    """

    day: int
    minutes: frozenset[int] = frozenset()

    def allows(self, t: WorldTime) -> bool:
        """Whether that moment was said."""
        return t - self.day * MINUTES_PER_DAY in self.minutes


def said_times(text: str, said_at: WorldTime) -> tuple[SaidTime, ...]:
    """Every day and time that the text names, said at that world time."""
    plain = folded(text)
    moments = [
        SaidTime(day=t // MINUTES_PER_DAY, minutes=frozenset({minute_of_day(t)})) for t in _from_now(plain, said_at)
    ]
    days = sorted(_days(plain, said_at), key=lambda one: one.start)
    hours = list(_hours(plain))
    timed = [one for hour in hours for one in _paired(plain, hour, days, said_at)]
    with_hours = {one.day for one in timed}
    bare = [SaidTime(day=day) for one in days for day in one.days if day not in with_hours]
    return tuple(dict.fromkeys((*moments, *timed, *bare)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Days:
    """Where in the text days stand, and which they may be; the likeliest first."""

    start: int
    end: int
    days: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Hour:
    start: int
    end: int
    minutes: frozenset[int]


def _paired(text: str, hour: _Hour, days: list[_Days], said_at: WorldTime) -> list[SaidTime]:
    """The hour with the day that stands nearest to it: before it, or after it in the same sentence."""
    before = [one for one in days if one.end <= hour.start or one.start <= hour.start < one.end]
    after = [one for one in days if one.start >= hour.end and not _ENDS.search(text[hour.end : one.start])]
    near = min(
        (*before[-1:], *after[:1]), key=lambda one: max(one.start - hour.end, hour.start - one.end), default=None
    )
    if near is not None:
        return [SaidTime(day=day, minutes=_in_part(text, hour, near)) for day in near.days]
    today, now = said_at // MINUTES_PER_DAY, minute_of_day(said_at)
    to_come = frozenset(minute for minute in hour.minutes if minute > now)
    return [SaidTime(day=today, minutes=to_come)] if to_come else []


def _in_part(text: str, hour: _Hour, day: _Days) -> frozenset[int]:
    """Tonight at nine is in the evening."""
    late = frozenset(minute for minute in hour.minutes if minute >= NOON)
    return late if late and _EVENING.search(text[day.start : day.end]) else hour.minutes


_ENDS = re.compile(r"[.!?。!?]")
_EVENING = re.compile(r"tonight|evening|night|今夜|今晩|夕|晩|夜")

_NUMBERS = {
    word: value
    for value, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"a": 1, "an": 1, "a couple of": 2, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45}
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_J = r"(?P<n>\d{1,3}|[〇一二三四五六七八九十]{1,3})"
_ORDINALS = {
    word: value
    for value, word in enumerate(
        (
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
            "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
        ).split(),
        1,
    )
}
_NTH = rf"(?P<n>\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})"
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAYS_JA = "月火水木金土日"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _number(word: str) -> int:
    named = _NUMBERS.get(word, _ORDINALS.get(word))
    return value_of(word.rstrip("stndrh")) if named is None else named


# Moments counted from now.

_SPANS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(rf"\bin {_N} (?:short )?hours?\b(?! and a half)"), 60),
    (re.compile(rf"\b{_N} hours? from now\b"), 60),
    (re.compile(rf"\bin (?:about )?{_N} minutes\b"), 1),
    (re.compile(rf"{_J}時間後"), 60),
    (re.compile(rf"{_J}分後"), 1),
)
_HALF_HOUR = re.compile(r"\bin half an hour\b|半時間後|\bin a half hour\b")


def _from_now(text: str, said_at: WorldTime) -> Iterator[WorldTime]:
    for pattern, minutes in _SPANS:
        for found in pattern.finditer(text):
            yield WorldTime(said_at + _number(found["n"]) * minutes)
    for _ in _HALF_HOUR.finditer(text):
        yield WorldTime(said_at + 30)


# Days.


def _days(text: str, said_at: WorldTime) -> Iterator[_Days]:
    today = said_at // MINUTES_PER_DAY
    taken: list[tuple[int, int]] = []
    for pattern, days_of in _DAY_WORDS:
        for found in pattern.finditer(text):
            if any(start < found.end() and found.start() < end for start, end in taken):
                continue  # part of a longer expression
            days = days_of(found, today)
            if days:
                taken.append(found.span())
                yield _Days(start=found.start(), end=found.end(), days=days)


def _after(count: int) -> Callable[[re.Match[str], int], tuple[int, ...]]:
    return lambda found, today: (today + count,)


def _in_days(times: int) -> Callable[[re.Match[str], int], tuple[int, ...]]:
    return lambda found, today: (today + times * _number(found["n"]),)


def _weekday(day: int) -> int:
    """0 is Monday."""
    return to_datetime(WorldTime(day * MINUTES_PER_DAY)).weekday()


def _coming(name: int, today: int) -> int:
    """The next such weekday after today."""
    return today + ((name - _weekday(today)) % _WEEK or _WEEK)


def _named_en(found: re.Match[str], today: int) -> tuple[int, ...]:
    name = _WEEKDAYS.index(found["day"][:3])
    coming = _coming(name, today)
    if found["week"]:
        return (coming + _WEEK,)
    if found["after"]:
        return (coming + _WEEK, coming + 2 * _WEEK)
    # "Next Friday", said on a Monday, is this week's to some and next week's to others.
    ambiguous = found["which"] == "next" and coming - today < _WEEK - _weekday(today)
    return (coming, coming + _WEEK) if ambiguous else (coming,)


def _week_after_en(found: re.Match[str], today: int) -> tuple[int, ...]:
    start = (
        _coming(_WEEKDAYS.index(found["day"][:3]), today) if found["day"] else today + (found["tomorrow"] is not None)
    )
    return (start + (2 * _WEEK if found["weeks"] == "fortnight" else _WEEK),)


def _named_ja(found: re.Match[str], today: int) -> tuple[int, ...]:
    name, weeks = (
        _WEEKDAYS_JA.index(found["day"]),
        {"今週": 0, "来週": 1, "再来週": 2, "さ来週": 2}.get(found["which"] or ""),
    )
    if weeks is None:
        return (_coming(name, today),)
    return (today - _weekday(today) + weeks * _WEEK + name,)


def _dated(found: re.Match[str], today: int) -> tuple[int, ...]:
    """A month and a day of it, this year's or next year's."""
    month = found["m"]
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1 if month[0].isascii() else _number(month)
    return _coming_date(today, number, _number(found["n"]))


def _coming_date(today: int, month: int, day_of_month: int) -> tuple[int, ...]:
    here = to_datetime(WorldTime(today * MINUTES_PER_DAY))
    for year in (here.year, here.year + 1):
        try:
            day = (here.replace(year=year, month=month, day=day_of_month) - here).days
        except ValueError:
            return ()
        if day >= 0:
            return (today + day,)
    return ()


def _on_the_date(month: int, day_of_month: int) -> Callable[[re.Match[str], int], tuple[int, ...]]:
    return lambda found, today: _coming_date(today, month, day_of_month)


_NEXT_MONTH = (" of next month", "来月")


def _day_of_month(found: re.Match[str], today: int) -> tuple[int, ...]:
    """A day of the month alone: this month's, or next month's where that is over or next month is named."""
    here = to_datetime(WorldTime(today * MINUTES_PER_DAY))
    which, day = found["which"], _number(found["n"])
    is_next = which in _NEXT_MONTH or (which is None and day < here.day)
    try:
        at = here.replace(day=1, month=here.month % 12 + 1, year=here.year + here.month // 12) if is_next else here
        return (today + (at.replace(day=day) - here).days,)
    except ValueError:
        return ()


_DAY_NAMES = r"(?P<day>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)\b"
_MONTH_NAMES = rf"(?P<m>{'|'.join(_MONTHS)})[a-z]*"
_ON_A_DAY_JA = (
    r"(?=に(?![\d一二三四五六七八九十]+[度回])|まで(?!も)"
    r"|[の、 ]?(?:正午|(?:[午朝昼夕晩夜][前後方]?の?)?[\d一二三四五六七八九十]{1,3}時(?!間)))"
)
"""三日に is a date, and 三日かかる is none."""
_DAY_WORDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], int], tuple[int, ...]]], ...] = (
    (re.compile(r"\b(?:the )?day after tomorrow\b|\bovermorrow\b"), _after(2)),
    (
        re.compile(rf"\ba (?P<weeks>week|fortnight) (?:from )?(?:today|(?P<tomorrow>tomorrow)|(?:on )?{_DAY_NAMES})"),
        _week_after_en,
    ),
    (re.compile(rf"\bin {_N} days?\b"), _in_days(1)),
    (re.compile(rf"\b{_N} days (?:from now|hence)\b"), _in_days(1)),
    (re.compile(rf"\bin {_N} weeks?\b"), _in_days(_WEEK)),
    (re.compile(r"\bin a fortnight\b|\ba fortnight (?:today|from (?:now|today))"), _after(14)),
    (re.compile(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b"), _after(0)),
    (re.compile(r"\btomorrow\b"), _after(1)),
    (re.compile(rf"\b(?:(?P<which>next|this) )?{_DAY_NAMES}(?P<week> week\b)?(?P<after> after next\b)?"), _named_en),
    (re.compile(rf"\b{_MONTH_NAMES} the {_NTH}\b"), _dated),
    (re.compile(rf"\b{_MONTH_NAMES} (?:the )?(?P<n>\d{{1,2}})(?:st|nd|rd|th)?\b"), _dated),
    (re.compile(rf"\b(?P<n>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH_NAMES}\b"), _dated),
    (re.compile(rf"\b{_NTH} (?:of )?{_MONTH_NAMES}\b"), _dated),
    (re.compile(r"\bnew year's eve\b|大晦日|大みそか"), _on_the_date(12, 31)),
    (re.compile(r"\bnew year's day\b|元日|元旦"), _on_the_date(1, 1)),
    (re.compile(r"\bchristmas eve\b|クリスマス・?イブ"), _on_the_date(12, 24)),
    (re.compile(r"\bchristmas day\b"), _on_the_date(12, 25)),
    (
        re.compile(
            rf"\b(?:on|by|until|till|before) the {_NTH}(?P<which> of (?:this|next) month)?(?=[.,;:!?]| at | in the |$)"
        ),
        _day_of_month,
    ),
    (re.compile(r"明明後日|しあさって"), _after(3)),
    (re.compile(r"明後日|あさって"), _after(2)),
    (re.compile(rf"{_J}日後"), _in_days(1)),
    (re.compile(rf"{_J}週間後"), _in_days(_WEEK)),
    (re.compile(rf"(?P<m>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月{_J}日"), _dated),
    (re.compile(rf"(?:(?P<which>今週|再来週|さ来週|来週|今度|次)の?)?(?P<day>[{_WEEKDAYS_JA}])曜"), _named_ja),
    (
        re.compile(rf"(?:(?P<which>今月|来月)の?)?(?<![0-9月〇一二三四五六七八九十]){_J}日{_ON_A_DAY_JA}"),
        _day_of_month,
    ),
    (re.compile(r"今日|きょう|本日|今夜|今晩|今夕|今朝"), _after(0)),
    (re.compile(r"明日|明晩|明朝|あした|みょうにち|(?<![まがんぶ])あす(?=[のにはも、。午朝昼夕晩夜\d])"), _after(1)),
)
"""Longer expressions first."""


# Hours.

_HOUR_EN = re.compile(
    r"(?P<half>half (?:past )?|quarter past |quarter to |ten past |twenty past |ten to |twenty to )?"
    r"\b(?P<hour>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"(?:[:.](?P<minute>[0-5]\d))?(?P<thirty> thirty| fifteen| forty-five)?"
    r"(?P<clock> ?o'clock)?(?: sharp)?"
    r"(?:,? ?(?P<part>a\.?m\b|p\.?m\b|(?:in the |this |that |tomorrow )?(?:early )?(?:morning|afternoon|evening)"
    r"|at night|tonight))?"
    r"(?! ?(?:days?|weeks?|months?|years?|hours?|minutes?|times|of|or|more|others?|people|hundred|thousand|\d"
    r"|(?:st|nd|rd|th)\b))"
)
_LEADS_EN = re.compile(
    r"(?:\b(?:at|by|around|about|after|before|say|past|till?|until|from|for)|,|day|morrow|tonight|morning|afternoon"
    r"|evening)[,.]? ?$"
)
_DAY_AFTER = re.compile(r" (?:tomorrow|today|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)")
_PAST_HOUR = {
    "half": 30,
    "half past": 30,
    "quarter past": 15,
    "quarter to": -15,
    "ten past": 10,
    "twenty past": 20,
    "ten to": -10,
    "twenty to": -20,
}
_MORE = {"thirty": 30, "fifteen": 15, "forty-five": 45}
_MIDNIGHT = frozenset({0, MINUTES_PER_DAY})
_NAMED = (
    (re.compile(r"\b(?:noon|midday)\b|正午"), frozenset({NOON})),
    (re.compile(r"\bmidnight\b|零時|真夜中"), _MIDNIGHT),
)
_HOUR_JA = re.compile(
    r"(?P<part>午前|午後|朝方?|早朝|明け方|昼過?ぎ?|夕方?|今夜|今晩|晩|夜中?|深夜|明朝|明晩)?[の、]?"
    r"(?P<hour>[01]?\d|2[0-4]|二?十[一二三四五六七八九]?|[〇零一二三四五六七八九])時(?!間)(?:(?P<half>半)|(?P<minute>[0-5]?\d|[一二三四五]?十?[一二三四五六七八九]?)分)?"
)
_DIGITAL = re.compile(r"(?<![\d:])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?![\d:])(?! ?[ap]\.?m)")


def _hours(text: str) -> Iterator[_Hour]:
    for found in _DIGITAL.finditer(text):
        yield _Hour(
            start=found.start(),
            end=found.end(),
            minutes=_clock(
                int(found["hour"]),
                int(found["minute"]),
                "" if int(found["hour"]) > 9 or found["hour"][0] == "0" else "?",
            ),
        )
    for found in _HOUR_EN.finditer(text):
        spoken = (
            found["clock"]
            or found["part"]
            or found["half"]
            or _LEADS_EN.search(text[: found.start()])
            or _DAY_AFTER.match(text, found.end())
        )
        if spoken and not _DIGITAL.match(text, found.start()) and _number(found["hour"]) <= 12:
            yield _Hour(start=found.start(), end=found.end(), minutes=_spoken_en(found, text))
    for found in _HOUR_JA.finditer(text):
        yield _Hour(start=found.start(), end=found.end(), minutes=_spoken_ja(found))
    for pattern, minutes in _NAMED:
        for found in pattern.finditer(text):
            yield _Hour(start=found.start(), end=found.end(), minutes=minutes)


def _spoken_en(found: re.Match[str], text: str) -> frozenset[int]:
    more = _PAST_HOUR.get((found["half"] or "").strip(), 0) + _MORE.get((found["thirty"] or "").strip(), 0)
    minute = int(found["minute"] or 0) + more
    part = found["part"] or _near_part(text, found)
    return _clock(_number(found["hour"]), minute, _half_of_day(part))


def _near_part(text: str, found: re.Match[str]) -> str:
    """ "Sunday at ten. In the morning.", "tomorrow morning at eight"."""
    after = re.match(
        r"[.,]? ?(in the (?:morning|afternoon|evening)|sharp, tonight|tonight|at night)", text[found.end() :]
    )
    before = re.search(
        r"(morning|afternoon|evening|tonight|night)[,.]? (?:at|around|about|by) ?(?:half past |quarter (?:to|past) )?$",
        text[: found.start()],
    )
    return after[1] if after else before[1] if before else ""


def _spoken_ja(found: re.Match[str]) -> frozenset[int]:
    hour = 0 if found["hour"] in ("零", "〇") else _number(found["hour"])
    if hour == 12 and re.match("今夜|今晩|夜|晩|深夜", found["part"] or ""):
        return _MIDNIGHT
    minute = 30 if found["half"] else _number(found["minute"]) if found["minute"] else 0
    return _clock(hour, minute, _half_of_day(found["part"] or ""))


def _half_of_day(part: str) -> str:
    if re.match(r"a\.?m|.*morning|午前|朝|早朝|明け方|明朝|深夜|夜中", part):
        return "am"
    return "pm" if part else "?"


def _clock(hour: int, minute: int, half: str) -> frozenset[int]:
    """The minutes of the day that it may be. Without a word for the half of the day an hour from one to six is in the
    afternoon, one from seven to eleven in either.
    """
    total = hour * 60 + minute
    if hour > 12 or half == "" or hour == 0:
        return frozenset({total % MINUTES_PER_DAY})
    early, late = (hour % 12) * 60 + minute, (hour % 12) * 60 + minute + NOON
    if half == "am":
        return frozenset({early})
    if half == "pm" or hour <= 6 or hour == 12:
        return frozenset({late})
    return frozenset({early, late})
