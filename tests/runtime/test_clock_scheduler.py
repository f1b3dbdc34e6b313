"""The running clock: the same story as by hand, commands in between, on and on whatever happens to the store."""

import asyncio
import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlmodel import select

from service.content.load import Content
from service.errors import BudgetExhausted, Invalid
from service.memory.forgetting import forget_world
from service.runtime.world_clock import CATCH_UP_SECONDS
from service.runtime.world_edits import set_weather
from service.runtime.world_runner import ClockPace
from service.store.tables import EventRow, WorldRow
from tests.runtime.lives import House, Slow, hamlet, house, rehearsal, unpaid
from tests.runtime.patience import until

pytestmark = pytest.mark.anyio

FAST = 6000.0
"""World minutes a real minute."""
PACES: tuple[ClockPace, ...] = ("exact", "realtime")


@pytest.fixture(scope="session")
def village(village: Content) -> Content:
    """With few characters."""
    return hamlet(village)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


ticking = partial(house, look_seconds=0.05)
"""A house whose clocks are looked at often."""


def row(home: House) -> WorldRow:
    return home.room.database.read_now(lambda s: s.get_one(WorldRow, "main"))


async def stopped(home: House) -> int:
    """The clock when it stands."""
    await home.world_runner.set_clock("main", mode="manual")
    return row(home).now


async def test_the_exact_clock_tells_the_same_story_as_ticks_by_hand(village: Content, tmp_path: Path) -> None:
    slow = Slow(rehearsal(), seed=3, longest_seconds=0.01)
    async with ticking(village, tmp_path / "runs", slow) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST)
        await until(lambda: row(home).now >= village.start + 60)
        stands = await stopped(home)
        minutes = stands + 30 - village.start
        await home.live(30)
        ran = home.story()
    async with house(village, tmp_path / "by-hand", rehearsal()) as home:
        await home.live(minutes)
        by_hand = home.story()
    assert by_hand["summaries"]
    for part in by_hand.keys() - {"usage"}:  # a turn that the stop let go is asked, and paid for, again
        assert unpaid(ran[part]) == unpaid(by_hand[part]), part


@pytest.mark.parametrize("pace", PACES)
async def test_a_stopped_clock_stands_and_goes_on_from_there(pace: ClockPace, village: Content, tmp_path: Path) -> None:
    async with ticking(village, tmp_path, rehearsal()) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST, pace=pace)
        await until(lambda: row(home).now > village.start + 30)
        stands = await stopped(home)
        await asyncio.sleep(0.2)
        assert row(home).now == stands
        await home.live(10)
        assert row(home).now == stands + 10
        await home.world_runner.set_clock("main", mode="running")
        assert (row(home).clock_speed, row(home).clock_pace) == (FAST, pace)
        await until(lambda: row(home).now > stands + 30)


@pytest.mark.parametrize("pace", PACES)
async def test_a_restart_goes_on_with_the_clock(pace: ClockPace, village: Content, tmp_path: Path) -> None:
    async with ticking(village, tmp_path, rehearsal()) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST, pace=pace)
        await until(lambda: row(home).now > village.start + 60)
    async with ticking(village, tmp_path, rehearsal()) as home:
        stood = row(home).now
        await until(lambda: row(home).now > stood + 60)
        told = [event["at"] for event in home.story()["events"]]
        assert told == sorted(told)


@pytest.mark.parametrize("pace", PACES)
async def test_commands_get_their_turn(pace: ClockPace, village: Content, tmp_path: Path) -> None:
    slow = Slow(rehearsal(), seed=3, longest_seconds=0.02)
    async with ticking(village, tmp_path, slow) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST, pace=pace)
        for _ in range(3):
            since = row(home).now
            await until(lambda: row(home).now > since + 10)  # noqa: B023 - called here
            weather = f"storm of {since}"
            await home.world_runner.command("main", lambda s, world_session: set_weather(s, world_session, weather))  # noqa: B023
            assert row(home).weather == weather
        told = [event["at"] for event in home.story()["events"]]
        assert told == sorted(told)
        assert row(home).clock_mode == "running"


@pytest.mark.parametrize("pace", PACES)
async def test_a_clock_whose_store_is_away_for_a_moment_goes_on(
    pace: ClockPace, village: Content, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    async with ticking(village, tmp_path, rehearsal()) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST, pace=pace)
        await until(lambda: row(home).now > village.start + 60)
        alter(home, "ALTER TABLE participants RENAME TO lost")
        await until(lambda: "rests for" in caplog.text)
        stood = row(home).now
        alter(home, "ALTER TABLE lost RENAME TO participants")
        await until(lambda: row(home).now > stood + 100)
        told = [event["at"] for event in home.story()["events"]]
        assert told == sorted(told)


async def test_a_machine_that_slept_makes_up_for_seconds_not_hours(village: Content, tmp_path: Path) -> None:
    seconds = [0.0]
    async with ticking(village, tmp_path, rehearsal(), seconds=lambda: seconds[0]) as home:
        await home.world_runner.set_clock("main", mode="running", speed=60.0)
        await until(lambda: home.world_runner.world("main").clock is not None)
        seconds[0] = 8 * 3600.0
        await until(lambda: row(home).now > village.start)
        assert row(home).now <= village.start + CATCH_UP_SECONDS + 1


