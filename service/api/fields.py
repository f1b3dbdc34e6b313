"""Owns the kinds of fields that travel over HTTP, and what every body a client sends has in common."""

import re
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from service.content.fields import MARKUP, Flag
from service.store.shown import Out as Out
from service.store.shown import WorldTimeText as WorldTimeText
from world.ids import SLUG, SLUG_MAX

T = TypeVar("T")

Slug = Annotated[str, Field(pattern=SLUG, max_length=SLUG_MAX)]
NOT_BLANK = r"^[^\u0000]*[^\u0000\s][^\u0000]*$"
Text = Annotated[str, Field(min_length=1, max_length=200, pattern=NOT_BLANK)]


Now = Annotated[WorldTimeText, Field(description="the world time at which the world's clock stands")]


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole), Field(strict=True)]
"""A JSON integer: ``5``, and ``5.0`` as engines write it whose numbers are all floats; not ``"5"``, not ``true``."""

OneToTen = Annotated[int, Field(strict=True, ge=1, le=10), BeforeValidator(_whole)]
"""The same, from 1 to 10."""


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _plain(value: object) -> object:
    if isinstance(value, str):
        if control := _CONTROL.search(value):
            raise PydanticCustomError("control_character", "control character", {"code": f"U+{ord(control[0]):04X}"})
        if markup := MARKUP.search(value):
            raise PydanticCustomError("prompt_markup", "markup of prompts", {"markup": markup[0]})
        return " ".join(value.split())
    return value


PLAIN = BeforeValidator(_plain)
"""Of a text that a game tells, for prompts: one line, without control characters and without the markup of prompts."""

_FLAG_CHARACTERS, _LARGEST_FLAG = 100, 1e15


def _flag(value: object) -> object:
    value = _whole(_plain(value))
    is_number = isinstance(value, int | float) and abs(value) <= _LARGEST_FLAG
    if isinstance(value, bool) or is_number or (isinstance(value, str) and len(value) <= _FLAG_CHARACTERS):
        return value
    raise PydanticCustomError("flag", "true, false, a number or a short text", {"most": _FLAG_CHARACTERS})


FlagIn = Annotated[
    Flag,
    PlainValidator(_flag),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "boolean"},
                {"type": "number", "minimum": -_LARGEST_FLAG, "maximum": _LARGEST_FLAG},
                {"type": "string", "maxLength": _FLAG_CHARACTERS},
            ]
        }
    ),
]
"""True, false, a number, or a short text; ``5.0`` is 5."""


class In(BaseModel, extra="forbid"):
    """What a client sends: unknown fields are errors, so that a typo is not silently dropped."""


class Change(In):
    """What a client changes: what is left out stays as it is, and something is given."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"minProperties": 1})

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            known = ", ".join(type(self).model_fields)
            raise PydanticCustomError("no_change", "give at least one of {known}", {"known": known})
        return self


def _given(value: object) -> object:
    if value is None:
        raise PydanticCustomError("null_given", "leave it out, or give a value")
    return value


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


if TYPE_CHECKING:
    MayBeLeftOut = Annotated[T | None, None]
else:  # no union with null, of which pydantic would tell two errors wherever there is one
    MayBeLeftOut = Annotated[T, BeforeValidator(_given), Field(json_schema_extra=_without_default)]
"""A field of a change: what is left out stays as it is. It is not null."""
