"""Measures a day lived in the service itself: its driver, its store, its prompts, and models asked over HTTP.

The model server is in another process (`benchmarks.model_server`), as slow for the same question in every run.
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlmodel import Session

from benchmarks.model_server import MODEL, ModelServer, model_server
from benchmarks.townsfolk import routine_content, town_content
from service.llm.choose import choose_models
from service.runtime.pace import ExactRun, OpenCalls
from service.runtime.world_session import WorldSession, load
from service.settings import LlmSettings, Settings
from service.store.tables import WorldRow
from tests.runtime.lives import House, house, rehearsal
from world.time import WorldTime

IN_FLIGHT = 32
NO_SWEEP = 86_400.0
"""Lockstep goes round the runner, whose sweep would move the world beside it after a while."""
MEAN_SECONDS = 0.15
"""What stands for a second of a model's, the same factor for all runs: longer than the service's own CPU takes a
call.
"""
WORLD = "main"


class Lockstep(ExactRun):
    """All of a minute is answered before the next one is asked about, so that each talk has one turn in each minute."""

    async def _ask_models(self) -> None:
        waiting, self._backlog = self._backlog, []
        asked = [entry[-1].time for entry in waiting] + [call.time for call in self._asked.values()]
        now = min(asked, default=WorldTime(0))
        self._backlog = sorted(entry for entry in waiting if entry[-1].time == now)
        await super()._ask_models()
        self._backlog += [entry for entry in waiting if entry[-1].time != now]


@dataclass(frozen=True, kw_only=True)
class Lived:
    """One world day. `seconds` and `cpu` are real, `cpu` of this process alone; `megabytes`: the stores' growth."""

    story: dict[str, list[Any]]
    seconds: float
    cpu: float
    calls: int
    most_in_flight: int
    megabytes: float

    def by_role(self, key: str) -> dict[str, int]:
        """Sums of what the service counted."""
        sums: dict[str, int] = defaultdict(int)
        for row in self.story["usage"]:
            sums[row["role"]] += row[key]
        return sums


def http_day(characters: int, minutes: int) -> dict[str, float]:
    """Figures of characters in the generated town, who ask models over HTTP; ahead against lockstep.

    Raises:
        RuntimeError: the two told different stories.
    """
    lockstep, ahead = (asyncio.run(_live(characters, minutes, lockstep=lockstep)) for lockstep in (True, False))
    told_apart = [part for part in ahead.story if ahead.story[part] != lockstep.story[part]]
    if told_apart:
        raise RuntimeError(f"the service told another story than lockstep: {', '.join(told_apart)} differ")
    figures = {
        f"http_speedup_town_{characters}": lockstep.seconds / ahead.seconds,
        f"http_seconds_town_{characters}": ahead.seconds,
        f"http_lockstep_seconds_town_{characters}": lockstep.seconds,
        "http_most_in_flight": ahead.most_in_flight,
        "calls_per_character_day": ahead.calls / characters,
        "cpu_ms_per_call": ahead.cpu * 1000 / ahead.calls,
        f"db_mb_day_{characters}": ahead.megabytes,
        "prompt_tokens_per_character_day": sum(ahead.by_role("prompt_tokens").values()) / characters,
    }
    for role, tokens in ahead.by_role("prompt_tokens").items():
        figures[f"prompt_tokens_per_character_day_{role}"] = tokens / characters
        figures[f"calls_per_character_day_{role}"] = ahead.by_role("calls")[role] / characters
    return figures


def routine_day(crowd: int, minutes: int) -> dict[str, float]:
    """Figures of a crowd that lives by routine in the same service: CPU seconds of a day, and what its store grows
    by.
    """
    return asyncio.run(_routine(crowd, minutes))


async def _live(characters: int, minutes: int, *, lockstep: bool) -> Lived:
    with model_server(mean_seconds=MEAN_SECONDS) as server, tempfile.TemporaryDirectory() as directory:
        model = choose_models(_settings(server), rehearsal()).for_role("decision")
        town = town_content(characters)
        async with house(town, Path(directory), model, at_once=IN_FLIGHT, look_seconds=NO_SWEEP) as lived:
            before, started, cpu = megabytes(Path(directory)), time.monotonic(), time.process_time()
            await (_minute_by_minute(lived, minutes) if lockstep else lived.live(minutes))
            seconds, cpu = time.monotonic() - started, time.process_time() - cpu
            print(f"{'lockstep' if lockstep else 'ahead'} over HTTP: {seconds:.0f} s", file=sys.stderr)
            grown, story = megabytes(Path(directory)) - before, lived.story()
        await model.aclose()
        tally = server.tally()
    return Lived(
        story=story,
        seconds=seconds,
        cpu=cpu,
        calls=tally.calls,
        most_in_flight=tally.most_in_flight,
        megabytes=grown,
    )


async def _minute_by_minute(lived: House, minutes: int) -> None:
    room = lived.room

    def order(session: Session) -> WorldSession:
        now = room.worlds.open(session, WORLD, lock=True).now
        session.get_one(WorldRow, WORLD).target = now + minutes
        return load(session, room.worlds, WORLD, models_missing=False)

    world_session = await room.database.write(order)
    until = WorldTime(world_session.world.now + minutes)
    await Lockstep(lived.world_runner.deps, world_session, until, OpenCalls()).run()


async def _routine(crowd: int, minutes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        async with house(routine_content(crowd), Path(directory), rehearsal(), decision="routine") as lived:
            before, cpu = megabytes(Path(directory)), time.process_time()
            await lived.live(minutes)
            cpu = time.process_time() - cpu
            return {
                f"service_routine_{crowd}_day_s": cpu,
                f"service_routine_{crowd}_db_mb": megabytes(Path(directory)) - before,
            }


def _settings(server: ModelServer) -> Settings:
    llm = LlmSettings(base_url=server.base_url, model=MODEL, api_key=SecretStr("none"), max_concurrency=IN_FLIGHT)
    return Settings(_env_file=None, llm=llm)


def megabytes(directory: Path) -> float:
    """Of both stores, with what is not in the main file yet."""
    return sum(_pages(path) for path in sorted(directory.glob("*.db"))) / 1e6


def _pages(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        count, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(count * size)
