"""What content files have in common: mappings with known keys only, texts in each language, ids, numbers and times."""

import re
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from service.locales import Language, languages
from world.errors import BadWorldTime
from world.ids import is_slug
from world.places import Hours
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime, parse_time

FORMS = (
    *("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    *("<think>", "</think>", "{{user}}", "{{char}}"),
)
"""What the templates of models and of chat programs leave behind, besides ``<|...|>``."""
MARKS = rf"<[|｜][^|｜<>]{{1,40}}[|｜]>|{'|'.join(map(re.escape, FORMS))}"
MARKUP = re.compile(rf"</?\s*context\s*>|{MARKS}", re.IGNORECASE)
"""What frames prompts, here or in those templates."""

T = TypeVar("T")

LARGEST_NUMBER = 1_000_000_000
_LONGEST_WAY_MINUTES = 365 * MINUTES_PER_DAY
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2})")


def refusal(kind: str) -> PydanticCustomError:
    """The error of a value; what was expected is said by the sentence of that kind."""
    return PydanticCustomError(kind, kind)


def same_flag(one: object, other: object) -> bool:
    """Whether the two values of a flag are the same: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _slug(value: object) -> object:
    if isinstance(value, str) and is_slug(value):
        return value
    raise refusal("slug")


def _minutes(text: str, *, latest: int) -> int | None:
    """``"07:30"`` as minutes of the day; None if it is no time up to `latest`."""
    match = _CLOCK.fullmatch(text)
    if match is None or int(match[2]) >= MINUTES_PER_HOUR:
        return None
    minutes = int(match[1]) * MINUTES_PER_HOUR + int(match[2])
    return minutes if minutes <= latest else None


def _clock(value: object) -> int:
    minutes = _minutes(value, latest=MINUTES_PER_DAY - 1) if isinstance(value, str) else None
    if minutes is None:
        raise refusal("unquoted_clock" if type(value) is int else "clock")
    return minutes


def _hours(value: object) -> Hours:
    if isinstance(value, str) and value.count("-") == 1:
        opens, closes = value.split("-")
        begin, end = _minutes(opens, latest=MINUTES_PER_DAY - 1), _minutes(closes, latest=MINUTES_PER_DAY)
        if begin is not None and end is not None and begin != end:
            return Hours(opens=begin, closes=end)
    raise refusal("hours")


def _moment(value: object) -> WorldTime:
    try:
        if isinstance(value, str):
            return parse_time(value)
    except BadWorldTime:
        pass  # the same sentence as for anything that is no text
    raise refusal("world_time")


def _flag(value: object) -> object:
    if isinstance(value, bool | int | float | str):
        return value
    raise refusal("flag")


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise refusal("string_type")
    if not value.strip():
        raise refusal("empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refusal("string_unicode") from None
    return value.strip()


Slug = Annotated[str, BeforeValidator(_slug)]
"""An id that is declared here."""
Words = Annotated[str, BeforeValidator(_words)]
Minutes = Annotated[int, Field(ge=1, le=_LONGEST_WAY_MINUTES)]
Number = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, allow_inf_nan=False)]
Clock = Annotated[int, PlainValidator(_clock), WithJsonSchema({"type": "string", "examples": ["07:30"]})]
Moment = Annotated[
    WorldTime, PlainValidator(_moment), WithJsonSchema({"type": "string", "examples": ["2026-04-01T07:00"]})
]
OpenHours = Annotated[Hours, PlainValidator(_hours), WithJsonSchema({"type": "string", "examples": ["06:00-12:00"]})]
Flag = bool | int | float | str
"""What a game says of its world under a name."""
FlagEntry = Annotated[
    Flag, PlainValidator(_flag), WithJsonSchema({"anyOf": [{"type": one} for one in ("boolean", "number", "string")]})
]
ListOf = Annotated[tuple[T, ...], Strict(False)]
NonEmpty = Annotated[tuple[T, ...], Strict(False), Field(min_length=1)]
"""At least one."""


class ContentModel(BaseModel):
    """A mapping in a content file: camelCase keys, none unknown, and no value taken for what it is not."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", alias_generator=to_camel)

    def in_language(self, language: Language) -> dict[str, Any]:
        """Its values under their Python names, every text in that language."""
        return {name: _in_language(value, language) for name, value in self}


class Text(ContentModel):
    """What people read: one string for all languages, or a mapping from some of them (`en`, `ja`). Empty: not
    written.
    """

    __annotations__ = dict.fromkeys(languages(), Annotated[Words, Field(default="")])

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        if isinstance(value, str):
            words = _words(value)
            return dict.fromkeys(languages(), words)
        if not isinstance(value, dict) or not value:
            raise refusal("text")
        return value

    def of(self, language: Language) -> str:
        """The text in that language, else in the first that there is."""
        return next(filter(None, (getattr(self, one) for one in (language, *languages()))), "")


def _in_language(value: object, language: Language) -> object:
    if isinstance(value, Text):
        return value.of(language)
    if isinstance(value, ContentModel):
        return value.in_language(language)
    return tuple(_in_language(item, language) for item in value) if isinstance(value, tuple) else value


UNWRITTEN = Text.model_construct()
"""The text of a key that was left out."""
