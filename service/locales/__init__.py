"""Owns every sentence that a person reads, by its key: one file for each language; and how world time reads.

A sentence is filled by `str.format`. Where a language has forms for numbers it says ``one``, ``two`` and ``other``, and
the fact `count` chooses; a place that needs several sentences has a list. To add a language, put its file beside the
others.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import yaml

from world.time import MINUTES_PER_HOUR, WorldTime, day_of, to_datetime

_HERE = Path(__file__).parent
_FORMS = {"1": "one", "2": "two"}


@cache
def languages() -> tuple[str, ...]:
    """The languages that have a file, in the order of their codes."""
    return tuple(sorted(file.stem for file in _HERE.glob("*.yaml")))


if TYPE_CHECKING:
    Language = str
else:
    Language = Literal[languages()]  # pydantic refuses any other
"""The code of a language that has a file."""


class Phrase:
    """A sentence with its facts, said later in whatever language. `str()` says it in English, for the log."""

    def __init__(self, key: str, /, **facts: object) -> None:
        self.key, self.facts = key, facts

    def of(self, language: Language) -> str:
        """The sentence in that language."""
        return sentence(language, self.key, **self.facts)

    def __str__(self) -> str:
        return self.of("en")


class Listed(Phrase):
    """Words in a row: "a, b". `last` is the key of what stands before the last of them, where that is no comma."""

    def __init__(self, words: Iterable[str], *, last: str = "common.comma") -> None:
        self.words, self.last = tuple(words), last

    def of(self, language: Language) -> str:
        """The words in that language."""
        before, last = sentence(language, "common.comma").join(self.words[:-1]), self.words[-1:]
        return sentence(language, self.last).join(filter(None, (before, *last)))


def sentence(language: Language, key: str, /, **facts: object) -> str:
    """The sentence with its facts; a fact that is a `Phrase` is said in the same language.

    Raises:
        KeyError: there is no such sentence, or it needs a fact that is not given.
    """
    found = _read(language)[key]
    if isinstance(found, Mapping):
        found = found.get(_FORMS.get(str(facts["count"])), found["other"])
    said = {name: fact.of(language) if isinstance(fact, Phrase) else fact for name, fact in facts.items()}
    filled: str = found.format_map(said)
    return filled


def sentences(language: Language, key: str) -> tuple[str, ...]:
    """The sentences of a list, as the file has them: whoever chooses one fills it.

    Raises:
        KeyError: there is no such list.
    """
    found: tuple[str, ...] = _read(language)[key]
    return found


@cache
def room(language: Language, name: str) -> Mapping[str, Any]:
    """All sentences whose key begins with that name, by the rest of their key, as the file has them."""
    found = {key.removeprefix(f"{name}."): text for key, text in _read(language).items() if key.startswith(f"{name}.")}
    return MappingProxyType(found)


def language_named(tag: str | None) -> Language | None:
    """The language that a tag such as ``ja-JP`` or ``ja_JP.UTF-8`` names; None: there is no file for it."""
    code = re.split(r"[^a-z]", (tag or "").strip().lower(), maxsplit=1)[0]
    return code if code in languages() else None


def language_accepted(header: str | None) -> Language | None:
    """The most wanted language of an Accept-Language header (RFC 9110) that has a file; None: none has one."""
    tags = sorted((header or "").split(","), key=_weight, reverse=True)
    return next((found for tag in tags if _weight(tag) and (found := language_named(tag))), None)


def _weight(tag: str) -> float:
    given = re.search(r";\s*q=([01](?:\.\d{0,3})?)\s*$", tag)
    return float(given[1]) if given else 1.0


@cache
def _read(language: Language) -> Mapping[str, Any]:
    """The file's sentences by their keys: the names from the top down, parted by dots."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times as fast
    text = (_HERE / f"{language}.yaml").read_text(encoding="utf-8")
    return MappingProxyType(dict(_flat("", yaml.load(text, loader))))  # noqa: S506 - both are safe loaders


def _flat(above: str, found: Any) -> Any:
    if isinstance(found, list):
        yield above, tuple(found)
    elif isinstance(found, dict) and not found.keys() <= {*_FORMS.values(), "other"}:
        for name, inner in found.items():
            yield from _flat(f"{above}.{name}" if above else str(name), inner)
    else:
        yield above, found


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
    """When `then` was, as a person would say it: by the minute, the hour, the part of yesterday, world days ("2日前"),
    then by the date and the season ("last autumn, 12 Oct").

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
    moment = to_datetime(then)
    if days == 1:
        part = next(name for name, until in _PARTS if moment.hour < until)
        is_same_date = moment.date() == to_datetime(now).date()
        return sentence(language, f"time.yesterday.{'night' if is_same_date else part}")
    if days < 14:
        return sentence(language, "time.days", count=days)
    date = sentence(
        language, "time.day_of_month", day=moment.day, month=sentences(language, "time.month_names")[moment.month - 1]
    )
    if days < 60:
        return sentence(language, "time.weeks", count=days // 7, date=date)
    years = to_datetime(now).year - moment.year
    season = sentences(language, "time.seasons")[moment.month % 12 // 3]
    key = f"time.season_{'this' if years == 0 else 'last' if years == 1 else 'of'}_year"
    return sentence(language, key, season=season, year=moment.year, date=date)


_PARTS = (("early", 5), ("morning", 12), ("afternoon", 17), ("evening", 22), ("night", 24))
"""The parts of a day by the hour before which each ends; the small hours of the date it is now are last night."""
