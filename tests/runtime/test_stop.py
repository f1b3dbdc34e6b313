"""A world on its way can be stopped and changed at once, and its story stays the same for the same log of commands."""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import Session

from service.content.load import Content
from service.errors import Busy, NotFound, RunInterrupted, TickTooLong, WorldMoves, WorldStopped
from service.memory.forgetting import forget_world
from service.runtime.client_actions import sleep
from service.runtime.world_edits import amend, set_weather
from service.runtime.world_runner import PATIENCE_SECONDS
from service.runtime.world_session import WorldSession
from service.store.tables import WorldRow
from tests.runtime.hanging import Hanging, Steady
from tests.runtime.lives import AT_ONCE, House, Slow, hamlet, house, rehearsal, unpaid
from tests.runtime.patience import until
from world.time import WorldTime

pytestmark = pytest.mark.anyio

WEEK = 7 * 24 * 60
PATIENCE = 0.3
"""Seconds a command waits here; a real one waits for `PATIENCE_SECONDS`."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def row(home: House) -> WorldRow:
    return home.room.database.read_now(lambda s: s.get_one(WorldRow, "main"))


async def stop(home: House) -> None:
    await home.world_runner.set_clock("main", mode="manual")


async def stop_where_some_are_ahead(home: House, model: Hanging) -> None:
    """Which call is the last that is answered, and so who has lived ahead, depends on how quick the machine is."""
    for _ in range(20):
        await home.world_runner.tick("main", WEEK)
        await model.hangs()
        await stop(home)
        if row(home).now < row(home).reached:
            return
        model.answer_more(7)
    pytest.fail("nobody has lived ahead of the clock in any of the stops")


async def come_past(home: House, minute: int) -> None:
    async with asyncio.timeout(60):
        while row(home).now < minute:  # noqa: ASYNC110 - another task moves it, and tells nobody
            await asyncio.sleep(0.005)


def change(n: int) -> Callable[[Session, WorldSession], WorldTime]:
    """The n-th change of the world, which answers when it took effect: the weather, or somebody's needs where it is
    free.
    """

    def work(session: Session, world_session: WorldSession) -> WorldTime:
        set_weather(session, world_session, f"storm {n}")
        try:
            amend(session, world_session, "nagi", needs={"energy": 20 + n})
        except Busy:
            set_weather(session, world_session, f"calm {n}")
        return world_session.world.now

    return work


async def test_a_tick_of_more_than_a_week_is_refused_and_what_is_ordered_counts(
    village: Content, tmp_path: Path
) -> None:
    model = Hanging(rehearsal(), answers=0)
    async with house(village, tmp_path, model) as home:
        with pytest.raises(TickTooLong) as refused:
            await home.world_runner.tick("main", WEEK + 1)
        assert refused.value.facts == {"minutes": WEEK + 1, "ordered": 0, "most": WEEK}
        assert "10080" in refused.value.sentence("ja")
        await home.world_runner.tick("main", WEEK - 10)
        with pytest.raises(TickTooLong) as refused:
            await home.world_runner.tick("main", 11)
        assert refused.value.facts == {"minutes": 11, "ordered": WEEK - 10, "most": WEEK}
        assert (await home.world_runner.tick("main", 10)).after == village.start + WEEK


async def test_a_stop_lets_calls_go_and_nothing_goes_on_not_even_after_a_restart(
    village: Content, tmp_path: Path
) -> None:
    model = Hanging(rehearsal(), answers=40)
    async with house(village, tmp_path, model, look_seconds=0.05) as home:
        step = await home.world_runner.tick("main", WEEK)
        waits = asyncio.create_task(home.world_runner.wait("main", step.after))
        await model.hangs()
        async with asyncio.timeout(60):
            await stop(home)
            with pytest.raises(WorldStopped):
                await waits
        stands, calls = row(home).now, model.calls
        assert model.in_flight == 0
        await stop(home)  # a second time changes nothing
        await asyncio.sleep(0.3)
        assert (row(home).now, row(home).target, model.calls) == (stands, None, calls)
    later = Hanging(rehearsal(), answers=0)
    async with house(village, tmp_path, later, look_seconds=0.05) as home:
        await asyncio.sleep(0.3)
        assert (row(home).now, later.calls) == (stands, 0)


async def test_stops_on_the_way_do_not_change_the_story(village: Content, tmp_path: Path) -> None:
    minutes = 150
    async with house(hamlet(village), tmp_path / "whole", rehearsal()) as home:
        await home.live(minutes)
        whole = home.story()
    rng = random.Random(5)
    stops = 0
    model = Slow(rehearsal(), seed=5, longest_seconds=0.02)
    async with house(hamlet(village), tmp_path / "stopped", model) as home:
        while (left := village.start + minutes - (row(home).now if stops else village.start)) > 0:
            step = await home.world_runner.tick("main", left)
            await asyncio.sleep(rng.random() * 0.15)
            await stop(home)
            stops += 1
            if stops > 8:
                await home.live(village.start + minutes - row(home).now)
        assert step.after == village.start + minutes
        assert stops > 3
        told = home.story()
    for part in whole.keys() - {"usage"}:  # a call that was let go is asked, and paid for, again
        assert unpaid(told[part]) == unpaid(whole[part]), part


async def test_commands_take_effect_on_the_way_and_the_story_is_that_of_the_same_commands_in_order(
    village: Content, tmp_path: Path
) -> None:
    """One world is changed while it moves, with slow models, and dies on the way; the other stands at each of these
    minutes.
    """
    minutes, log = 160, list[WorldTime]()
    slow = Slow(rehearsal(), seed=1, longest_seconds=0.02)
    async with house(hamlet(village), tmp_path / "moving", slow, patience_seconds=60) as home:
        step = await home.world_runner.tick("main", minutes)
        for n in range(4):
            await come_past(home, max([village.start, *log]) + 30)
            log.append(await home.world_runner.command("main", change(n)))
            assert row(home).target == step.after, "it goes on"
    async with house(hamlet(village), tmp_path / "moving", rehearsal()) as home:
        await home.world_runner.wait("main", step.after)
        moving = home.story()
    assert sorted(log) == log
    async with house(hamlet(village), tmp_path / "in-order", rehearsal(), at_once=1) as home:
        for n, minute in enumerate(log):
            await home.live(minute - (row(home).now if n else village.start))
            assert await home.world_runner.command("main", change(n)) == minute
        await home.live(step.after - row(home).now)
        in_order = home.story()
    assert in_order["summaries"]
    for part in in_order.keys() - {"usage"}:
        assert unpaid(moving[part]) == unpaid(in_order[part]), part


async def test_decisions_that_a_command_does_not_bear_on_stay_asked_and_are_paid_for_once(
    village: Content, tmp_path: Path
) -> None:
    model = Hanging(rehearsal(), answers=0)
    async with house(village, tmp_path, model) as home:
        await home.world_runner.tick("main", WEEK)
        await until(lambda: model.in_flight == AT_ONCE)
        asked = model.calls
        assert asked == AT_ONCE
        for _ in range(3):
            with pytest.raises(NotFound):
                await home.world_runner.command("main", lambda s, world_session: sleep(s, world_session, "nobody"))
        await home.world_runner.command(
            "main", lambda s, world_session: sleep(s, world_session, "nagi"), keeps_decisions=True
        )
        await until(lambda: model.in_flight == AT_ONCE - 1)  # nagi is not asked any more
        await asyncio.sleep(0.2)
        assert model.calls == asked
        await home.world_runner.command("main", change(0))
        await until(lambda: model.calls > asked)  # who is to see the new weather is asked anew
        await stop(home)
        assert model.in_flight == 0


async def test_a_client_that_commands_more_often_than_models_answer_does_not_hold_up_the_world(
    village: Content, tmp_path: Path
) -> None:
    async with house(hamlet(village), tmp_path / "alone", rehearsal()) as home:
        await home.live(60)
        alone = home.story()
    assert alone["turns"]
    steady = Steady(rehearsal(), seconds=0.1)
    async with house(hamlet(village), tmp_path / "commanded", steady, patience_seconds=60) as home:
        step = await home.world_runner.tick("main", 60)
        refused = 0
        async with asyncio.timeout(600):
            while row(home).now < step.after:
                with pytest.raises(NotFound):
                    await home.world_runner.command("main", lambda s, world_session: sleep(s, world_session, "nobody"))
                refused += 1
                await asyncio.sleep(0.02)
        await home.world_runner.wait("main", step.after)
        told = home.story()
    assert refused > 20
    for part in alone:
        assert told[part] == alone[part], part


async def test_a_command_to_a_world_whose_store_fails_on_the_way_says_so(village: Content, tmp_path: Path) -> None:
    model = Hanging(rehearsal(), answers=60)
    async with house(village, tmp_path, model) as home:
        await stop_where_some_are_ahead(home, model)
        home.room.database.write_now(lambda s: s.execute(text("ALTER TABLE events RENAME TO lost")))
        model.release()
        began = time.monotonic()
        with pytest.raises(RunInterrupted) as refused:
            await home.world_runner.command("main", change(0))
        assert time.monotonic() - began < PATIENCE_SECONDS + 1
        assert "events" in refused.value.facts["reason"]
        home.room.database.write_now(lambda s: s.execute(text("ALTER TABLE lost RENAME TO events")))


async def test_a_command_that_must_wait_too_long_is_refused_and_finds_the_world_standing_later(
    village: Content, tmp_path: Path
) -> None:
    model = Hanging(rehearsal(), answers=60)
    async with house(village, tmp_path, model, patience_seconds=PATIENCE) as home:
        step = await home.world_runner.tick("main", WEEK)
        await model.hangs()
        began = time.monotonic()
        with pytest.raises(WorldMoves) as refused:
            await home.world_runner.command("main", change(0))
        assert time.monotonic() - began < PATIENCE + 1
        assert set(refused.value.facts) == {"now", "until"}
        model.release()
        at = None
        async with asyncio.timeout(60):
            while at is None:
                await asyncio.sleep(PATIENCE)
                with suppress(WorldMoves):
                    at = await home.world_runner.command("main", change(0))
        assert village.start <= at < step.after
        assert row(home).target == step.after
        await stop(home)


async def test_a_stopped_world_lives_on_to_where_its_quickest_are_before_it_is_changed(
    village: Content, tmp_path: Path
) -> None:
    model = Hanging(rehearsal(), answers=60)
    async with house(village, tmp_path, model, patience_seconds=60) as home:
        await stop_where_some_are_ahead(home, model)
        stands, reached = row(home).now, row(home).reached
        model.release()
        at = await home.world_runner.command("main", change(0))
        assert reached <= at <= stands + 20
        assert row(home).now == row(home).target == at
        calls = model.calls
        await asyncio.sleep(0.1)
        assert model.calls == calls, "it stands"


async def test_a_world_on_its_way_can_be_removed_at_once(village: Content, tmp_path: Path) -> None:
    model = Hanging(rehearsal(), answers=40)
    async with house(village, tmp_path, model, look_seconds=0.05) as home:
        await home.world_runner.tick("main", WEEK)
        await model.hangs()
        async with asyncio.timeout(60):
            await home.world_runner.rewrite("main", lambda s: forget_world(s, "main"))
        assert model.in_flight == 0
        calls = model.calls
        await asyncio.sleep(0.2)
        assert model.calls == calls
        assert home.room.database.read_now(lambda s: s.get(WorldRow, "main")) is None


def test_no_command_waits_ten_seconds() -> None:
    assert PATIENCE_SECONDS <= 5
