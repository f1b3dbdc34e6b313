"""Owns what every endpoint is handed: what it is answered with, the world of the request, the idempotency key; fields
that travel over HTTP; and how every list is paged.

A page has at most `limit` of a list, what comes after the cursor `after`, and `next`, the cursor of the page after it.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, Unpack
from urllib.parse import urlencode

from fastapi import Depends, Header, Query, Request, Response, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError
from starlette.requests import HTTPConnection

from service.content.fields import MARKUP, Flag
from service.core import Core
from service.errors import Invalid, refuse
from service.locales import Phrase
from service.people.worlds import WorldView
from service.store.events import Asked
from service.store.idempotency import Once, require_new
from service.store.shown import Out as Out
from service.store.shown import WorldTimeText as WorldTimeText
from service.store.tables import MAIN_WORLD, ConversationKey
from world.ids import SLUG, SLUG_MAX

T = TypeVar("T")

Slug = Annotated[str, Field(pattern=SLUG, max_length=SLUG_MAX)]
NOT_BLANK = r"^[^\u0000]*[^\u0000\s][^\u0000]*$"
Text = Annotated[str, Field(min_length=1, max_length=200, pattern=NOT_BLANK)]


Now = Annotated[WorldTimeText, Field(description="the world time at which the world's clock stands")]


def whole(value: Any) -> Any:
    """A whole number as one, to its last digit."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(whole), Field(strict=True)]
"""A JSON integer: ``5``, and ``5.0`` as engines write it whose numbers are all floats; not ``"5"``, not ``true``."""

OneToTen = Annotated[int, Field(strict=True, ge=1, le=10), BeforeValidator(whole)]
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
    value = whole(_plain(value))
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
    """What a client sends: unknown fields are errors, so that a typo is not silently dropped. `examples` are bodies by
    name, which openapi.json shows.
    """

    examples: ClassVar[dict[str, dict[str, Any]]] = {}
    """By the name of the class."""

    def __init_subclass__(cls, examples: dict[str, Any] | None = None, **config: Unpack[ConfigDict]) -> None:
        super().__init_subclass__(**config)
        In.examples[cls.__name__] = examples or {}


class ChangeIn(In):
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


After = Annotated[str | None, Query(max_length=200, description="`next` of the page before; left out: the first page")]
AcceptLanguage = Annotated[str | None, Header(max_length=200, description="ja or en; else the world's")]
AtMost = Annotated[int | None, Query(ge=1, le=1000, description="At most so many; left out: all of them")]

MEDIA_TYPE = "application/problem+json"
REF = "#/components/schemas/{model}"


