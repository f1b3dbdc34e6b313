"""Measures the way back of a world in which the sample village has lived a day, by the rehearsal: keeping it, bringing
it back, and what a branch adds to the database.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from sqlmodel import Session

from benchmarks.lived import WORLD, megabytes
from service.content.files import bundled_content
from service.content.load import load_content
from service.runtime.snapshots import branch, keep, made_at, picture, read_snapshot, restore
from tests.runtime.lives import House, house, rehearsal
from world.time import MINUTES_PER_DAY

TIMES = 5
NAME = "evening"


def run(minutes: int = MINUTES_PER_DAY) -> dict[str, float]:
    """Figures: the shortest of some times, in milliseconds of SQLite, and megabytes."""
    return asyncio.run(_way_back(minutes))


async def _way_back(minutes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        content = load_content(bundled_content())
        async with house(content, Path(directory), rehearsal(), daily_snapshots=0) as lived:
            await lived.live(minutes)
            print(f"the village has lived {minutes} minutes", file=sys.stderr)
            outbox = lived.world_runner.deps.outbox
            snapshot_ms = await _shortest(lambda: keep(lived.room, outbox, WORLD, NAME))
            before = megabytes(Path(directory))
            rows = await picture(lived.room, outbox, WORLD)
            await lived.room.database.write(
                lambda s: branch(s, lived.room, WORLD, rows, made_at(s, WORLD, None), "what-if")
            )
            branch_mb = megabytes(Path(directory)) - before
            restore_ms = await _shortest(lambda: lived.world_runner.rewrite(WORLD, partial(_restore, lived)))
    return {"snapshot_ms": snapshot_ms, "restore_ms": restore_ms, "branch_mb": branch_mb}


def _restore(lived: House, session: Session) -> None:
    restore(session, lived.room, WORLD, read_snapshot(session, WORLD, NAME), made_at(session, WORLD, NAME))


async def _shortest(work: Callable[[], Awaitable[object]]) -> float:
    """Of some times, in milliseconds: what else the machine does only adds to it."""
    times = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        await work()
        times.append(time.perf_counter() - begun)
    return min(times) * 1000
