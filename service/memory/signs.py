"""Owns what shows in a text besides its words: that it asks, that it tells a time, which month and whom it names.

Japanese and English; texts are folded first (`lexical.normal`) where nothing else is said.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from service.memory.lexical import normal, says_little, tokens

_MONTHS = "january february march april may june july august september october november december".split()
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred".split()
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_TIMES = (
    "yesterday today tonight tomorrow morning evening night day week month year spring summer autumn fall winter "
    "christmas easter last next ago since"
).split()
_JA_TIMES = "昨日 今日 明日 昨夜 今夜 おととい あさって 先週 今週 来週 先月 今月 来月 去年 今年 来年 年末 曜 "
_JA_TIMES += "春 夏 秋 冬 朝 晩 夜"
_TIME = re.compile(
    rf"\d|[〇一二三四五六七八九十百千][年月日時分週回歳人つ円か]|{'|'.join(_JA_TIMES.split())}"
    rf"|\b(?:{'|'.join((*_MONTHS, *_NUMBERS, *_DAYS, *_TIMES))})s?\b"
)
_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:day|date|month|year|time)\b|\bhow (?:long|old)\b|いつ|何[年月日時曜歳]|どのくらい前"
)
_MONTH = re.compile(
    rf"\b({'|'.join(name for name in _MONTHS if name not in ('march', 'may'))})\b"
    r"|\b(?:in|of|by|since|until|during|early|late|mid|this|last|next|\d+(?:st|nd|rd|th)?) (march|may)\b"
    r"|\b(march|may) \d|(?<!\d)(1[0-2]|[1-9]) ?月"
)
_OF_ANYBODY = re.compile(
    r"\b(?:remember|recall|know|tell|hear|heard|think|met|meet)(?:s|ed|ing)?\b"
    r"|\b(?:any|every|some)(?:thing|body|one)\b|\b(?:all|before|else|ever|still|please|kind|person|memor(?:y|ies))\b|['’]s\b"
    r"|(?:覚え|おぼえ|思い出|知っ|知り|知る|教え|話し|話を|聞い|聞か|会っ|記憶)[ぁ-ん]*|下さい|の?(?:こと|事)"
    r"|さん|ちゃん|くん|[様君殿氏]|[何誰人]か?|だれ|なに|どんな|どう思[ぁ-ん]*"
)
_YEAR = re.compile(r"(?<!\d)(1\d\d\d|2\d\d\d)(?!\d)(?: ?年)?")


class Named(NamedTuple):
    """Months (1 to 12) and years that a text names."""

    months: tuple[int, ...]
    years: tuple[int, ...]


def asks(text: str) -> bool:
    """Whether it is a question."""
    return "?" in normal(text)


def tells_a_time(text: str) -> bool:
    """Whether it holds a number, or a word for a time."""
    return _TIME.search(normal(text)) is not None


def asks_when(query: str) -> bool:
    """Whether it asks for a time."""
    return _WHEN.search(normal(query)) is not None


def dates_named(query: str) -> Named:
    """The months and years it names. May and March count where they can be no other word."""
    folded = normal(query)
    found = ("".join(groups) for groups in _MONTH.findall(folded))
    months = [int(name) if name.isdecimal() else _MONTHS.index(name) + 1 for name in found]
    return Named(months=tuple(months), years=tuple(map(int, _YEAR.findall(folded))))


def asks_of(query: str, name: str) -> bool:
    """Whether it names that one and asks for nothing of it but what is remembered: "What do you know of Ken?"."""
    rest, named = names_in(query, [name])
    return bool(named) and all(map(says_little, tokens(_OF_ANYBODY.sub(" ", normal(rest)))))


def names_in(query: str, names: Iterable[str]) -> tuple[str, frozenset[str]]:
    """The query without the names that it holds, and which of them it holds.

    A name of several words is also known by one of them, written as it is in the name.
    """
    held = set()
    for name in sorted(names, key=len, reverse=True):
        for part, flags in ((name, re.IGNORECASE), *((part, re.NOFLAG) for part in name.split() if len(part) > 1)):
            if part.casefold() not in query.casefold():
                continue
            bound = r"\b" if part.isascii() else ""
            left = re.sub(rf"{bound}{re.escape(part)}{bound}(?:['’]s\b)?", " ", query, flags=flags)
            if left != query:
                held.add(name)
                query = left
    return query, frozenset(held)
