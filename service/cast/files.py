"""Owns the form of the content files as an author writes them: maps.json, npcs/*.yaml, characters/*.yaml."""

import re
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from service.cast.profile import Decides, Importance, Mood
from world.errors import BadWorldTime
from world.places import Hours
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, Language, WorldTime, parse_time

SLUG_MAX = 64
_SLUG = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2})")
LARGEST_NUMBER = 1_000_000_000
_LONGEST_WAY_MINUTES = 365 * MINUTES_PER_DAY

EXPECTED = "expected"
"""The pydantic error type of our own checks; its context carries the expectation as `en` and `ja`."""


def expected(en: str, ja: str) -> PydanticCustomError:
    """The error of a value that is not what the two sentences' middles name."""
    return PydanticCustomError(EXPECTED, "expected {en}", {"en": en, "ja": ja})


def _slug(value: object) -> str:
    if isinstance(value, str) and len(value) <= SLUG_MAX and _SLUG.fullmatch(value):
        return value
    raise expected(
        f"an id: letters a-z, A-Z and digits, with single - or _ between them, at most {SLUG_MAX} characters, in quotes "
        "if it is all digits",
        f"id(英字と数字、間に - か _ を1つずつ、{SLUG_MAX} 文字以内。数字だけなら引用符で囲む)",
    )


def clock_minutes(text: str, *, latest: int = MINUTES_PER_DAY - 1) -> int | None:
    """``"07:30"`` as minutes of the day; None if it is no time up to `latest`."""
    match = _CLOCK.fullmatch(text)
    if match is None or int(match[2]) >= MINUTES_PER_HOUR:
        return None
    minutes = int(match[1]) * MINUTES_PER_HOUR + int(match[2])
    return minutes if minutes <= latest else None


def _clock(value: object) -> int:
    minutes = clock_minutes(value) if isinstance(value, str) else None
    if minutes is not None:
        return minutes
    if isinstance(value, int) and not isinstance(value, bool):
        raise expected(
            'a time in quotes such as "07:30": put it in quotes, for YAML reads 7:30 without them as the number 450',
            '引用符で囲んだ "07:30" のような時刻(引用符のない 7:30 をYAMLは数 450 と読みます)',
        )
    raise expected(
        'a time in quotes from "00:00" to "23:59", such as "07:30"',
        '"00:00" から "23:59" までの "07:30" のような、引用符で囲んだ時刻',
    )


def _hours(value: object) -> Hours:
    if isinstance(value, str) and value.count("-") == 1:
        opens, closes = value.split("-")
        begin, end = clock_minutes(opens), clock_minutes(closes, latest=MINUTES_PER_DAY)
        if begin is not None and end is not None and begin != end:
            return Hours(opens=begin, closes=end)
    raise expected(
        'opening hours such as "06:00-22:00", past midnight "18:00-02:00", or all day "00:00-24:00"',
        '"06:00-22:00" のような営業時間(夜を越すなら "18:00-02:00"、終日なら "00:00-24:00")',
    )


def _start(value: object) -> WorldTime:
    try:
        if isinstance(value, str):
            return parse_time(value)
    except BadWorldTime:
        pass  # the same sentence as for anything that is no text
    raise expected(
        'a world time without a time zone, such as "2026-04-01T07:00"',
        '"2026-04-01T07:00" のような、時間帯を付けない世界の日時',
    )


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise expected("a text in quotes", "引用符で囲んだ文章")
    if not value.strip():
        raise expected("a text that is not empty", "空でない文章")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise expected("whole characters, not half of a surrogate pair", "片方だけのサロゲートを含まない文章") from None
    return value.strip()


