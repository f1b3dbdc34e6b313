"""Owns the HTTP server: uvicorn, which lets open streams and waiting requests end politely when it stops."""

import asyncio
from socket import socket
from typing import Literal

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import problem
from service.errors import Stopping


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
        config = uvicorn.Config(
            _Releasing(app),
            host=host,
            port=port,
            lifespan=lifespan,
            log_level=log_level,
            timeout_graceful_shutdown=grace_seconds,
        )
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop. Streams are ended first: each would be waited for, and their clients come back on their own."""
        self._app.state.house.room.stream.stop()
        await super().shutdown(sockets)


class _Releasing:
    """Answers a request that is still waiting when the server's patience ends; uvicorn cancels it then."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

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
