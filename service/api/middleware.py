"""Owns the middleware: what is refused before the app has a request (a foreign host or site, who has no key, a body
that is too long), the id of a request, and what a HEAD is answered.
"""

import asyncio
import re
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import problem
from service.api.access import Access, require
from service.api.key import ANYBODY, OPEN, Keys, to_login
from service.api.problem import REQUEST_ID_HEADER, media_type
from service.errors import (
    BodyEncoded,
    BodyTooLarge,
    CrossSite,
    HostNotAllowed,
    KataribeError,
    KeyMissing,
    RequestTooSlow,
    TooManyValues,
)
from service.logs import REQUEST_ID
from service.settings import Settings

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

PAST = re.compile(r"POST /people/[^/]+/memory/?")
"""The request by which a past is given."""

LONG = re.compile(rf"{PAST.pattern}|POST /content/import/?|PUT /content/[^/]+/[^/]+/?")
"""Those with a past, with files, or with a picture."""

LONG_BYTES = 16 * 1024 * 1024
"""How long their bodies may be, at least."""

JSON_LINES = frozenset({"application/x-ndjson", "application/jsonl", "application/jsonlines"})

MOST_VALUES = 10_000
"""Values of one body of JSON: of many more, each wrong one would be told, at thousands of bytes each."""

BYTES_A_VALUE = 100
"""Where a body may be longer than so many bytes a value of `MOST_VALUES`, it may have more values in proportion."""

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string of JSON. One that does not end is taken to the end of the body, so that nothing is looked at twice."""

SLOWEST_BYTES_A_SECOND = 100_000
"""A body has a second more for every so many bytes of it that have come."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

_BY_POST = frozenset({"PUT", "PATCH", "DELETE"})
"""What a POST may stand for, by its header X-HTTP-Method-Override: some game engines send no other method, and Luanti
before 5.9 sends everything as a PUT after its first PUT.
"""


