"""Owns the HTTP server: uvicorn, which drops who never ends a request or never reads its answer, and lets go who waits
when it stops.
"""

import asyncio
import gc
from socket import socket
from typing import ClassVar, Literal

import h11
import uvicorn
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from service.api import problem
from service.api.middleware import Middleware, is_loopback
from service.errors import Misconfigured, Stopping
from service.locales import Phrase

MESSAGE_BYTES = 65_536
"""How long a message of a WebSocket's client may be: none of them is read."""


def settle_memory() -> None:
    """Take all that was loaded until now for what stays. Looked through again and again by Python's garbage collector,
    it would hold up the event loop for 0.2 s each time.
    """
    gc.collect()
    gc.freeze()


class Server(uvicorn.Server):
    """Serves one app. When it stops, requests under way have `grace_seconds` to end."""

    def __init__(
        self,
        app: FastAPI,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        lifespan: Literal["on", "off"] = "on",
        log_level: str = "warning",
        grace_seconds: int = 1,
    ) -> None:
        """Raises: Misconfigured: others than this machine could reach it, and there is no key."""
        if not is_loopback(host) and app.state.keys.is_open:
            raise Misconfigured(setting="KATARIBE_API_KEY", reason=Phrase("settings.key_missing", host=host))
        patience = {"patience_seconds": app.state.settings.request_timeout_seconds}
        config = uvicorn.Config(
            _Releasing(app),
            ws=type("WebSockets", (_Unread, WebSocketsSansIOProtocol), patience),
            ws_max_size=MESSAGE_BYTES,
            http=type("Protocol", (_Impatient,), patience),
            host=host,
            port=port,
            lifespan=lifespan,
            log_config=None,  # its lines go where ours go
            log_level=log_level,
            timeout_graceful_shutdown=grace_seconds,
        )
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop. Streams are ended first: each would be waited for, and their clients come back on their own."""
        self._app.state.deps.conversation.stream.stop()
        await super().shutdown(sockets)


class _Unread(asyncio.Protocol):
    """Cuts a connection off whose client takes nothing of what waits for it, some 64 kB; uvicorn waits for ever."""

    patience_seconds: ClassVar[float]
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _cut: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cut = self.loop.call_later(self.patience_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._let_be()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._let_be()

    def _let_be(self) -> None:
        if self._cut is not None:
            self._cut.cancel()


class _Impatient(_Unread, H11Protocol):
    """Closes a connection whose client does not come to the end of a request's head; uvicorn waits for it for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._rest()

    def _watch(self) -> None:
        """Between two requests uvicorn's own limit for a quiet connection holds, until the next one's first byte."""
        if self.conn.their_state is not h11.IDLE:
            self._rest()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.patience_seconds, self.timeout_keep_alive_handler)

    def _rest(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _Releasing(Middleware):
    """Answers a request that is still waiting when the server's patience ends; uvicorn cancels it then."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:
            if not begun:
                await problem.answer(scope, Stopping())(scope, receive, send)
