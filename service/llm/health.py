"""Owns how the models have been doing: of each role whether its last calls were answered. Nothing is asked to find
out.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from service.errors import BudgetExhausted, ModelError, ModelNotConfigured
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, Role, T, TextListener

CALLS = 3
"""So many calls in a row must have failed; fewer where none was ever answered."""
REMEMBERED_SECONDS = 600.0
"""Machine time after which a failure no longer counts: who asks no failing model would else never find it well again.
"""


@dataclass(kw_only=True)
class _Record:
    """Of one role. `failures` counts the calls since the last answer; `error` is the newest of them."""

    answered: bool = False
    failures: int = 0
    error: ModelError | None = None
    failed_at: float = 0.0


class ModelHealth:
    """What became of the last calls of each role, in this process."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._records: dict[Role, _Record] = {}

    def answered(self, role: Role) -> None:
        """A call was answered."""
        self._records[role] = _Record(answered=True)

    def failed(self, role: Role, error: ModelError) -> None:
        """A call failed, with all its tries."""
        record = self._records.setdefault(role, _Record())
        record.failures += 1
        record.error, record.failed_at = error, self._seconds()

    def failing(self) -> dict[Role, ModelError]:
        """The roles whose last calls have all failed, and how the last one did."""
        since = self._seconds() - REMEMBERED_SECONDS
        return {
            role: record.error
            for role, record in self._records.items()
            if record.error is not None
            and record.failed_at > since
            and (record.failures >= CALLS or not record.answered)
        }


class Watched(ModelWrapper):
    """A ChatModel that tells the health what became of each call of `inner`."""

    def __init__(self, inner: ChatModel, health: ModelHealth) -> None:
        super().__init__(inner)
        self._health = health

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel."""
        try:
            answer = await self._inner.complete(prompt, on_text)
        except (ModelNotConfigured, BudgetExhausted):  # nobody was asked, or nobody any more
            raise
        except ModelError as error:
            self._health.failed(prompt.role, error)
            raise
        self._health.answered(prompt.role)
        return answer
