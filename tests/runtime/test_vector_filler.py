"""Owns the tests of the vectors that are made after a past was given."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from sqlmodel import select

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.decision.situation import DecisionDependencies
from service.memory.embedding.embedder import Vectors
from service.memory.memory_store import MemoryStore
from service.memory.record import Group
from service.runtime.carried import jobs_of
from service.runtime.world_run import WorldDependencies
from service.runtime.world_runner import WorldRunner
from service.store.jobs import JobKind
from service.store.tables import JobKey, JobRow
from tests.memory.fake_embedder import FakeEmbedder
from tests.runtime.trying import try_jobs
from tests.runtime.worlds import give_past
from world.time import LATEST

AOI = Group(world_id="main", person_id="aoi")


class Slow(FakeEmbedder):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.let = asyncio.Event()

    async def passages(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        await self.let.wait()
        return await super().passages(texts)


def embedding(room: ConversationDependencies, embedder: FakeEmbedder) -> ConversationDependencies:
    """The room with a memory that embeds."""
    return replace(room, memory=MemoryStore(room.database, embedder))


def pending(room: ConversationDependencies) -> int:
    """How many of Aoi's memories lack a vector."""
    return asyncio.run(room.memory.pending_vectors(AOI, LATEST))


def due(room: ConversationDependencies) -> set[tuple[str, str]]:
    """Whose vectors are to be made."""
    rows = room.database.read_now(lambda s: s.exec(select(JobRow).where(JobRow.kind == JobKind.VECTORS)).all())
    return {(row.world_id, row.key) for row in rows}


def test_vectors_are_made_in_the_background_and_once(room: ConversationDependencies) -> None:
    embedder = FakeEmbedder()
    room = embedding(room, embedder)
    give_past(room, "main", "aoi")
    assert pending(room) == 3

    try_jobs(room, JobKind.VECTORS)
    try_jobs(room, JobKind.VECTORS)
    assert pending(room) == 0
    assert sorted(embedder.embedded) == ["Of a weir.", "The weir is old.", "The weir leaks."]
    assert due(room) == set()


def test_what_is_given_while_vectors_are_made_is_due_still(room: ConversationDependencies) -> None:
    async def run() -> None:
        embedder = Slow()
        home = embedding(room, embedder)
        give_past(home, "main", "aoi")
        jobs = jobs_of(home)
        filling = asyncio.create_task(jobs.submit(JobKey("main", JobKind.VECTORS, "aoi")))
        await embedder.asked.wait()
        give_past(home, "main", "npc_taro")
        assert due(home) == {("main", "aoi"), ("main", "npc_taro")}
        embedder.let.set()
        await filling
        assert due(home) == {("main", "npc_taro")}
        await jobs.stop()

    asyncio.run(run())


def test_where_the_embedder_fails_nothing_is_lost_and_it_is_tried_again(room: ConversationDependencies) -> None:
    embedder = FakeEmbedder()
    room = embedding(room, embedder)
    give_past(room, "main", "aoi")
    embedder.failing = True
    try_jobs(room, JobKind.VECTORS)
    assert due(room) == {("main", "aoi")}
    embedder.failing = False
    try_jobs(room, JobKind.VECTORS)
    assert pending(room) == 0


def test_another_worlds_people_are_left_alone(room: ConversationDependencies) -> None:
    room = embedding(room, FakeEmbedder())
    give_past(room, "other", "aoi")
    try_jobs(room, JobKind.VECTORS)
    assert due(room) == {("other", "aoi")}


def test_an_exact_world_waits_for_the_vectors_of_its_own_people(room: ConversationDependencies) -> None:
    """The other world's are not waited for, though their embedder never answers."""

    async def run() -> None:
        embedder = Slow()
        home = embedding(room, embedder)
        give_past(home, "main", "aoi")
        give_past(home, "other", "aoi")
        desk = DecisionDependencies(
            settings=home.settings, database=home.database, memory=home.memory, models=home.models
        )
        deps = WorldDependencies(conversation=home, decision=desk, engine=Engine(home), jobs=jobs_of(home))
        world_runner = WorldRunner(deps)
        await world_runner.start()
        try:
            step = await world_runner.tick("main", 5)
            await embedder.asked.wait()
            before = await home.database.read(lambda s: home.worlds.open(s, "main").now)
            embedder.let.set()
            await world_runner.wait("main", step.after)
        finally:
            await world_runner.stop()
        after = await home.database.read(lambda s: home.worlds.open(s, "main").now)
        assert (before, after) == (step.before, step.after)
        assert await home.memory.pending_vectors(AOI, LATEST) == 0
        assert await home.memory.pending_vectors(replace(AOI, world_id="other"), LATEST) == 3

    asyncio.run(asyncio.wait_for(run(), 30))
