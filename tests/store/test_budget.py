"""Owns the tests of the day's budget: counted over all worlds, never overrun, kept over a restart, anew at midnight
UTC.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlmodel import Session, select

from service.errors import BudgetExhausted
from service.settings import LlmSettings, Price
from service.store.budget import CLOSING_TOKENS, LAST_TURNS, TURN_TOKENS, DailyBudget
from service.store.phase import Speaker
from service.store.session import Database
from service.store.tables import ConversationRow, InstallationRow, SpentRow, TurnRow
from tests.store.conversations import conversation_row

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


def budget(database: Database, now: datetime = NOON, **limits: Any) -> DailyBudget:
    return DailyBudget(database, LlmSettings(**limits), now=lambda: now)


def spend(
    purse: DailyBudget, times: int = 1, *, tokens: int = 100, role: Any = "npc", thread: str = "", money: float = 0.0
) -> None:
    async def run() -> None:
        for _ in range(times):
            await purse.settle(await purse.reserve(role, tokens, money, thread), tokens, money)

    asyncio.run(run())


def spent(purse: DailyBudget) -> tuple[int, int]:
    row = purse._database.read_now(lambda s: s.get(InstallationRow, 1))
    return (row.calls, row.tokens) if row is not None and row.day == purse.day else (0, 0)


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
    spend(purse, 2, thread="main/c0")
    with pytest.raises(BudgetExhausted):
        spend(purse, thread="main/c0")
    assert purse.exhausted is None, "when they are closed, what is left may be used"
    spend(purse, 2, role="closing")
    with pytest.raises(BudgetExhausted):
        spend(purse, role="closing")
    assert spent(purse)[0] == 4


def test_tokens_are_kept_for_closings_too(database: Database) -> None:
    talk(database, 1)
    purse = budget(database, max_tokens_per_day=CLOSING_TOKENS + 250)
    spend(purse, 2, thread="main/c1")
    with pytest.raises(BudgetExhausted):
        spend(purse, thread="main/c1")
    spend(purse, role="closing", tokens=CLOSING_TOKENS)


def limits(*several: dict[str, Any]) -> dict[str, Any]:
    return LlmSettings.model_validate({"limits": several}).model_dump(include={"limits"})


def players_talk(database: Database, number: int, player: str, *, world: str = "main", key: str = "") -> str:
    """A running talk of the player, begun with that key; answers its thread."""
    talk(database, number, world=world)

    def work(session: Session) -> None:
        row = session.get_one(ConversationRow, (world, f"c{number}"))
        row.participants[0].person_id, row.participants[0].speaker, row.asked_with = player, Speaker.HUMAN, key

    database.write_now(work)
    return f"{world}/c{number}"


@pytest.mark.parametrize(
    ("scope", "named", "same", "other"),
    [
        ("world", "world main", 1, 2),
        ("conversation", "conversation c0", 0, 1),
        ("player", "player ken", 1, 3),
        ("key", "key phone", 1, 3),
    ],
)
def test_a_limit_holds_for_each_of_its_scope_alone(
    database: Database, scope: str, named: str, same: int, other: int
) -> None:
    threads = [
        players_talk(database, 0, "ken", key="phone"),
        players_talk(database, 1, "ken", key="phone"),
        players_talk(database, 2, "mika", world="other", key="phone"),
        players_talk(database, 3, "mika", key="desk"),
    ]
    kept = 2 * (CLOSING_TOKENS + 2 * TURN_TOKENS) * 2
    purse = budget(database, **limits({"scope": scope, "unit": "tokens", "most": kept, "soft": 1}))
    spend(purse, tokens=kept - 3 * (CLOSING_TOKENS + 2 * TURN_TOKENS), role="closing", thread=threads[0])
    with pytest.raises(BudgetExhausted) as told:
        spend(purse, 30, tokens=2_000, thread=threads[same])
    assert f"tokens, {named}" in told.value.sentence("en")
    assert f"tokens, {named}" in told.value.sentence("ja")
    spend(purse, tokens=2_000, thread=threads[other])
    assert purse.exhausted is None, "others go on"
    left = asyncio.run(purse.left()).limits
    assert {(one.scope, one.name) for one in left} >= {(scope, named.partition(" ")[2])}
    again = budget(database, **limits({"scope": scope, "of": "nobody", "unit": "tokens", "most": 1}))
    spend(again, tokens=2_000, thread=threads[same])


def test_what_was_spent_on_another_day_is_not_kept(database: Database) -> None:
    several = limits({"scope": "conversation", "unit": "calls", "most": 9})
    for day in range(1, 4):
        spend(budget(database, NOON.replace(day=day), **several), thread=players_talk(database, day, "ken"))
    kept = database.read_now(lambda s: [(row.name, row.day, row.calls) for row in s.exec(select(SpentRow))])
    assert kept == [("c3", "2026-04-03", 1)]


def spoken(number: int) -> TurnRow:
    """That turn of c0."""
    said: dict[str, Any] = dict.fromkeys(("calls", "prompt_tokens", "completion_tokens", "duration_ms", "at"), 0)
    said |= dict.fromkeys(("speaker_id", "speaker_name", "text", "emotion", "model"), "x")
    return TurnRow(world_id="main", conversation_id="c0", turn=number, **said)


def test_no_talk_takes_the_first_turns_of_another(database: Database) -> None:
    first, second = (players_talk(database, number, f"p{number}") for number in range(2))
    purse = budget(database, max_calls_per_day=8)
    spend(purse, 4, thread=first)
    database.write_now(lambda s: s.add_all(spoken(number) for number in range(4)))
    with pytest.raises(BudgetExhausted):
        spend(purse, thread=first)
    spend(purse, 2, thread=second)
    spend(purse, 2, role="closing")
    assert spent(purse)[0] == 8


def test_before_the_hard_limit_talks_come_to_their_end_and_people_live_by_routine(database: Database) -> None:
    thread = players_talk(database, 0, "ken")
    purse = budget(database, **limits({"unit": "calls", "most": 20}))

    def turns() -> int:
        return database.read_now(lambda s: s.get_one(ConversationRow, ("main", "c0")).max_turns)

    spend(purse, 15, thread=thread)
    spend(purse, role="decision", thread="main/sora")
    assert turns() == 10
    with pytest.raises(BudgetExhausted):
        spend(purse, role="decision", thread="main/sora")
    assert purse.exhausted is None
    spend(purse, thread=thread)
    assert turns() == LAST_TURNS, "it says goodbye"
    assert [one.is_low for one in asyncio.run(purse.left()).limits] == [True]


def test_money_is_a_limit_too_and_counts_by_what_calls_have_cost(database: Database) -> None:
    purse = budget(database, **limits({"unit": "money", "most": 1.0, "soft": 1}))
    spend(purse, 3, money=0.3)
    with pytest.raises(BudgetExhausted) as told:
        spend(purse, money=0.3)
    assert "KATARIBE_LLM__LIMITS.0=1 money" in told.value.sentence("en")
    assert Price(prompt=2, completion=8, cached=0.5).of(1_000_000, 500_000, 400_000) == pytest.approx(1.2 + 0.2 + 4)
