"""Owns the lines of an export. One JSON object a line: the first is the `Header`, every other one a `RowLine`, table by
table in the order in which `store/tables.py` declares them, within a table by primary key.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer

from service.content.fields import Key, Slug, refusal
from service.export.problem import Unreadable, no_id
from service.locales import Language, Phrase
from world.errors import BadWorldTime
from world.ids import is_slug
from world.time import WorldTime, iso, parse_time

FORMAT = 4
"""The version of the format; a reader refuses any other."""


def _minute(value: object) -> object:
    try:
        if isinstance(value, str) and iso(parse_time(value)) == value:
            return parse_time(value)
    except BadWorldTime:
        pass
    raise refusal("world_time")


Minute = Annotated[int, BeforeValidator(_minute), PlainSerializer(lambda t: iso(WorldTime(t)))]
"""A world time, as text: ``2026-04-01T07:30``."""


class _Line(BaseModel, extra="forbid", strict=True, frozen=True):
    """A line of the file."""


class Header(_Line, serialize_by_alias=True):
    """The story is all that happened `since` .. `until` in a world of that name; keys ``from`` and ``to``."""

    type: Literal["kataribe"] = "kataribe"
    version: int = FORMAT
    world_id: Slug
    name: str
    language: Language
    since: Minute = Field(alias="from")
    until: Minute = Field(alias="to")


class RowLine(_Line):
    """A row of that table, with its columns as they are; times are minutes."""

    table: str
    row: dict[str, Any]


def written(line: BaseModel) -> bytes:
    """The line as it stands in the file, its end included."""
    record = line.model_dump()
    try:
        return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except UnicodeEncodeError:  # half of a letter, as a model may write it: only its escape can be written
        return (json.dumps(record, allow_nan=False) + "\n").encode()


def parsed(line: bytes) -> dict[str, Any]:
    """The object in a line.

    Raises:
        Unreadable: there is none.
    """
    try:
        record = json.loads(line, parse_constant=_not_json, parse_float=_finite)
    except (ValueError, RecursionError) as exc:
        raise Unreadable(Phrase("export.no_json", reason=str(exc) or type(exc).__name__)) from exc
    if not isinstance(record, dict):
        raise Unreadable(Phrase("export.no_object"))
    return record


def require_ids(data: object, key: Key) -> None:
    """Of an event's data, which stands at that key, what is named ``…_id`` is an id.

    Raises:
        Unreadable: it is none.
    """
    for name, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        place = (*key, name)
        if isinstance(name, str) and name.endswith("_id") and isinstance(value, str) and not is_slug(value):
            raise no_id(place, value)
        require_ids(value, place)


def _not_json(name: str) -> float:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(digits)
    return number
