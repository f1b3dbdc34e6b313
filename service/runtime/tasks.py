"""Owns what everybody does with tasks of the event loop: let go of them, and do something again and again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

_log = logging.getLogger(__name__)


async def cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Let go of the tasks, and return when they have ended."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def repeat(work: Callable[[], Awaitable[None]], seconds: float, wanted: asyncio.Event | None = None) -> None:
    """Do the work now, and again so long after each time, or as soon as it is `wanted`; an error is logged, and the
    work is tried again.
    """
    wanted = wanted or asyncio.Event()
    while True:
        wanted.clear()
        try:
            await work()
        except Exception:  # noqa: BLE001 - a store that is away comes back
            _log.exception("the sweep failed; it is tried again")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wanted.wait()
