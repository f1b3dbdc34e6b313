"""Measures five hundred conversations that end within ten seconds, on SQLite: whether talking goes on while all is
remembered.

A scripted model takes four seconds for a word and as long for a closing. Conversations of five turns begin over ten
seconds, in a hundred worlds of five pairs, so that from the twentieth second to the thirtieth one after the other ends
while others talk.
"""

import asyncio
import itertools
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from sqlmodel import Session

from benchmarks.turn import SAID, Stopwatch
from service.api.server import settle_memory
from service.content.files import bundled_content
from service.content.load import load_content
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import PromptContext
from service.conversation.stream import ALL, Speaking, Stream
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.memory.memory_store import MemoryStore
from service.people.worlds import WorldRepository
from service.runtime.carried import jobs_of
from service.settings import Settings
from service.store.budget import DailyBudget
from service.store.jobs import change_job, enqueue, job_of
from service.store.session import Database
from service.store.tables import ConversationKey
from tests.conversation.talks import begin, place

WORLDS = 100
PAIRS = (("aoi", "npc_taro"), ("mio", "npc_fumi"), ("ren", "npc_shiho"), ("sota", "npc_kiriko"), ("sayo", "npc_genzo"))
BEGIN_SECONDS = 10.0
MODEL_SECONDS = 4.0
TURNS = 5
BEAT_SECONDS = 0.005


class Timed(Stream):
    """Notes how long each commit took, when conversations ended, and when they were closed."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[float] = []
        self.ends: dict[ConversationKey, float] = {}
        self.closed: list[float] = []
        self._spoken: dict[ConversationKey, float] = {}

    def tell(self, key: ConversationKey, words: Speaking | None = None) -> None:
        """See Stream."""
        if words is not None:
            self._spoken[key] = time.perf_counter()
        super().tell(key, words)

    def hush(self, key: ConversationKey) -> None:
        """See Stream."""
        if key in self._spoken:
            self.ends[key] = time.perf_counter()
            self.commits.append(self.ends[key] - self._spoken.pop(key))
        super().hush(key)

    def settle(self, key: ConversationKey) -> None:
        """See Stream."""
        self.closed.append(time.perf_counter())
        super().settle(key)


class Unhurried(Stopwatch):
    """The same words, each after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__("en")
        self._seconds = seconds

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """See Stopwatch."""
        await asyncio.sleep(self._seconds)
        return await super().complete(prompt, on_text)

    def _words(self, prompt: Prompt[Any]) -> str:
        said: PromptContext = prompt.given  # type: ignore[assignment] # it speaks
        return SAID["en"][len(said.lines)]


def run(
    *, worlds: int = WORLDS, begin_seconds: float = BEGIN_SECONDS, model_seconds: float = MODEL_SECONDS
) -> dict[str, float]:
    """Figures: conversations; milliseconds from a word's end until its turn is committed (p50, p95, longest), the
    longest stall of the event loop, seconds from the first end to the last, and until the last is remembered.
    """
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(
            _env_file=None,
            data_dir=Path(directory),
            embedding={"provider": "none"},
            world={"language": "en", "decision": "routine"},
        )
        database = Database(f"sqlite:///{Path(directory) / 'kataribe.db'}")
        database.migrate()
        deps = ConversationDependencies(
            settings=settings,
            worlds=WorldRepository(load_content(bundled_content()), settings.world),
            database=database,
            memory=MemoryStore(database),
            models=Models(dict.fromkeys(ROLES, Unhurried(model_seconds))),
            budget=DailyBudget(database, settings.llm),
            stream=Timed(),
        )
        keys = [_begun(deps, f"w{world:03}", *pair) for world in range(worlds) for pair in PAIRS]
        settle_memory()
        try:
            return asyncio.run(_measure(deps, keys, begin_seconds))
        finally:
            database.close()


def _begun(deps: ConversationDependencies, world_id: str, character_id: str, npc_id: str) -> ConversationKey:
    beside = deps.worlds.content.cast("en").world_map
    place(deps, character_id, beside.beside(beside.posts[npc_id])[0], world_id)
    met = begin(deps, character_id=character_id, npc_id=npc_id, max_turns=TURNS, world_id=world_id)
    return ConversationKey(world_id, met)


def _enqueue(session: Session, key: ConversationKey) -> None:
    enqueue(session, job_of(key))


async def _measure(
    deps: ConversationDependencies, keys: list[ConversationKey], begin_seconds: float
) -> dict[str, float]:
    jobs = jobs_of(deps)
    for key in keys:  # each is carried from when it is enqueued again
        await deps.database.write(partial(change_job, key=job_of(key), is_cancelled=True))
    await jobs.start()
    told = deps.stream
    assert isinstance(told, Timed)
    with told.mailbox(ALL) as box:
        beat = asyncio.create_task(_beat())
        for key in keys:
            await deps.database.write(partial(_enqueue, key=key))
            await asyncio.sleep(begin_seconds / len(keys))
        while len(told.closed) < len(keys):
            await box.wait(1)
            box.take()
        beat.cancel()
        stalls = await asyncio.gather(beat)
    await jobs.stop()
    commits, ends = sorted(told.commits), told.ends.values()
    return {
        "conversations": len(keys),
        "commit_ms_p50": 1000 * statistics.median(commits),
        "commit_ms_p95": 1000 * commits[int(0.95 * len(commits))],
        "commit_ms_max": 1000 * commits[-1],
        "loop_stall_ms_max": 1000 * max(stalls),
        "seconds_first_end_to_last": max(ends) - min(ends),
        "seconds_last_end_to_last_closed": max(told.closed) - max(ends),
    }


async def _beat() -> float:
    """The longest that a sleep of `BEAT_SECONDS` overslept."""
    longest = 0.0
    try:
        for _ in itertools.count():
            before = time.perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            longest = max(longest, time.perf_counter() - before - BEAT_SECONDS)
    except asyncio.CancelledError:
        pass
    return longest
