"""Owns how a route is built: with its first request."""

import warnings
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.routing import Route

# FastAPI itself lets it be, for a body's model that is built with its route; those of the command are built later.
warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


class LazyRoute(APIRoute):
    """A route whose operation FastAPI looks into when it is first asked for, or when openapi.json is: most runs need
    few of them.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        shown = {name: given[name] for name in ("methods", "name", "include_in_schema")}
        Route.__init__(self, path, endpoint, **shown)
        self.methods = set(given["methods"])  # without the HEAD that Starlette adds
        self.app = self._answer
        self._given = given

    @cached_property
    def _whole(self) -> APIRoute:
        return APIRoute(self.path, self.endpoint, **self._given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    async def _answer(self, *asgi: Any) -> None:
        await self._whole.app(*asgi)


Router = partial(APIRouter, route_class=LazyRoute)
