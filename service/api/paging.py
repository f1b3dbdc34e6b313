"""Owns how every list is paged: at most `limit` of it, what comes after the cursor `after`, and `next`, the cursor of
the page that follows.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import Query, Request, Response

from service.errors import Invalid
from service.locales import Phrase

T = TypeVar("T")

After = Annotated[str | None, Query(max_length=200, description="`next` of the page before; left out: the first page")]
AtMost = Annotated[int | None, Query(ge=1, le=1000, description="At most so many; left out: all of them")]

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
