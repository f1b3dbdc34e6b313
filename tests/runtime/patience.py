"""Owns the waiting of tests for what runners do on their own."""

import asyncio
from collections.abc import Callable

PATIENCE_SECONDS = 120
"""Far longer than what is waited for takes, for the machine may be busy."""


async def until(done: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Return when it is so.

    Raises:
        TimeoutError: it is not so after so many seconds.
    """
    async with asyncio.timeout(seconds):
        while not done():  # noqa: ASYNC110 - what is looked at is the database, which tells nobody
            await asyncio.sleep(0.01)