def test_a_machine_whose_clock_steps_back_holds_up_no_world(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.runtime.step_back", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


async def test_between_two_looks_at_the_clocks_it_rests(
    village: Content, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "apscheduler.scheduler")
    async with house(village, tmp_path, rehearsal(), look_seconds=0.2):
        await asyncio.sleep(1)
    rests = [record for record in caplog.records if record.getMessage().startswith("Next wakeup is due")]
    assert 1 <= len(rests) <= 10, "it looks every 0.2 s, and plans the next look once or twice each time"


async def test_fractions_of_a_tick_are_carried_over(village: Content, tmp_path: Path) -> None:
    seconds = [0.0]
    async with ticking(village, tmp_path, rehearsal(), seconds=lambda: seconds[0]) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST)
        await until(lambda: home.world_runner.world("main").clock is not None)
        for fire in range(1, 17):
            seconds[0] += 1 / 64
            expected = village.start + int(fire * FAST / 60 / 64)
            await until(lambda: row(home).now == expected)  # noqa: B023 - called here
        assert row(home).now == village.start + 25


async def test_a_removed_world_does_not_begin_anew(village: Content, tmp_path: Path) -> None:
    async with ticking(village, tmp_path, rehearsal()) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST, pace="realtime")
        await until(lambda: row(home).now > village.start)
        await stopped(home)
        await home.world_runner.set_clock("main", mode="running")
        await home.world_runner.rewrite("main", lambda s: forget_world(s, "main"))
        await asyncio.sleep(0.2)
        assert home.room.database.read_now(lambda s: s.get(WorldRow, "main")) is None


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf"), 1e9])
async def test_a_speed_that_is_none_is_refused(speed: float, village: Content, tmp_path: Path) -> None:
    async with ticking(village, tmp_path, rehearsal()) as home:
        with pytest.raises(Invalid):
            await home.world_runner.set_clock("main", speed=speed)
        assert home.world_runner.world("main").clock is None


def alter(home: House, statement: str) -> None:
    """By a hand from outside."""
    engine = create_engine(home.room.database.url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


DAY = datetime(2026, 4, 1, 12, tzinfo=UTC)


def events(home: House, kind: str) -> list[EventRow]:
    """The log's events of that kind."""
    return list(home.room.database.read_now(lambda s: s.exec(select(EventRow).filter_by(kind=kind)).all()))


@pytest.mark.parametrize("pace", PACES)
async def test_a_budget_that_is_used_up_ends_talks_lets_routine_decide_and_stops_the_clock(
    pace: ClockPace, village: Content, tmp_path: Path
) -> None:
    now = [DAY]
    counted = Slow(rehearsal(), seed=3, longest_seconds=0.0)
    limit = {"max_calls_per_day": 40}
    async with ticking(village, tmp_path, counted, llm=limit, now=lambda: now[0]) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST, pace=pace)
        await until(lambda: row(home).clock_mode == "manual" and home.world_runner.world("main").clock is None)
        assert row(home).clock_stopped == "budget_exhausted"
        (told,) = events(home, "clock_stopped")
        assert (told.person_id, told.data) == (None, {"reason": "budget_exhausted"})
        assert counted.calls <= 40
        stood = row(home).now
        await home.live(3 * 60)
        assert row(home).now > stood
        assert counted.calls <= 40
        unpaid = [event for event in events(home, "decided") if event.data.get("failure") == "budget-exhausted"]
        assert unpaid
        assert {event.data["by"] for event in unpaid} == {"fallback"}
        assert {talk["phase"] for talk in home.story()["conversations"]} <= {"closed", "closing_failed"}
        await home.world_runner.set_clock("main", mode="running")
        assert row(home).clock_stopped is None
        await until(lambda: len(events(home, "clock_stopped")) == 2)
        now[0] = DAY + timedelta(days=1)
        await home.world_runner.set_clock("main", mode="running", speed=FAST)  # everybody may be asleep
        stood, asked = row(home).now, counted.calls
        await until(lambda: row(home).now > stood and counted.calls > asked)
        assert row(home).clock_mode == "running"


async def test_a_world_of_routines_costs_nothing_and_its_clock_goes_on(village: Content, tmp_path: Path) -> None:
    async with ticking(village, tmp_path, rehearsal(), llm={"max_calls_per_day": 1}, decision="routine") as home:
        await home.room.budget.reserve("npc", 1)
        with pytest.raises(BudgetExhausted):
            await home.room.budget.reserve("npc", 1)
        await home.world_runner.set_clock("main", mode="running", speed=FAST)
        await until(lambda: row(home).now > village.start + 120)
        assert (row(home).clock_mode, row(home).clock_stopped) == ("running", None)


async def test_a_look_that_is_due_while_the_clocks_are_stopped_is_none_and_no_error(
    village: Content, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with house(village, tmp_path, rehearsal(), look_seconds=60) as home:
        await home.world_runner.set_clock("main", mode="running", speed=FAST)
        await until(lambda: home.world_runner.world("main").clock is not None)
        await home.world_runner.set_clock("main", speed=FAST / 2)  # it is to look at once
        executor = home.world_runner._looks._scheduler._executors["default"]
        while not executor._pending_futures:  # noqa: ASYNC110 - round by round of the loop
            await asyncio.sleep(0)
        await home.world_runner.stop()
        assert row(home).runner is None
    assert not caplog.records