def describe(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries for these problems. What any endpoint of its kind can answer is told without it (problem.py)."""
    content = {MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Problem")}}}
    titles = {
        400: "The body cannot be read",
        401: "The service has a key, and it is not shown",
        403: "The key is for less, for another world or for another player",
        404: "Not there",
        409: "The world is not in a state for this",
        412: "The file was changed since it was read",
        413: "The body is too long",
        422: "The request is wrong",
        429: "Too many wrong keys came from there",
        502: "The language model failed",
        503: "Something this needs is away or not configured",
    }
    return {status: {"description": titles[status], "content": content} for status in statuses}


LINKED: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {
            "Link": {
                "description": 'The next page, `<address>; rel="next"`, its cursor as `after`; absent on the last',
                "schema": {"type": "string"},
            }
        }
    }
}
"""For OpenAPI: a list without an envelope tells its next page in a header."""


def cut(
    items: Sequence[T], key_of: Callable[[T], str], after: str | None, limit: int | None
) -> tuple[Sequence[T], str | None]:
    """What follows the item whose key is `after` (None: from the first), at most `limit` (None: all), and `next`.

    Raises:
        Invalid: none of the items has that key.
    """
    start = 0
    if after is not None:
        start = next((place for place, item in enumerate(items, start=1) if key_of(item) == after), 0)
        if start == 0:
            raise no_such_page(after)
    found = items[start:] if limit is None else items[start : start + limit]
    return found, key_of(found[-1]) if start + len(found) < len(items) else None


def no_such_page(cursor: str, name: str = "after") -> Invalid:
    """The error for a cursor that belongs to no page of the list."""
    return Invalid(field=f"query.{name}", reason=Phrase("answers.invalid_fields.no_such_page", id=cursor))


def link_next(request: Request, response: Response, cursor: str | None) -> None:
    """Tell the next page of a list without an envelope; None: there is none."""
    if cursor is not None:
        query = urlencode(dict(request.query_params) | {"after": cursor})
        response.headers["Link"] = f'<{request.url.path}?{query}>; rel="next"'


def _deps(request: HTTPConnection) -> Core:
    deps: Core = request.app.state.deps
    return deps


_ANYWHERE = {"world_id", "_", "lastEventId"}
"""What every operation lets pass: libraries add a number against caches, and what an EventSource last heard."""


def _known_query(request: HTTPConnection) -> None:
    """What is misspelt would be answered as if it had not been asked for.

    Raises:
        RequestValidationError: it has a parameter that the operation does not take.
    """
    fields = get_flat_params(request.scope["route"].dependant)
    known = {field.alias for field in fields if isinstance(field.field_info, params.Query)}
    if unknown := request.query_params.keys() - known - _ANYWHERE:
        found = [{"type": "unknown_parameter", "loc": ("query", name)} for name in sorted(unknown)]
        raise RequestValidationError(found)


def _world_id(
    x_world_id: Annotated[
        str | None,
        Header(
            pattern=SLUG,
            max_length=SLUG_MAX,
            description="The world, `main` if none is named; each is wholly apart from the others",
        ),
    ] = None,
    world_id: Annotated[
        str | None,
        Query(
            pattern=SLUG,
            max_length=SLUG_MAX,
            description="The same as `X-World-Id`, for who cannot send headers, as a browser's EventSource",
        ),
    ] = None,
) -> str:
    """Raises: Invalid: the header names one world, the query another."""
    reason = Phrase("answers.invalid_fields.two_worlds", header=x_world_id, query=world_id)
    refuse((None not in (x_world_id, world_id) and x_world_id != world_id, "query.world_id", reason))
    return x_world_id or world_id or MAIN_WORLD


async def _asked(
    request: Request,
    world_id: Annotated[str, Depends(_world_id)],
    key: Annotated[
        str | None,
        Header(
            alias="idempotency-key",
            min_length=1,
            max_length=255,
            pattern=r"^[\x21-\x7e]+$",
            description="The same request with the same key within a day changes nothing more and gets the first one's "
            "answer; a conversation, a scene or a world is answered as it is then",
        ),
    ] = None,
) -> Asked:
    """Raises: Replayed: it was answered before; KeyReused: its key belongs to another request."""
    body = (await request.body()).decode(errors="replace")
    asked = Asked(method=request.method, path=request.url.path, query=request.url.query, body=body, key=key or "")
    if known := Once.of(world_id, asked):
        await _deps(request).conversation.database.read(lambda s: require_new(s, known))
    return asked


async def _world(request: Request, world_id: Annotated[str, Depends(_world_id)]) -> WorldView:
    return await _deps(request).read(world_id, lambda _, world: world)


def _conversation_key(conversation_id: Slug, world_id: Annotated[str, Depends(_world_id)]) -> ConversationKey:
    return ConversationKey(world_id, conversation_id)


KNOWN_QUERY = Depends(_known_query)
"""Of a router whose operations refuse parameters that they do not take; all know `world_id`."""
Serving = Annotated[Core, Depends(_deps)]
"""What every endpoint is served with."""
WorldId = Annotated[str, Depends(_world_id)]
World = Annotated[WorldView, Depends(_world)]
"""The world of the request as it stands."""
Conversation = Annotated[ConversationKey, Depends(_conversation_key)]
"""Which conversation the path names."""
AsAsked = Annotated[Asked, Depends(_asked)]
"""The request as the log of its world keeps it; every operation that changes something takes it, and its key with it.
"""


async def _once(asked: AsAsked, world_id: WorldId) -> Once | None:
    return Once.of(world_id, asked, is_read_anew=True)


OnceReadAnew = Annotated[Once | None, Depends(_once)]
"""The request by its key, done once; what it is answered is read anew each time."""
