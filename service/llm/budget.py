"""Owns the budget of model calls: a model is asked only when the day's budget has room, and what it cost is entered."""

from dataclasses import dataclass
from typing import Protocol

from service.errors import ModelError, ModelTimeout
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, Role, T, TextListener, prompt_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """Room for one call that was taken out of the budget of a day (UTC, 2026-04-01): the call, and `tokens`."""

    day: str
    tokens: int


class Budget(Protocol):
    """What may be spent on model calls."""

    async def reserve(self, role: Role, tokens: int) -> Reservation:
        """Take room for one call of at most so many tokens.

        Raises:
            BudgetExhausted: there is none. Nothing was taken.
        """

    async def settle(self, reservation: Reservation, tokens: int) -> None:
        """The call has taken so many tokens: those that were taken for it beyond that are free again."""


class Budgeted(ModelWrapper):
    """A ChatModel that asks `inner` only when the budget has room for the call.

    Every try is a call, also one that fails; what a server refuses because it does not know a parameter is asked for in
    another way within the same try, and costs nothing. Room is taken for the longest answer; what the answer cost, as
    the server counts it or else estimated, is entered when it is there. A call that is let go, or takes too long, is
    paid for whatever it had come to: all the room stays taken.
    """

    def __init__(self, inner: ChatModel, budget: Budget) -> None:
        super().__init__(inner)
        self._budget = budget

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel.

        Raises:
            BudgetExhausted: nobody was asked.
        """
        reserved = await self._budget.reserve(prompt.role, prompt_tokens(prompt.messages) + prompt.max_tokens)
        try:
            answer = await self._inner.complete(prompt, on_text)
        except ModelTimeout:
            raise
        except ModelError as error:
            await self._budget.settle(reserved, error.usage.prompt_tokens + error.usage.completion_tokens)
            raise
        await self._budget.settle(reserved, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        return answer
