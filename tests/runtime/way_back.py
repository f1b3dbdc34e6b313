"""Owns the random ways through a world (saves, restores, branches, stops, kill -9) by which the way back is proved.

By hand: ``python -m tests.runtime.way_back --ways 50 --kills 10 [--postgresql]``.
"""

import argparse
import asyncio
import multiprocessing
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sqlmodel import Session

from service.content.files import bundled_content
from service.content.load import Content, load_content
from service.conversation.dependencies import ConversationDependencies
from service.export.story import StorySpan, story, written
from service.runtime.snapshots import branch, keep, made_at, read_snapshot, restore, rows_of
from service.runtime.world_clock import clock_and_target
from service.store.client_event_kinds import WorldRestored
from service.store.world_rows import Rows, read_rows
from tests.end_to_end.process import forked
from tests.runtime.lives import House, Slow, hamlet, house, rehearsal
from tests.servers.postgres import PostgresServer, find_binaries
from world.time import WorldTime

NAMES = {"en": "Village", "ja": "村"}
SPAN = 30
"""Minutes of a tick."""


def exported(room: ConversationDependencies, world_id: str = "main") -> bytes:
    """The story of the world as lines; what it is called is left out."""
    lines = room.database.read_now(lambda s: [*story(s, world_id, NAMES, StorySpan(), place="here")])
    return b"".join(map(written, lines[1:]))


def retold(room: ConversationDependencies, world_id: str = "main") -> str:
    """The same without what differs where it is lived again: how long models took, and what was asked in vain."""
    return re.sub(
        r'"(duration_ms|calls|prompt_tokens|completion_tokens|cached_tokens)": \d+',
        "",
        exported(room, world_id).decode(),
    )


def held(room: ConversationDependencies, world_id: str = "main") -> Rows:
    """All rows of the world, without its id and the numbers by which others notice that something has changed."""
    found = room.database.read_now(lambda s: read_rows(s, world_id))
    apart = {
        "worlds": {"id", "revision", "timeline", "branched_from", "branched_at", "people_revision"},
        "memory_owners": {"revision", "epoch"},
        "conversations": {"attempts"},
        "client_event_counts": {"newest"},
    }
    found["events"] = [row for row in found["events"] if row["kind"] != WorldRestored.kind]
    return {
        name: [{key: row[key] for key in row.keys() - {"world_id"} - apart.get(name, set())} for row in some]
        for name, some in found.items()
    }


def brought_back(room: ConversationDependencies, world_id: str, name: str, session: Session) -> None:
    restore(session, world_id, read_snapshot(session, world_id, name), made_at(session, world_id, name))


def branched(room: ConversationDependencies, world_id: str, found: Rows, to_world: str, session: Session) -> None:
    branch(session, world_id, found, made_at(session, world_id, None), to_world)


def aim(home: House, world_id: str) -> tuple[WorldTime, WorldTime]:
    """The world's clock, and how far it was told to go."""
    return home.room.database.read_now(lambda s: clock_and_target(s, home.room.worlds, world_id))


async def walk(seed: int, content: Content, directory: Path, *, url: str | None = None) -> int:
    """Random ticks, saves, restores, branches and stops in the middle: a world tells the same story of a span of time,
    and its people remember the same, however it came through it. How often it came through one again.
    """
    rng = random.Random(seed)
    model = Slow(rehearsal(), seed=seed, longest_seconds=0.002)
    known, worlds, saves, again = dict[tuple[str, WorldTime], str](), ["main"], list[tuple[str, str]](), 0
    place: dict[str, Any] = {"url": url, "daily_snapshots": 0}
    begun = partial(house, hamlet(content), directory, model, **place)
    async with AsyncExitStack() as stack:
        home = await stack.enter_async_context(begun())
        await home.live(SPAN)
        for step in range(17):
            world_id = rng.choice(worlds)
            match rng.choice(["tick", "tick", "save", "restore", "restore", "branch", "kill"]):
                case "tick":
                    await home.live(SPAN, world_id)
                case "save":
                    await keep(home.room, world_id, f"s{step}")
                    saves.append((world_id, f"s{step}"))
                case "restore" if saves:
                    world_id, name = rng.choice(saves)
                    await home.world_runner.rewrite(world_id, partial(brought_back, home.room, world_id, name))
                case "branch" if len(worlds) < 4:
                    found = await rows_of(home.room, world_id)
                    worlds.append(f"w{step}")
                    await home.room.database.write(partial(branched, home.room, world_id, found, worlds[-1]))
                    assert exported(home.room, worlds[-1]) == exported(home.room, world_id)
                case "kill":
                    living = asyncio.create_task(home.live(SPAN, world_id))
                    await asyncio.sleep(rng.random() * 0.3)
                    living.cancel()
                    await stack.aclose()
                    home = await stack.enter_async_context(begun())
                    _, until = aim(home, world_id)
                    await home.world_runner.wait(world_id, until)
            now, _ = aim(home, world_id)
            told = retold(home.room, world_id)
            again += (world_id, now) in known
            assert known.setdefault((world_id, now), told) == told, (seed, step, world_id)
    return again


def restore_for_ever(told: "Connection[Any, Any]", directory: Path, url: str | None) -> None:
    """Bring the world back to `early`, then to `late`, and so on, until somebody kills this process."""

    async def go_on() -> None:
        async with house(hamlet(load_content(bundled_content())), directory, rehearsal(), url=url) as home:
            while True:
                for name in ("early", "late"):
                    await home.world_runner.rewrite("main", partial(brought_back, home.room, "main", name))
                    told.send("begun")

    asyncio.run(go_on())


def kill_restores(content: Content, directory: Path, kills: int, *, url: str | None = None, seed: int = 0) -> list[str]:
    """Kill -9 a process that restores, at random moments: of each, what the world is then, `early` or `late`."""
    rng, moments, found = random.Random(seed), dict[str, Rows](), []

    async def live() -> None:
        async with house(hamlet(content), directory, rehearsal(), url=url, daily_snapshots=0) as home:
            for name in ("early", "late"):
                await home.live(60)
                await keep(home.room, "main", name)
            for name in ("early", "late"):
                await home.world_runner.rewrite("main", partial(brought_back, home.room, "main", name))
                moments[name] = held(home.room)

    async def look() -> Rows:
        async with house(hamlet(content), directory, rehearsal(), url=url) as home:
            return held(home.room)

    asyncio.run(live())
    for _ in range(kills):
        here, there = multiprocessing.Pipe()
        process = forked(restore_for_ever, there, directory, url)
        there.close()  # so that nobody waits for one that has died
        assert here.recv() == "begun"
        time.sleep(rng.random() * 0.4)  # the moment is what is at stake
        process.kill()
        process.join()
        now = asyncio.run(look())
        found.append(next(name for name, rows in moments.items() if rows == now))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ways", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="seed of the first way")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--postgresql", action="store_true")
    asked = parser.parse_args()
    content = load_content(bundled_content())
    new_url: Callable[[], str] | None = None
    with ExitStack() as stack:
        if asked.postgresql:
            binaries = find_binaries()
            assert binaries is not None
            new_url = stack.enter_context(PostgresServer(binaries)).create_database
        for seed in range(asked.first, asked.first + asked.ways):
            directory = Path(tempfile.mkdtemp())
            again = asyncio.run(walk(seed, content, directory, url=new_url() if new_url else None))
            shutil.rmtree(directory)
            print(f"way {seed}: as its model, {again} moments come to again", flush=True)
        directory = Path(tempfile.mkdtemp())
        print("killed:", kill_restores(content, directory, asked.kills, url=new_url() if new_url else None))
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
