"""Owns the tests of many conversations started in one world: what a start reads, and how starts wait for each other."""

import asyncio
import time
from pathlib import Path

import pytest
from sqlmodel import Session

from service.content.load import Content, load_content
from service.conversation.prompt import Goal
from service.conversation.start import Start
from service.errors import Busy
from service.runtime.client_actions import talk
from service.runtime.world_session import WorldSession
from tests.content.village import in_pairs
from tests.runtime.lives import House, house, rehearsal
from tests.store.statements import statements

PAIRS = 20


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Pairs of characters at one place."""
    return load_content(in_pairs(PAIRS).write(tmp_path_factory.mktemp("crowd")))


async def start(home: House, number: int) -> str:
    """The pair of that number begins to talk, and goes on for ever; the conversation's id."""
    wanted = Start(
        opener_id=f"a{number:04}",
        partner_id=f"b{number:04}",
        goal=Goal(goal="Hear the news", success_criteria="There are some"),
        max_turns=10,
    )

    def work(session: Session, world_session: WorldSession) -> str:
        return talk(session, world_session, wanted, home.room.models.names()).id

    return await home.world_runner.command("main", work)


def test_a_start_asks_the_database_no_more_when_many_talk_already(crowd: Content, tmp_path: Path) -> None:
    async def asked_for(home: House, number: int) -> list[str]:
        with statements(home.room.database.engine) as asked:
            await start(home, number)
        return asked

    async def live() -> tuple[list[str], list[str], list[str]]:
        async with house(crowd, tmp_path, rehearsal(), decision="routine", look_seconds=3600) as home:
            await start(home, 0)
            few = await asked_for(home, 1)
            for number in range(2, PAIRS - 2):
                await start(home, number)
            many = await asked_for(home, PAIRS - 2)
            with pytest.raises(Busy):
                await start(home, 0)
            return few, many, await asked_for(home, PAIRS - 1)

    few, many, after_a_refusal = asyncio.run(live())
    assert few == many == after_a_refusal
    assert sum(statement.startswith("SELECT") for statement in many) <= 9


def test_starts_wait_for_one_another_longer_than_for_a_world_that_moves(crowd: Content, tmp_path: Path) -> None:
    def busy(_: Session, __: WorldSession) -> None:
        time.sleep(0.05)  # in the database's thread, as a command that has much to write

    async def live() -> set[str]:
        async with house(crowd, tmp_path, rehearsal(), decision="routine", patience_seconds=0.1) as home:
            occupied = [asyncio.create_task(home.world_runner.command("main", busy)) for _ in range(10)]
            started = await asyncio.gather(*(start(home, number) for number in range(PAIRS)))
            await asyncio.gather(*occupied)
            return set(started)

    assert len(asyncio.run(live())) == PAIRS


def test_who_gives_up_while_waiting_keeps_nobody_waiting(crowd: Content, tmp_path: Path) -> None:
    async def live() -> str:
        async with house(crowd, tmp_path, rehearsal(), decision="routine") as home:
            waiting = [asyncio.create_task(start(home, number)) for number in range(3)]
            await asyncio.sleep(0)
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            async with asyncio.timeout(10):
                return await start(home, 3)

    assert asyncio.run(live())
