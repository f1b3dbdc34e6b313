"""Two processes beside one PostgreSQL: one of them runs a world's clock, both know how it is set, and one follows the
other.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from service.content.load import Content
from service.errors import WorldMoves
from service.llm.chat import ChatModel
from service.runtime.world_runner import ClockPace
from service.store.tables import WorldRow
from tests.runtime.hanging import Hanging
from tests.runtime.lives import House, house, rehearsal
from tests.runtime.patience import until
from tests.servers.postgres import PostgresServer

pytestmark = [pytest.mark.anyio, pytest.mark.server]

FAST = 1200.0
"""World minutes a real minute: 20 a second."""
WEEK = 7 * 24 * 60


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Replica:
    """One of two processes. Its machine's time passes when the test says so."""

    seconds: float = 0.0
    home: House = field(init=False)

    @property
    def runs(self) -> bool:
        """Whether the clock of `main` runs here."""
        return self.home.world_runner.world("main").clock is not None

    @property
    def row(self) -> WorldRow:
        return self.home.room.database.read_now(lambda s: s.get_one(WorldRow, "main"))


class Two:
    """Both."""

    def __init__(
        self, content: Content, directory: Path, url: str, model: ChatModel, *, patience_seconds: float = 1
    ) -> None:
        self._content = content
        self._directory = directory
        self._url = url
        self._model = model
        self._patience_seconds = patience_seconds
        self.replicas: list[Replica] = []

    @asynccontextmanager
    async def up(self) -> AsyncIterator[tuple[Replica, Replica]]:
        """Running, with nothing in the store."""
        async with AsyncExitStack() as stack:
            for name in ("one", "two"):
                directory = self._directory / name
                directory.mkdir()
                replica = Replica()
                replica.home = await stack.enter_async_context(
                    house(
                        *(self._content, directory, self._model),
                        url=self._url,
                        look_seconds=0.05,
                        seconds=lambda replica=replica: replica.seconds,  # type: ignore[misc] # of this round
                        patience_seconds=self._patience_seconds,
                    )
                )
                self.replicas.append(replica)
            yield self.replicas[0], self.replicas[1]

    def pass_time(self, seconds: float) -> None:
        """On both machines."""
        for replica in self.replicas:
            replica.seconds += seconds


@pytest.fixture
def postgres(postgres_server: PostgresServer, postgres_template: str) -> str:
    """The URL of a migrated database."""
    return postgres_server.create_database(like=postgres_template)


async def who_runs_it(one: Replica, other: Replica) -> tuple[Replica, Replica]:
    """Who runs the clock of `main`, and who does not."""
    await until(lambda: one.runs or other.runs)
    return (one, other) if one.runs else (other, one)


@pytest.mark.parametrize("pace", ["exact", "realtime"])
async def test_a_clock_that_two_know_of_ticks_once(
    pace: ClockPace, village: Content, tmp_path: Path, postgres: str
) -> None:
    two = Two(village, tmp_path, postgres, rehearsal())
    async with two.up() as (one, other):
        await one.home.world_runner.set_clock("main", mode="running", speed=FAST, pace=pace)
        await who_runs_it(one, other)
        for second in range(1, 4):
            two.pass_time(0.5)
            await until(lambda: one.row.now == village.start + 10 * second)  # noqa: B023 - called here
            await asyncio.sleep(0.3)  # many looks: nobody finds another tick to be due
            assert one.row.now == village.start + 10 * second
            assert one.runs != other.runs


async def test_a_clock_that_is_set_through_one_is_known_to_the_other(
    village: Content, tmp_path: Path, postgres: str
) -> None:
    two = Two(village, tmp_path, postgres, rehearsal())
    async with two.up() as (one, other):
        await one.home.world_runner.set_clock("main", mode="running", speed=FAST)
        runs, idle = await who_runs_it(one, other)
        await idle.home.world_runner.set_clock("main", speed=FAST / 10)
        two.pass_time(1)
        await until(lambda: idle.row.now == village.start + 2)
        await idle.home.world_runner.set_clock("main", mode="manual")
        await until(lambda: not (runs.runs or runs.row.is_moving))
        stood = runs.row.now  # at the next minute that nobody had come to
        two.pass_time(1)
        await asyncio.sleep(0.2)
        assert runs.row.now == stood < village.start + 22


async def test_a_run_is_stopped_and_a_world_removed_through_another(
    village: Content, tmp_path: Path, postgres: str
) -> None:
    model = Hanging(rehearsal(), answers=20)
    async with Two(village, tmp_path, postgres, model).up() as (one, other):
        await one.home.world_runner.tick("main", WEEK)
        await model.hangs()
        with pytest.raises(WorldMoves):
            await other.home.world_runner.command("main", lambda *_: None)
        await other.home.world_runner.set_clock("main", mode="manual")
        await until(lambda: model.in_flight == 0 and not one.row.is_moving)
        assert one.row.target is None


async def test_one_that_stops_leaves_its_clocks_to_the_other_at_once(
    village: Content, tmp_path: Path, postgres: str
) -> None:
    two = Two(village, tmp_path, postgres, rehearsal())
    async with two.up() as (one, other):
        await one.home.world_runner.set_clock("main", mode="running", speed=FAST)
        runs, idle = await who_runs_it(one, other)
        await runs.home.world_runner.stop()
        await until(lambda: idle.runs, 20)
        two.pass_time(0.5)
        await until(lambda: idle.row.now == village.start + 10)


async def test_what_one_that_is_gone_has_held_is_the_others_at_once(
    village: Content, tmp_path: Path, postgres: str
) -> None:
    """A process that dies lets go of its connection (tests/end_to_end/test_kill_clock.py kills one)."""
    two = Two(village, tmp_path, postgres, rehearsal())
    async with two.up() as (one, other):
        await one.home.world_runner.set_clock("main", mode="running", speed=FAST)
        runs, idle = await who_runs_it(one, other)
        runs.home.room.database.presence.close()
        await until(lambda: idle.runs, 20)
