"""Owns the retries of model calls, where they can help (Retrying), and the limit of calls at once (Limited)."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

from service.errors import ModelBroken, ModelEmpty, ModelError, ModelTruncated
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener
from service.llm.per_loop import PerLoop
from service.usage import Usage

_OWN_FAULTS = (ModelBroken, ModelEmpty, ModelTruncated)
"""Faults of the answer itself: each try is paid in full, and a model that fails twice fails a third time."""


class Retrying(ModelWrapper):
    """A ChatModel that asks `inner` again after errors that another try may get past.

    The n-th wait is drawn evenly from zero to `backoff_seconds` times 2^n (full jitter), at most
    `max_retry_after_seconds`. A Retry-After is waited for when it is no longer than that; if it is, the error is
    raised at once. Usage, also that of the error finally raised, is the sum over all tries.
    """

    def __init__(
        self,
        inner: ChatModel,
        *,
        attempts: int,
        backoff_seconds: float,
        max_retry_after_seconds: float,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(inner)
        self._attempts = attempts
        self._backoff_seconds = backoff_seconds
        self._max_wait_seconds = max_retry_after_seconds
        self._rng = rng
        self._sleep = sleep

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel. After a failed try, `on_text` hears the next one from its beginning."""
        spent, own_faults, tried = Usage(), 0, 0
        while True:
            tried += 1
            try:
                answer = await self._inner.complete(prompt, on_text)
            except ModelError as error:
                spent += error.usage
                own_faults += isinstance(error, _OWN_FAULTS)
                wait = self._wait(error, tried)
                if tried >= self._attempts or own_faults > 1 or wait is None:
                    error.usage = spent
                    raise
            else:
                return replace(answer, usage=spent + answer.usage)
            await self._sleep(wait)

    def _wait(self, error: ModelError, tried: int) -> float | None:
        """Seconds to wait before the next try; None: do not try again."""
        if not error.retry_helps:
            return None
        jitter = self._rng.uniform(0, min(self._backoff_seconds * 2 ** (tried - 1), self._max_wait_seconds))
        asked: float | None = error.facts.get("retry_after_seconds")
        if asked is None:
            return jitter
        # the jitter on top keeps all who were told the same second from coming back together
        return asked + jitter if asked <= self._max_wait_seconds else None


class ConcurrencyLimit:
    """At most `limit` requests in flight; shared by whoever shares the object (within one event loop)."""

    def __init__(self, limit: int) -> None:
        self._semaphores = PerLoop(lambda: asyncio.Semaphore(limit))

    def slot(self) -> asyncio.Semaphore:
        """The semaphore to hold during a request."""
        return self._semaphores.get()


class Limited(ModelWrapper):
    """A ChatModel that asks `inner` only while it holds a slot of the limit."""

    def __init__(self, inner: ChatModel, limit: ConcurrencyLimit) -> None:
        super().__init__(inner)
        self._limit = limit

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel. The wait for a slot is not part of the inner model's timeout."""
        async with self._limit.slot():
            return await self._inner.complete(prompt, on_text)
