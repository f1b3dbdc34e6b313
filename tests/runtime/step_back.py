"""Owns a process whose machine's clock steps back by an hour while a world's clock runs; it succeeds when that goes
on.
"""

import asyncio
import datetime
import sys
import time
from pathlib import Path

machine_time = time.time
stepped_seconds = 0.0


def stepped_time() -> float:
    """What the machine's clock shows."""
    return machine_time() - stepped_seconds


class SteppedDatetime(datetime.datetime):
    """What everybody in this process takes for the machine's date and time."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "SteppedDatetime":
        return cls.fromtimestamp(stepped_time(), tz)


time.time = stepped_time
datetime.datetime = SteppedDatetime  # type: ignore[misc]

# After the clock is in place: who imports it from here on gets it.
from service.content.files import bundled_content  # noqa: E402
from service.content.load import load_content  # noqa: E402
from service.store.tables import WorldRow  # noqa: E402
from tests.runtime.lives import House, house, rehearsal  # noqa: E402
from tests.runtime.patience import PATIENCE_SECONDS  # noqa: E402


async def come_past(home: House, minute: int) -> int:
    """The world's clock, when it is past the minute."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            row = home.room.database.read_now(lambda s: s.get_one(WorldRow, "main"))
            if row.now > minute:
                return row.now
            await asyncio.sleep(0.02)


async def main(directory: Path) -> None:
    """Raises: TimeoutError: the world's clock stands."""
    global stepped_seconds
    village = load_content(bundled_content())
    async with house(village, directory, rehearsal(), look_seconds=0.05, decision="routine") as home:
        await home.world_runner.set_clock("main", mode="running", speed=6000.0)
        now = await come_past(home, village.start + 10)
        stepped_seconds = 3600.0
        for _ in range(3):
            now = await come_past(home, now + 10)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
