"""Owns an answer while it is made: what is new of it is handed on at once, and who leaves interrupts it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from service.usage import Usage

_GOING_ON: set[asyncio.Task[Any]] = set()
"""What is still being put in order after a client has left; asyncio itself would forget it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoken:
    """A whole answer, and what it cost."""

    text: str
    usage: Usage


class Speech:
    """One answer. `making` makes it, and tells it here while it does: whoever is cancelled in the middle finds in
    `heard` how far the client has it.
    """

    def __init__(self, making: Callable[["Speech"], Coroutine[Any, Any, Spoken]]) -> None:
        self.heard = ""
        self._told: asyncio.Queue[str | None] = asyncio.Queue()
        self._task = asyncio.create_task(making(self))
        _GOING_ON.add(self._task)
        self._task.add_done_callback(self._end)

    def tell(self, text: str) -> None:
        """All of the answer so far; a text that does not extend the last one began anew."""
        self._told.put_nowait(text)

    async def pieces(self) -> AsyncGenerator[str]:
        """What is new of it, piece after piece. What begins anew, after something was heard, begins a new line.

        Raises:
            Exception: what kept it from being made.
        """
        while (text := await self._told.get()) is not None:
            if new := self._new(text):
                yield new
        if new := self._new((await self._task).text):
            yield new

    async def spoken(self) -> Spoken:
        """The whole answer, when it is made."""
        return await asyncio.shield(self._task)

    def leave(self) -> None:
        """Nobody hears it any more. A making that has not begun begins first: it puts in order what it is for."""
        asyncio.get_running_loop().call_soon(self._task.cancel)

    def _new(self, text: str) -> str:
        text, heard = text.rstrip(), self.heard
        self.heard = text
        return text[len(heard) :] if text.startswith(heard) else f"\n\n{text}"

    def _end(self, task: asyncio.Task[Any]) -> None:
        _GOING_ON.discard(task)
        self._told.put_nowait(None)
        if not task.cancelled():
            task.exception()  # it is raised where the answer is taken, and nowhere if nobody takes it
