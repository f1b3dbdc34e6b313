"""Owns models that stop answering, or are slow: for worlds that are interrupted on their way."""

import asyncio

from service.llm.chat import Answer, ChatModel, Prompt, T, TextListener


class Hanging:
    """Answers as `inner` so many calls, and then no call at all, until it is `released`."""

    def __init__(self, inner: ChatModel, *, answers: int) -> None:
        self._inner = inner
        self._answers = answers
        self._released = asyncio.Event()
        self.calls = 0
        self.in_flight = 0

    @property
    def name(self) -> str:
        return self._inner.name

    def release(self) -> None:
        self._released.set()

    def answer_more(self, calls: int) -> None:
        """Answer so many calls from now on, and then again none; what was asked in vain is to be let go before."""
        self._answers = self.calls + calls

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        self.calls += 1
        self.in_flight += 1
        try:
            if self.calls > self._answers:
                await self._released.wait()
            return await self._inner.complete(prompt, on_text)
        finally:
            self.in_flight -= 1

    async def hangs(self) -> None:
        """Return when it is asked what it does not answer."""
        async with asyncio.timeout(300):
            while self.calls <= self._answers:  # noqa: ASYNC110 - the world asks in its own time
                await asyncio.sleep(0.01)

    async def aclose(self) -> None:
        await self._inner.aclose()


class Steady:
    """Answers as `inner`, each time after so many seconds."""

    def __init__(self, inner: ChatModel, *, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        await asyncio.sleep(self._seconds)
        return await self._inner.complete(prompt, on_text)

    async def aclose(self) -> None:
        await self._inner.aclose()
