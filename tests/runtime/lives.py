"""Owns a living world for tests: a keeper over a real store, the offline model, slowed down at random."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from service.content.load import Cast, Content
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.stream import Stream
from service.decision.situation import DecisionDependencies
from service.llm.chat import Answer, ChatModel, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.llm.wrappers import Budgeted
from service.memory.memory_store import MemoryStore
from service.offline.model import OfflineModel
from service.people.worlds import WorldRepository
from service.quality.checked import DecisionChecks, TurnChecks
from service.runtime.carried import jobs_of
from service.runtime.world_run import WorldDependencies
from service.runtime.world_runner import PATIENCE_SECONDS, WorldRunner
from service.settings import QualitySettings, Settings
from service.store.budget import DailyBudget, utc_now
from service.store.phase import Audience
from service.store.session import Database
from service.store.tables import (
    AttitudeChangeRow,
    ConversationRow,
    EventRow,
    MemoryRow,
    MoodRow,
    MovementRow,
    OverheardRow,
    ParticipantRow,
    QualityRow,
    SummaryRow,
    TurnRow,
    UsageRow,
)
from tests.servers.sqlite import put_migrated

HAMLET = ("aoi", "mio", "nagi", "ren")
"""Enough people to meet, to talk and to get into each other's way; each more costs every test its decisions."""


AT_ONCE = 8
"""Model calls that may be out at once."""


def hamlet(content: Content, people: Sequence[str] = HAMLET) -> Content:
    """The same village with four characters only."""
    casts = {
        language: replace(cast, characters={one: cast.characters[one] for one in people})
        for language, cast in content.casts.items()
    }
    return replace(content, casts=casts)


def leaving(cast: Cast, npc_id: str) -> Cast:
    """The same, where that NPC may leave its post."""
    places = cast.world_map
    npc = cast.npcs[npc_id].model_copy(update={"may_leave": True})
    posts = {other: node_id for other, node_id in places.posts.items() if other != npc_id}
    bases = {**places.bases, npc_id: places.posts[npc_id]}
    return replace(cast, npcs={**cast.npcs, npc_id: npc}, world_map=replace(places, posts=posts, bases=bases))


def rehearsal(seed: int = 7) -> OfflineModel:
    """The model that is none, for all roles."""
    return OfflineModel(seed=seed)


class Slow:
    """A ChatModel that answers as `inner`, after a time drawn at random; `calls` counts, `fails` says when it
    breaks.
    """

    def __init__(self, inner: ChatModel, *, seed: int, longest_seconds: float, fail_at: int | None = None) -> None:
        self._inner = inner
        self._rng = random.Random(seed)
        self._longest_seconds = longest_seconds
        self._fail_at = fail_at
        self.calls = 0

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        self.calls += 1
        if self.calls == self._fail_at:
            raise RuntimeError("the power is gone")
        await asyncio.sleep(self._rng.random() * self._longest_seconds)
        return await self._inner.complete(prompt, on_text)

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass(frozen=True, kw_only=True)
class House:
    """A service without HTTP."""

    room: ConversationDependencies
    world_runner: WorldRunner

    async def live(self, minutes: int, world_id: str = "main") -> None:
        """One tick, waited for."""
        step = await self.world_runner.tick(world_id, minutes)
        await self.world_runner.wait(world_id, step.after)

    def story(self, world_id: str = "main") -> dict[str, list[Any]]:
        """All that a world holds which people can see, in an order of its own."""

        def rows(table: Any, *order: Any, without: frozenset[str] = frozenset()) -> list[Any]:
            query = select(table).where(table.world_id == world_id) if hasattr(table, "world_id") else select(table)
            found = self.room.database.read_now(lambda s: s.exec(query.order_by(*map(col, order))).unique().all())
            return [row.model_dump(exclude=set(without)) for row in found]

        told = rows(EventRow, EventRow.id, without=frozenset({"id"}))
        return {
            "events": [event for event in told if event["audience"] == Audience.WORLD],
            "turns": rows(TurnRow, TurnRow.conversation_id, TurnRow.turn, without=frozenset({"duration_ms"})),
            "conversations": rows(ConversationRow, ConversationRow.id, without=frozenset({"runner"})),
            "participants": rows(ParticipantRow, ParticipantRow.conversation_id, ParticipantRow.seat),
            "summaries": rows(SummaryRow, SummaryRow.conversation_id, SummaryRow.person_id),
            "attitudes": rows(
                AttitudeChangeRow, AttitudeChangeRow.owner_id, AttitudeChangeRow.other_id, AttitudeChangeRow.id
            ),
            "moods": rows(MoodRow, MoodRow.person_id, MoodRow.id),
            "overheard": rows(OverheardRow, OverheardRow.conversation_id, OverheardRow.person_id),
            "memories": rows(MemoryRow, MemoryRow.person_id, MemoryRow.id, without=frozenset({"revision"})),
            "movements": rows(MovementRow, MovementRow.character_id, MovementRow.starts_at),
            "quality": rows(QualityRow, QualityRow.id, without=frozenset({"duration_ms"})),
            "usage": rows(UsageRow, UsageRow.day, UsageRow.role),
        }