class Guard:
    """ASGI middleware. Who is refused gets a problem, and its connection is closed: nothing more of it is read."""

    def __init__(self, app: ASGIApp, settings: Settings, keys: Keys) -> None:
        self._app = app
        self._keys = keys
        self._hosts = Hosts(settings.host, settings.allowed_hosts)
        self._origins = frozenset(settings.cors_origins)
        self._max_body_bytes = settings.max_body_bytes
        self._body_seconds = settings.request_timeout_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers, method = Headers(scope=scope), scope.get("method")  # a WebSocket has none
        if method == "POST" and (meant := headers.get("x-http-method-override")) in _BY_POST:
            method, scope = meant, {**scope, "method": meant}
        try:
            self._hosts.check(headers)
            if method not in _SAFE:  # and any page may open a WebSocket: no browser asks for another site's leave
                self._check_site(headers)
            is_open = scope["path"] in OPEN
            scope["key"] = ANYBODY if is_open else await self._keys.shown(HTTPConnection(scope))
            if method is not None:
                asked = f"{method} {scope['path']}"
                most = max(self._max_body_bytes, LONG_BYTES if LONG.fullmatch(asked) else 0)
                lined = PAST.fullmatch(asked) is not None and media_type(headers) in JSON_LINES
                receive = await self._whole_body(headers, most, receive, counted=not lined)
        except KataribeError as exc:
            await _refusal(scope, headers, exc)(scope, receive, send)
        except ClientDisconnect:
            pass  # it left in the middle of its body: there is nobody to answer
        else:
            await self._app(scope, receive, send)

    def _check_site(self, headers: Headers) -> None:
        """A browser says where a page comes from that writes; other clients say nothing, and are let in.

        Raises:
            CrossSite: it is another site's page, and not one that the settings name.
        """
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
                raise CrossSite(origin=headers["sec-fetch-site"])
        elif not self._origins & {origin, "*"}:
            site = urlsplit(origin).netloc
            if not site or site.lower() != headers.get("host", "").lower():
                raise CrossSite(origin=origin)

    async def _whole_body(self, headers: Headers, most: int, receive: Receive, *, counted: bool) -> Receive:
        """Wait for the body of at most `most` bytes and give it back as one message: some endpoints never read it. The
        values of one that is `counted` have a limit too.

        Raises:
            BodyEncoded: it is compressed.
            BodyTooLarge: as soon as it is, or is announced to be, longer than the limit.
            TooManyValues: it has more values than anybody needs.
            RequestTooSlow: it is not complete in time.
            ClientDisconnect: the client has left.
        """
        length = headers.get("content-length", "0")
        if length == "0" and "transfer-encoding" not in headers:
            return receive
        if (encoding := headers.get("content-encoding", "identity")) != "identity":
            raise BodyEncoded(encoding=encoding)
        if length.isdecimal() and int(length) > most:
            raise BodyTooLarge(limit_bytes=most)
        body = await self._read(receive, most)
        limit = max(MOST_VALUES, most // BYTES_A_VALUE)
        # most bodies are short of it with the commas of their texts, too, and need no second look
        if counted and _values(body) > limit and _values(_STRING.sub(b"", body)) > limit:
            raise TooManyValues(limit=limit)
        told = False

        async def replay() -> Message:
            nonlocal told
            if told:
                return await receive()
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        return replay

    async def _read(self, receive: Receive, most: int) -> bytes:
        """Raises: as `_whole_body`."""
        begun, body, more = asyncio.get_running_loop().time(), bytearray(), True
        while more:
            patience = self._body_seconds + len(body) / SLOWEST_BYTES_A_SECOND
            try:
                async with asyncio.timeout_at(begun + patience):
                    message = await receive()
            except TimeoutError as exc:
                raise RequestTooSlow(seconds=round(patience, 1)) from exc
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > most:
                raise BodyTooLarge(limit_bytes=most)
        return bytes(body)


def _values(body: bytes) -> int:
    """How many values stand in the JSON, give or take: each but the first of a list or an object follows a comma."""
    return sum(map(body.count, (b"{", b"[", b",")))


def _refusal(scope: Scope, headers: Headers, error: KataribeError) -> Response:
    if isinstance(error, KeyMissing) and scope.get("method") == "GET" and "text/html" in headers.get("accept", ""):
        answer: Response = to_login(HTTPConnection(scope))
    else:
        answer = problem.answer(scope, error)
    if isinstance(error, KeyMissing):
        answer.headers["WWW-Authenticate"] = "Bearer"
    answer.headers["Connection"] = "close"
    return answer


class Hosts:
    """The names this service goes by. A page whose name resolves to our address (DNS rebinding) calls us by its own
    name.

    Loopback is always ours, and what the service listens on. Where it listens on every address of the machine, any
    address will do: an address is no name, so nobody can make it resolve to another.
    """

    def __init__(self, listens_on: str, allowed: Collection[str]) -> None:
        self._names = LOOPBACK | {_name(host) for host in (listens_on, *allowed)}
        self._any_address = _is_address(listens_on) and ip_address(listens_on).is_unspecified

    def check(self, headers: Headers) -> None:
        """Raises: HostNotAllowed: the request names another host. A client of HTTP/1.0 may name none; no browser
        does.
        """
        host = headers.get("host")
        if host is None:
            return
        name = _name(host)
        if name not in self._names and not (self._any_address and _is_address(name)):
            raise HostNotAllowed(host=host)


def _name(host: str) -> str:
    """The host without its port and brackets; empty if it is none."""
    if _is_address(host):
        return host.lower()
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class Middleware:
    """ASGI middleware around an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app


class HeadAsGet(Middleware):
    """No operation knows HEAD. The answer is over where its body would begin: a stream ends as if its
    client had left.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app({**scope, "method": "GET"}, receive, sending)


class Allowed:
    """The ASGI application of one route, for keys that have access to it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await require(self._access, scope["key"], HTTPConnection(scope))
        except KataribeError as exc:
            await problem.answer(scope, exc)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


_BEGINNINGS = ("http.response.start", "websocket.accept", "websocket.http.response.start")
_SANE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class RequestId(Middleware):
    """Outside all others. Every answer bears the client's own id where that can stand in a log, else a
    new one. The id stays set for the task, whose answer may be made further out."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
        request_id = given if _SANE.fullmatch(given) else uuid4().hex
        REQUEST_ID.set(request_id)

        async def sending(message: Message) -> None:
            if message["type"] in _BEGINNINGS:
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            await send(message)

        await self._app(scope, receive, sending)
