"""Owns what is put around a model: retries (Retrying), the limit of calls at once (Limited), the day's budget
(Budgeted), how models have been doing (ModelHealth); and values that belong to one event loop (PerLoop).
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from service.errors import (
    BudgetExhausted,
    ModelBroken,
    ModelEmpty,
    ModelError,
    ModelNotConfigured,
    ModelTimeout,
    ModelTruncated,
)
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, Role, T, TextListener, prompt_tokens
from service.llm.observe import observed
from service.settings import Price
from service.usage import Usage

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


LONGEST_WAIT_SECONDS = 30.0
"""Before another try; a server that wants to be left alone for longer is not asked again."""

_DEAR_FAULTS = (ModelBroken, ModelEmpty, ModelTruncated, ModelTimeout)
"""Each try is paid in full, or somebody waits for it in full; and a model that fails so twice fails a third time."""


class Retrying(ModelWrapper):
    """A ChatModel that asks `inner` again after errors that another try may get past.

    The n-th wait is drawn evenly from zero to `backoff_seconds` times 2^n (full jitter), at most
    `LONGEST_WAIT_SECONDS`. A Retry-After is waited for when it is no longer than that; if it is, the error is
    raised at once. Usage, also that of the error finally raised, is the sum over all tries.
    """

    def __init__(
        self,
        inner: ChatModel,
        *,
        attempts: int,
        backoff_seconds: float,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(inner)
        self._attempts = attempts
        self._backoff_seconds = backoff_seconds
        self._rng = rng
        self._sleep = sleep

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel. After a failed try, `on_text` hears the next one from its beginning."""
        spent, dear_faults, tried = Usage(), 0, 0
        while True:
            tried += 1
            try:
                answer = await self._inner.complete(prompt, on_text)
            except ModelError as error:
                spent += error.usage
                dear_faults += isinstance(error, _DEAR_FAULTS)
                wait = self._wait(error, tried)
                if tried >= self._attempts or dear_faults > 1 or wait is None:
                    error.usage = spent
                    raise
            else:
                return replace(answer, usage=spent + answer.usage)
            await self._sleep(wait)

    def _wait(self, error: ModelError, tried: int) -> float | None:
        """Seconds to wait before the next try; None: do not try again."""
        if not error.retry_helps:
            return None
        jitter = self._rng.uniform(0, min(self._backoff_seconds * 2 ** (tried - 1), LONGEST_WAIT_SECONDS))
        asked: float | None = error.facts.get("retry_after_seconds")
        if asked is None:
            return jitter
        # the jitter on top keeps all who were told the same second from coming back together
        return asked + jitter if asked <= LONGEST_WAIT_SECONDS else None


class ConcurrencyLimit(PerLoop[asyncio.Semaphore]):
    """At most `limit` requests in flight; shared by whoever shares the object (within one event loop)."""

    def __init__(self, limit: int) -> None:
        super().__init__(lambda: asyncio.Semaphore(limit))


class Limited(ModelWrapper):
    """A ChatModel that asks `inner` only while it holds a slot of the limit."""

    def __init__(self, inner: ChatModel, limit: ConcurrencyLimit) -> None:
        super().__init__(inner)
        self._limit = limit

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel. The wait for a slot is not part of the inner model's timeout."""
        async with self._limit.get():
            return await self._inner.complete(prompt, on_text)


CALLS = 3
"""So many calls in a row must have failed; fewer where none was ever answered."""


@dataclass(kw_only=True)
class _Record:
    """Of one role. `failures` counts the calls since the last answer; `error` is the newest of them, and `since` when
    the first failed (`time.monotonic()`).
    """

    answered: bool = False
    failures: int = 0
    error: ModelError | None = None
    since: float = 0.0


class ModelHealth:
    """What became of the last calls of each role, in this process."""

    def __init__(self) -> None:
        self._records: dict[Role, _Record] = {}

    def answered(self, role: Role) -> None:
        """A call was answered."""
        self._records[role] = _Record(answered=True)

    def failed(self, role: Role, error: ModelError) -> None:
        """A call failed, with all its tries."""
        record = self._records.setdefault(role, _Record())
        if record.failures == 0:
            record.since = time.monotonic()
        record.failures += 1
        record.error = error

    def failing_seconds(self, role: Role) -> float:
        """For how long the role has answered none; 0 if its last call was answered, be it one of another talk."""
        record = self._records.get(role, _Record())
        return time.monotonic() - record.since if record.failures else 0.0

    def failing(self) -> dict[Role, ModelError]:
        """The roles whose last calls have all failed, and how the last one did."""
        return {
            role: record.error
            for role, record in self._records.items()
            if record.error is not None and (record.failures >= CALLS or not record.answered)
        }


class Watched(ModelWrapper):
    """A ChatModel that tells the health, and operators, what became of each call of `inner`."""

    def __init__(self, inner: ChatModel, health: ModelHealth) -> None:
        super().__init__(inner)
        self._health = health

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel."""
        try:
            answer = await observed(self._inner, prompt, on_text)
        except (ModelNotConfigured, BudgetExhausted):  # nobody was asked, or nobody any more
            raise
        except ModelError as error:
            self._health.failed(prompt.role, error)
            raise
        self._health.answered(prompt.role)
        return answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """Room for one call that was taken out of the budget of a day (UTC, 2026-04-01): the call, `tokens` and `money`.
    `of`: whose budgets those are, as store/budget.py names them.
    """

    day: str
    tokens: int
    money: float = 0.0
    of: tuple[tuple[str, str, str], ...] = ()


class Budget(Protocol):
    """What may be spent on model calls."""

    async def reserve(self, role: Role, tokens: int, money: float, thread: str) -> Reservation:
        """Take room for one call of at most so many tokens and so much money, in a prompt's `thread`.

        Raises:
            BudgetExhausted: there is none. Nothing was taken.
        """

    async def settle(self, reservation: Reservation, tokens: int, money: float) -> None:
        """The call has taken so much: what was taken for it beyond that is free again."""


FREE = Price(prompt=0, completion=0)
"""The price of a model that has none."""


class Budgeted(ModelWrapper):
    """A ChatModel that asks `inner` only when the budget has room for the call.

    Every try is a call, also one that fails; what a server refuses because it does not know a parameter is asked for in
    another way within the same try, and costs nothing. Room is taken for the longest answer; what the answer cost, as
    the server counts it or else estimated, is entered when it is there. A call that is let go, or takes too long, is
    paid for whatever it had come to: all the room stays taken.
    """

    def __init__(self, inner: ChatModel, budget: Budget, price: Price | None = None) -> None:
        super().__init__(inner)
        self._budget = budget
        self._price = price or FREE

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel.

        Raises:
            BudgetExhausted: nobody was asked.
        """
        asked = prompt_tokens(prompt.messages)
        money = self._price.of(asked, prompt.max_tokens)
        reserved = await self._budget.reserve(prompt.role, asked + prompt.max_tokens, money, prompt.thread)
        try:
            answer = await self._inner.complete(prompt, on_text)
        except ModelTimeout:
            raise
        except ModelError as error:
            error.usage = await self._settled(reserved, error.usage)
            raise
        return replace(answer, usage=await self._settled(reserved, answer.usage))

    async def _settled(self, reserved: Reservation, usage: Usage) -> Usage:
        """The usage with its money."""
        money = self._price.of(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
        await self._budget.settle(reserved, usage.prompt_tokens + usage.completion_tokens, money)
        return replace(usage, money=money)