@asynccontextmanager
async def house(
    content: Content,
    directory: Path,
    model: ChatModel,
    *,
    language: str = "en",
    at_once: int = AT_ONCE,
    look_seconds: float = 10,
    seconds: Callable[[], float] = time.monotonic,
    patience_seconds: float = PATIENCE_SECONDS,
    url: str | None = None,
    llm: dict[str, Any] | None = None,
    now: Callable[[], datetime] = utc_now,
    memory: Callable[[Database], MemoryStore] = MemoryStore,
    quality: QualitySettings | None = None,
    **world: Any,
) -> AsyncIterator[House]:
    """A house over the stores in `directory`; a second one over the same directory goes on with what is there.

    `url`: of a database that other houses share. `now` is the machine's clock of the budget that `llm` may set;
    `seconds` is what passes for worlds whose clock runs, which are looked at every `look_seconds`.
    `quality`: what is checked by these rules (None: nothing is).
    """
    settings = Settings(
        _env_file=None,
        data_dir=directory,
        embedding={"provider": "none"},
        world={"language": language, **world},
        llm={"max_concurrency": at_once, **(llm or {})},
    )
    file = directory / "kataribe.db"
    if url is None and not file.exists():
        put_migrated(file)
    database = Database(url or f"sqlite:///{file}")
    database.migrate()
    remembers = memory(database)
    budget = DailyBudget(database, settings.llm, now=now)
    models = Models(dict.fromkeys(ROLES, Budgeted(model, budget)))
    room = ConversationDependencies(
        settings=settings,
        worlds=WorldRepository(content, settings.world),
        database=database,
        memory=remembers,
        models=models,
        budget=budget,
        stream=Stream(),
        quality=TurnChecks(quality, models) if quality else None,
    )
    desk = DecisionDependencies(
        settings=settings,
        database=database,
        memory=remembers,
        models=models,
        quality=DecisionChecks(quality, models) if quality else None,
    )
    deps = WorldDependencies(conversation=room, decision=desk, engine=Engine(room), jobs=jobs_of(room))
    world_runner = WorldRunner(deps, look_seconds=look_seconds, patience_seconds=patience_seconds, seconds=seconds)
    await world_runner.start()
    try:
        yield House(room=room, world_runner=world_runner)
    finally:
        await world_runner.stop()
        await deps.jobs.stop()
        await remembers.aclose()
        database.close()


def unpaid(rows: list[Any]) -> list[Any]:
    """The rows without what was paid for: a call that was let go is asked, and paid for, again."""
    paid = {"calls", "prompt_tokens", "completion_tokens"}
    return [{name: value for name, value in row.items() if name not in paid} for row in rows]
