"""Owns the id of a request: the client's own where it can stand in a log, else a new one; every answer bears it."""

import re
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.logs import REQUEST_ID

HEADER = "X-Request-Id"
_BEGINNINGS = ("http.response.start", "websocket.accept", "websocket.http.response.start")
_SANE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class RequestId:
    """ASGI middleware, outside all others. The id stays set for the task, whose answer may be made further out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if _SANE.fullmatch(given) else uuid4().hex
        REQUEST_ID.set(request_id)

        async def sending(message: Message) -> None:
            if message["type"] in _BEGINNINGS:
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        await self._app(scope, receive, sending)
