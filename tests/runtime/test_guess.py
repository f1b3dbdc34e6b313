"""While one person's model keeps the clock waiting, a guess asks what others will be asked; the story is the same."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from benchmarks.model_server import MODEL, model_server
from benchmarks.townsfolk import town_content
from service.core import Core
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener
from service.llm.choose import Models
from service.settings import Settings
from service.store.usage import usage_rows
from service.store.world_rows import read_rows
from service.wiring import Wiring

pytestmark = pytest.mark.anyio

PEOPLE, MINUTES = 25, 120
OF_ONE_RUN = {"revision", "epoch", "timeline", "duration_ms", "created_at", "updated_at", "made_at", "runner", "id"}


class Kept:
    """Of the models: what is asked, by whom; and one person who keeps all waiting until it is let go on."""

    def __init__(self, slow: str) -> None:
        self.asked: list[str] = []
        self.slow = slow
        self.go_on = asyncio.Event()

    def of(self, models: Models) -> Models:
        return models.wrapped(lambda model: Keeping(model, self))

    async def silence(self, seconds: float = 1.0) -> None:
        """Return when nobody has asked anything for so long."""
        count = -1
        while count < len(self.asked):
            count = len(self.asked)
            await asyncio.sleep(seconds)


class Keeping(ModelWrapper):
    def __init__(self, inner: ChatModel, kept: Kept) -> None:
        super().__init__(inner)
        self._kept = kept

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        self._kept.asked.append(prompt.thread)
        if prompt.thread.endswith(f"/{self._kept.slow}"):
            await self._kept.go_on.wait()
        return await self._inner.complete(prompt, on_text)


def story(core: Core) -> dict[str, list[str]]:
    """All rows that tell it, without what is of one run."""
    rows = core.conversation.database.read_now(lambda s: read_rows(s, "main"))
    told = ("events", "turns", "memories", "summaries", "movements", "conversations", "people", "commitments")
    return {
        name: sorted(
            json.dumps({k: v for k, v in row.items() if k not in OF_ONE_RUN}, default=str) for row in rows[name]
        )
        for name in told
    }


async def lived(directory: Path, base_url: str, minutes: int) -> tuple[dict[str, list[str]], int, dict[str, Any]]:
    """The story of a morning; how many questions were put while one person kept all waiting; what it cost by role."""
    settings = Settings(
        _env_file=None,
        data_dir=directory,
        embedding={"provider": "none"},
        llm={"base_url": base_url, "api_key": SecretStr("none"), "model": MODEL, "max_concurrency": 32},
        world={"language": "en", "start": "2026-04-01T07:00", "guess_minutes": minutes, "decision": "model"},
    )
    content = town_content(PEOPLE)
    kept = Kept(sorted(content.cast("en").characters)[0])
    async with Wiring(settings, content=content, wrap_models=kept.of).running() as core:
        step = await core.world_runner.tick("main", MINUTES)
        living = asyncio.create_task(core.world_runner.wait("main", step.after))
        await kept.silence()
        so_far = len(kept.asked)
        kept.go_on.set()
        await living
        await core.guesses.stop()
        used = core.conversation.database.read_now(lambda s: usage_rows(s, "main"))
        return story(core), so_far, {row.role: row for row in used}


async def test_a_guess_asks_ahead_and_tells_the_same_story(tmp_path: Path) -> None:
    with model_server(mean_seconds=0.02) as server:
        plain, waited, used = await lived(tmp_path / "plain", server.base_url, 0)
        asked = server.tally().calls
        guessed, ahead, also = await lived(tmp_path / "guessed", server.base_url, 60)
        asked_ahead = server.tally().calls - asked
    assert guessed == plain
    assert len(plain["turns"]) > 5
    assert ahead > waited, "nothing was asked ahead"
    in_vain = also.pop("guess").calls if "guess" in also else 0
    assert {role: row.calls for role, row in also.items()} == {role: row.calls for role, row in used.items()}
    assert asked_ahead == asked + in_vain
