"""Measures the way back of a world in which the sample village has lived a day, by the rehearsal: keeping it, bringing
it back, and what a branch adds to the database. And dialogues of groups in bulk: how fast they are made, and what calls
a turn takes.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from sqlmodel import Session

from benchmarks import scene_prompts
from benchmarks.lived import WORLD, megabytes
from service.content.files import bundled_content
from service.content.load import load_content
from service.locales import languages
from service.runtime.snapshots import branch, keep, made_at, read_snapshot, restore, rows_of
from service.settings import Settings
from studio.generate.groups import groups_plan
from studio.generate.making import Order, make_dataset
from tests.runtime.lives import House, house, rehearsal
from world.time import MINUTES_PER_DAY

TIMES = 5
NAME = "evening"
GROUPS = 200
_WAYS = {
    "": ("in_order", "all"),
    "_modulated": ("in_order", "model"),
    "_moderated": ("moderator", "all"),
    "_both": ("moderator", "model"),
}
"""Of the figures: who is next, and who perceives a turn."""


def run(minutes: int = MINUTES_PER_DAY, groups: int = GROUPS, scenes: int = scene_prompts.SCENES) -> dict[str, float]:
    """Figures: the shortest of some times, in milliseconds of SQLite, and megabytes; rehearsed dialogues of two to four
    a second; calls for a turn of four, and tokens of its prompt in a rehearsed scene.
    """
    begun = time.perf_counter()
    _dialogues(groups, "rounds: 2")
    rate = groups / (time.perf_counter() - begun)
    calls = {f"calls_per_turn{name}": _calls(max(1, groups // 20), *way) for name, way in _WAYS.items()}
    asked = {language: scene_prompts.run(language, scenes) for language in languages()}
    return {
        **asyncio.run(_way_back(minutes)),
        **calls,
        **{f"prompt_tokens_{language}": found["tokens"] for language, found in asked.items()},
        "prefix_share": min(found["prefix_share"] for found in asked.values()),
        "generate_per_s": rate,
    }


def _calls(groups: int, policy: str, modulator: str) -> float:
    card = _dialogues(groups, f"turnPolicy: {policy}\nmodulator: {modulator}", least=4)
    return float((card["total"]["calls"] - card["total_dropped"]["calls"]) / card["counts"]["turns"])


def _dialogues(count: int, more: str, least: int = 2) -> dict[str, Any]:
    """The card of so many groups that are drawn from the village."""
    with tempfile.TemporaryDirectory() as directory, redirect_stdout(sys.stderr):
        file, output = Path(directory) / "groups.yaml", Path(directory) / "out.jsonl"
        file.write_text(f"draw: {{count: {count}, size: [{least}, 4]}}\nlanguage: en\n{more}\n", "utf-8")
        settings = Settings(_env_file=None, embedding={"provider": "none"})
        make_dataset(settings, groups_plan(file, settings), Order(file=output, plain=True, language="en"))
        card: dict[str, Any] = json.loads(output.with_suffix(".card.json").read_text("utf-8"))
    return card


async def _way_back(minutes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        content = load_content(bundled_content())
        async with house(content, Path(directory), rehearsal(), daily_snapshots=0) as lived:
            await lived.live(minutes)
            print(f"the village has lived {minutes} minutes", file=sys.stderr)
            snapshot_ms = await _shortest(lambda: keep(lived.room, WORLD, NAME))
            before = megabytes(Path(directory))
            rows = await rows_of(lived.room, WORLD)
            await lived.room.database.write(lambda s: branch(s, WORLD, rows, made_at(s, WORLD, None), "what-if"))
            branch_mb = megabytes(Path(directory)) - before
            restore_ms = await _shortest(lambda: lived.world_runner.rewrite(WORLD, partial(_restore, lived)))
    return {"snapshot_ms": snapshot_ms, "restore_ms": restore_ms, "branch_mb": branch_mb}


def _restore(lived: House, session: Session) -> None:
    restore(session, WORLD, read_snapshot(session, WORLD, NAME), made_at(session, WORLD, NAME))


async def _shortest(work: Callable[[], Awaitable[object]]) -> float:
    """Of some times, in milliseconds: what else the machine does only adds to it."""
    times = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        await work()
        times.append(time.perf_counter() - begun)
    return min(times) * 1000
