"""Owns the tests of the hard stop around a model."""

import asyncio
from dataclasses import dataclass, field

import pytest

from service.errors import BudgetExhausted, ModelError, ModelServerError, ModelTimeout
from service.llm.chat import Role, prompt_tokens
from service.llm.wrappers import Budgeted, Reservation
from tests.llm.prompts import TURN, ask
from tests.scripted_model import ScriptedModel

WANTED = prompt_tokens(ask().messages) + ask().max_tokens


@dataclass
class Purse:
    """A budget of so many calls that keeps what it was told."""

    calls: int
    reserved: list[tuple[Role, int]] = field(default_factory=list)
    settled: list[int] = field(default_factory=list)

    async def reserve(self, role: Role, tokens: int, money: float, thread: str) -> Reservation:
        if len(self.reserved) == self.calls:
            raise BudgetExhausted(setting="X", limit=self.calls, day="2026-04-01", renews_at="", retry_after_seconds=1)
        self.reserved.append((role, tokens))
        return Reservation(day="2026-04-01", tokens=tokens)

    async def settle(self, reservation: Reservation, tokens: int, money: float) -> None:
        self.settled.append(tokens)


@pytest.mark.parametrize(
    ("error", "settled"),
    [
        (ModelServerError(model="m", status_code=500, reason="out of order"), [0]),
        (ModelTimeout(model="m", seconds=60), []),
    ],
)
def test_a_call_that_fails_is_a_call_and_one_out_of_time_has_cost_all_it_may_have(
    error: ModelError, settled: list[int]
) -> None:
    purse = Purse(calls=1)
    with pytest.raises(ModelError):
        asyncio.run(Budgeted(ScriptedModel(error), purse).complete(ask()))
    assert (len(purse.reserved), purse.settled) == (1, settled)


def test_a_call_that_is_let_go_has_cost_all_it_may_have() -> None:
    purse = Purse(calls=1)

    async def run() -> None:
        async with asyncio.timeout(0.05):
            await Budgeted(ScriptedModel(TURN, latency_seconds=60), purse).complete(ask())

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    assert (len(purse.reserved), purse.settled) == (1, [])
