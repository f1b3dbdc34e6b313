"""Owns the tests of who moves a world: what stops on the way goes on, and what is tried twice is done once."""

import asyncio
import gc
import logging
from pathlib import Path

import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col

from service.content.load import Content
from service.errors import WorldMoves
from service.memory.forgetting import forget_world
from service.runtime.client_actions import take_control
from service.runtime.world_runner import WorldRunner
from service.runtime.world_session import WorldSession, load, save
from service.store.tables import WorldRow
from tests.runtime.lives import House, Slow, house, rehearsal
from world.actions import HOLD
from world.time import WorldTime

HOUR = 60


async def come_to(home: House, until: WorldTime) -> None:
    """Return when the clock is there, whoever moves it."""
    async with asyncio.timeout(60):
        # Another task moves it, and tells nobody.
        while home.room.database.read_now(lambda s: home.room.worlds.open(s, "main").now) < until:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def test_a_world_that_stopped_on_the_way_goes_on_by_itself(village: Content, tmp_path: Path) -> None:
    async def live() -> int:
        model = Slow(rehearsal(), seed=1, longest_seconds=0, fail_at=20)
        async with house(village, tmp_path, model, look_seconds=0.05) as home:
            step = await home.world_runner.tick("main", HOUR)
            await come_to(home, step.after)
            return model.calls

    assert asyncio.run(live()) > 20


def test_who_waits_is_told_what_stopped_the_world(village: Content, tmp_path: Path) -> None:
    async def live() -> None:
        async with house(village, tmp_path, Slow(rehearsal(), seed=1, longest_seconds=0, fail_at=20)) as home:
            step = await home.world_runner.tick("main", HOUR)
            with pytest.raises(RuntimeError, match="the power is gone"):
                await home.world_runner.wait("main", step.after)

    asyncio.run(live())


def test_a_command_that_is_tried_again_begins_from_what_is_stored(village: Content, tmp_path: Path) -> None:
    found: list[str] = []

    def work(session: Session, world_session: WorldSession) -> None:
        found.append(world_session.core.people["aoi"].last.action_id)
        take_control(session, world_session, "aoi")
        if len(found) == 1:
            raise IntegrityError("INSERT", {}, Exception("somebody else was first"))

    async def live() -> str:
        async with house(village, tmp_path, rehearsal()) as home:
            await home.world_runner.command("main", lambda _, world_session: world_session.core.frontier)
            await home.world_runner.command("main", work)
            return await home.world_runner.command(
                "main", lambda _, world_session: world_session.core.people["aoi"].last.action_id
            )

    assert asyncio.run(live()) == HOLD
    assert len(found) == 2
    assert HOLD not in found


def _hold(home: House, runner: str | None) -> None:
    """Let another part of this process, which lives, move the world; None: nobody does."""
    held = update(WorldRow).where(col(WorldRow.id) == "main").values(runner=runner, is_moving=True)
    home.room.database.write_now(lambda s: s.execute(held))


def test_who_waits_while_another_replica_moves_the_world_waits_without_a_word_in_the_log(
    village: Content, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def live() -> None:
        async with house(village, tmp_path, rehearsal()) as home:
            await home.live(1)
            _hold(home, home.room.database.presence.new_holder())
            asyncio.get_running_loop().call_later(0.3, _hold, home, None)
            await home.live(1)

    with caplog.at_level(logging.WARNING):
        asyncio.run(live())
    assert caplog.records == []


def test_a_world_that_another_replica_moves_is_not_changed_here(village: Content, tmp_path: Path) -> None:
    async def live() -> None:
        async with house(village, tmp_path, rehearsal()) as home:
            await home.live(1)
            _hold(home, home.room.database.presence.new_holder())
            with pytest.raises(WorldMoves):
                await home.world_runner.command("main", lambda *_: None)

    asyncio.run(live())


def test_who_has_not_read_what_another_wrote_writes_nothing(village: Content, tmp_path: Path) -> None:
    async def live() -> None:
        async with house(village, tmp_path, rehearsal()) as home:
            await home.live(1)
            database, worlds = home.room.database, home.room.worlds
            late = database.read_now(lambda s: load(s, worlds, "main", models_missing=False))
            await home.live(1)
            with pytest.raises(WorldMoves):
                database.write_now(lambda s: save(s, late))

    asyncio.run(live())


def worlds_in_memory() -> int:
    """How many living worlds the process holds."""
    gc.collect()
    # By type(): isinstance() would wake every module that is loaded lazily.
    return sum(type(one) is WorldSession for one in gc.get_objects())


def test_of_many_worlds_only_the_last_used_are_held_and_a_removed_one_is_not(village: Content, tmp_path: Path) -> None:
    async def live() -> None:
        async with house(village, tmp_path, rehearsal()) as home:
            before = worlds_in_memory()
            world_runner = WorldRunner(home.world_runner.deps, most_held=2)
            for number in range(5):
                await world_runner.command(f"w{number}", lambda s, held: take_control(s, held, "aoi"))
            assert worlds_in_memory() == before + 2
            for number in range(5):  # who was let go of is read again as it was left
                how = await world_runner.command(f"w{number}", lambda _, held: held.how["aoi"])
                assert how == "client"
            await world_runner.rewrite("w4", lambda s: forget_world(s, "w4"))
            assert worlds_in_memory() == before + 1

    asyncio.run(live())
