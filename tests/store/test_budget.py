"""Owns the tests of the day's budget: counted over all worlds, never overrun, kept over a restart, anew at midnight
UTC.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from service.errors import BudgetExhausted
from service.settings import LlmSettings
from service.store.budget import CLOSING_TOKENS, DailyBudget
from service.store.session import Database
from service.store.tables import InstallationRow
from tests.store.conversations import conversation_row

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


def budget(database: Database, now: datetime = NOON, **limits: Any) -> DailyBudget:
    return DailyBudget(database, LlmSettings(**limits), now=lambda: now)


def spend(purse: DailyBudget, times: int = 1, *, tokens: int = 100, role: Any = "npc") -> None:
    async def run() -> None:
        for _ in range(times):
            await purse.settle(await purse.reserve(role, tokens), tokens)

    asyncio.run(run())


def spent(purse: DailyBudget) -> tuple[int, int]:
    now = asyncio.run(purse.spent())
    return now.calls, now.tokens


def talk(database: Database, number: int, *, world: str = "main", phase: str = "running") -> None:
    """A conversation in that phase."""
    row = conversation_row(
        id=f"c{number}",
        world_id=world,
        character_id=f"a{number}",
        npc_id=f"b{number}",
        node_id="n",
        language="en",
        max_turns=10,
        phase=phase,
        started_at=0,
        models={},
    )
    database.write_now(lambda s: s.add(row))


def test_without_a_limit_nothing_is_refused_and_nothing_is_written(database: Database) -> None:
    purse = budget(database)
    spend(purse, 50)
    assert purse.exhausted is None
    assert database.read_now(lambda s: s.get(InstallationRow, 1)) is None


@pytest.mark.parametrize(
    ("limits", "setting"),
    [
        ({"max_calls_per_day": 3}, "KATARIBE_LLM__MAX_CALLS_PER_DAY"),
        ({"max_tokens_per_day": 399}, "KATARIBE_LLM__MAX_TOKENS_PER_DAY"),
    ],
)
def test_a_limit_is_reached_and_said_in_both_languages(
    database: Database, limits: dict[str, Any], setting: str
) -> None:
    purse = budget(database, **limits)
    spend(purse, 3)
    assert purse.exhausted is None
    with pytest.raises(BudgetExhausted) as told:
        spend(purse)
    assert purse.exhausted is not None
    assert spent(purse) == (3, 300)
    (limit,) = limits.values()
    for language, part in (("en", "used up"), ("ja", "使い切りました")):
        sentence = told.value.sentence(language)
        assert part in sentence
        assert f"{setting}={limit}" in sentence
        assert "2026-04-01" in sentence
    assert told.value.facts["retry_after_seconds"] == 12 * 3600


def test_a_limit_that_was_reached_refuses_smaller_calls_too_but_for_closings(database: Database) -> None:
    purse = budget(database, max_tokens_per_day=399)
    spend(purse, 3)
    with pytest.raises(BudgetExhausted):
        spend(purse)
    with pytest.raises(BudgetExhausted):
        spend(purse, tokens=50)
    spend(purse, tokens=50, role="closing")
    assert spent(purse) == (4, 350)


def test_it_survives_a_restart_and_is_shared_by_all_who_ask(database: Database) -> None:
    one, other = (budget(database, max_calls_per_day=4) for _ in range(2))
    spend(one, 2)
    spend(other, 2)
    for purse in (one, other, budget(database, max_calls_per_day=4)):
        with pytest.raises(BudgetExhausted):
            spend(purse)
    assert spent(one) == (4, 400)


def test_calls_at_once_never_overrun_it(database: Database) -> None:
    purses = [budget(database, max_calls_per_day=7) for _ in range(3)]

    async def run() -> list[Any]:
        asking = (purse.reserve("decision", 10) for purse in purses * 10)
        return await asyncio.gather(*asking, return_exceptions=True)

    answers = asyncio.run(run())
    refused = [answer for answer in answers if isinstance(answer, BudgetExhausted)]
    assert len(answers) - len(refused) == 7
    assert spent(purses[0]) == (7, 70)


def test_calls_that_are_out_hold_the_room_they_may_need(database: Database) -> None:
    purse = budget(database, max_tokens_per_day=1000)

    async def run() -> None:
        out = await purse.reserve("npc", 900)
        with pytest.raises(BudgetExhausted):
            await budget(database, max_tokens_per_day=1000).reserve("npc", 200)
        await purse.settle(out, 50)
        await purse.reserve("npc", 900)

    asyncio.run(run())
    assert spent(purse) == (2, 950)


def test_a_new_day_in_utc_is_a_new_budget(database: Database) -> None:
    now = [datetime(2026, 4, 1, 23, 59, 59, tzinfo=UTC)]
    purse = DailyBudget(database, LlmSettings(max_calls_per_day=1), now=lambda: now[0])
    spend(purse)
    with pytest.raises(BudgetExhausted):
        spend(purse)
    now[0] = datetime(2026, 4, 2, tzinfo=UTC)
    assert purse.exhausted is None
    spend(purse)
    assert spent(purse) == (1, 100)


def test_a_call_that_is_out_at_midnight_is_entered_on_the_day_it_was_asked(database: Database) -> None:
    now = [datetime(2026, 4, 1, 23, 59, 59, tzinfo=UTC)]
    purse = DailyBudget(database, LlmSettings(max_tokens_per_day=5000), now=lambda: now[0])

    async def run() -> None:
        out = await purse.reserve("npc", 900)
        now[0] = datetime(2026, 4, 2, tzinfo=UTC)
        await purse.settle(out, 50)

    asyncio.run(run())
    assert spent(purse) == (0, 0)
    now[0] = datetime(2026, 4, 1, 23, tzinfo=UTC)
    assert spent(purse) == (1, 50)


def test_room_is_kept_for_the_closing_of_each_talk_of_any_world(database: Database) -> None:
    for number, (world, phase) in enumerate((("main", "running"), ("other", "closing"), ("main", "closed"))):
        talk(database, number, world=world, phase=phase)
    purse = budget(database, max_calls_per_day=4)
    spend(purse, 2)
    with pytest.raises(BudgetExhausted):
        spend(purse)
    assert purse.exhausted is None, "when they are closed, what is left may be used"
    spend(purse, 2, role="closing")
    with pytest.raises(BudgetExhausted):
        spend(purse, role="closing")
    assert spent(purse)[0] == 4


def test_tokens_are_kept_for_closings_too(database: Database) -> None:
    talk(database, 1)
    purse = budget(database, max_tokens_per_day=CLOSING_TOKENS + 250)
    spend(purse, 2)
    with pytest.raises(BudgetExhausted):
        spend(purse)
    spend(purse, role="closing", tokens=CLOSING_TOKENS)
