"""Owns values that belong to one event loop: a connection pool or a semaphore must not wander between loops."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

V = TypeVar("V")


class PerLoop(Generic[V]):
    """One value for each running loop, made on first use within it and forgotten with it."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, V] = WeakKeyDictionary()

    def get(self) -> V:
        """The running loop's value."""
        loop = asyncio.get_running_loop()
        if loop not in self._values:
            self._values[loop] = self._make()
        return self._values[loop]

    def take(self) -> V | None:
        """The running loop's value, which is forgotten; None when there is none."""
        return self._values.pop(asyncio.get_running_loop(), None)