def number_up_to(value: object, *, least: float = -LARGEST_NUMBER) -> bool:
    """Whether it is a number, no truth value, from `least` to the largest that content may name."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= LARGEST_NUMBER


def _number(value: object) -> float:
    if isinstance(value, int | float) and number_up_to(value):
        return float(value)
    raise expected(
        f"a number from -{LARGEST_NUMBER} to {LARGEST_NUMBER}", f"-{LARGEST_NUMBER} から {LARGEST_NUMBER} までの数"
    )


def _not_empty(value: object) -> object:
    """Counted before the items are checked: a list whose only item is wrong is not empty."""
    if isinstance(value, list) and not value:
        raise expected("a list of at least 1", "1個以上のリスト")
    return value


Slug = Annotated[str, Strict(), BeforeValidator(_slug)]
Ref = Annotated[str, Strict()]
Words = Annotated[str, Strict(), BeforeValidator(_words)]
Minutes = Annotated[int, Strict(), Field(ge=1, le=_LONGEST_WAY_MINUTES)]
Coordinate = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Clock = Annotated[int, PlainValidator(_clock)]
Number = Annotated[float, PlainValidator(_number)]
OpenHours = Annotated[Hours, PlainValidator(_hours), PlainSerializer(lambda hours: hours.label)]
NotEmpty = BeforeValidator(_not_empty)


class Written(BaseModel):
    """A mapping in a content file: camelCase keys, none unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


class Text(Written):
    """What people read: one string for both languages, or a mapping with `en`, `ja` or both. Empty: not written."""

    en: Words = ""
    ja: Words = ""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        if isinstance(value, str):
            words = _words(value)
            return {"en": words, "ja": words}
        if not isinstance(value, dict) or not value:
            raise expected(
                'a text in quotes, or a mapping with "en" or "ja"', '引用符で囲んだ文章か "en" "ja" のマッピング'
            )
        return value

    def of(self, language: Language) -> str:
        """The text in that language, else in the other."""
        return (self.ja or self.en) if language == "ja" else (self.en or self.ja)


UNWRITTEN = Text.model_construct()
"""The text of a key that was left out."""


class NodeEntry(Written):
    """A place to stand on."""

    id: Slug
    x: Coordinate
    y: Coordinate
    name: Text = UNWRITTEN


class WayEntry(Written):
    """An edge within a map, or an exit to another map; walked both ways."""

    start: Ref = Field(alias="from")
    goal: Ref = Field(alias="to")
    minutes: Minutes


class FacilityEntry(Written):
    """`hours` left out: always open."""

    id: Slug
    name: Text
    nodes: Annotated[tuple[Ref, ...], NotEmpty]
    tags: tuple[Slug, ...] = ()
    hours: Annotated[tuple[OpenHours, ...], NotEmpty] = ()


class PostEntry(Written):
    """Where an NPC stands."""

    npc_id: Ref
    spawn_node_id: Ref


class MapEntry(Written):
    """One map."""

    id: Slug
    name: Text
    nodes: Annotated[tuple[NodeEntry, ...], NotEmpty]
    edges: tuple[WayEntry, ...]
    exits: tuple[WayEntry, ...] = ()
    facilities: tuple[FacilityEntry, ...] = ()
    npcs: tuple[PostEntry, ...] = ()


class MapsFile(Written):
    """maps.json."""

    name: Text
    language: Language = "en"
    start_time: Annotated[WorldTime, PlainValidator(_start)]
    maps: Annotated[tuple[MapEntry, ...], NotEmpty]


class PersonFile(Written):
    """What the files of NPCs and characters have in common."""

    id: Slug
    name: Text
    personality: Text
    tendencies: tuple[Text, ...] = ()
    custom_prompt: Text = UNWRITTEN
    facts: tuple[Text, ...] = ()
    lines: tuple[Text, ...] = ()


class NpcFile(PersonFile):
    """npcs/*.yaml."""

    mood: Mood = "neutral"


class GoalEntry(Written):
    """Something a character wants of life."""

    goal: Text
    importance: Importance


class RoutineEntry(Written):
    """What a character does from `starts` on; without a facility at home. `action`: which of actions.json that is."""

    starts: Clock
    activity: Text
    facility: Ref | None = None
    action: Ref | None = None


class CharacterFile(PersonFile):
    """characters/*.yaml."""

    goals: tuple[GoalEntry, ...] = ()
    routine: tuple[RoutineEntry, ...] = ()
    home: Ref
    knows: tuple[Ref, ...] = ()
    needs: dict[Ref, Number] = {}
    decision: Decides | None = None
