"""Owns the tests of the vectors that are made after a past was given."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.decision.situation import DecisionDependencies
from service.memory.embedding.embedder import Vectors
from service.memory.memory_store import MemoryStore
from service.memory.record import Group, vectors_due
from service.runtime.carried import jobs_of
from service.runtime.memory_jobs import MemoryJobs
from service.runtime.world_run import WorldDependencies
from service.runtime.world_runner import WorldRunner
from tests.memory.fake_embedder import FakeEmbedder
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


def test_vectors_are_made_in_the_background_and_once(room: ConversationDependencies) -> None:
    embedder = FakeEmbedder()
    room = embedding(room, embedder)
    give_past(room, "main", "aoi")
    assert pending(room) == 3

    async def run() -> None:
        filler = MemoryJobs(room)
        await filler.fill()
        await filler.fill()

    asyncio.run(run())
    assert pending(room) == 0
    assert sorted(embedder.embedded) == ["Of a weir.", "The weir is old.", "The weir leaks."]
    assert room.database.read_now(vectors_due) == {}


def test_what_is_given_while_vectors_are_made_is_due_still(room: ConversationDependencies) -> None:
    async def run() -> None:
        embedder = Slow()
        home = embedding(room, embedder)
        give_past(home, "main", "aoi")
        filling = asyncio.create_task(MemoryJobs(home).fill())
        await embedder.asked.wait()
        give_past(home, "main", "npc_taro")
        due = home.database.read_now(vectors_due)
        embedder.let.set()
        await filling
        assert set(due) == {AOI, replace(AOI, person_id="npc_taro")}
        assert set(home.database.read_now(vectors_due)) == {replace(AOI, person_id="npc_taro")}

    asyncio.run(run())


def test_where_the_embedder_fails_nothing_is_lost_and_it_is_tried_again(room: ConversationDependencies) -> None:
    embedder = FakeEmbedder()
    room = embedding(room, embedder)
    give_past(room, "main", "aoi")
    embedder.failing = True
    asyncio.run(MemoryJobs(room).fill())
    assert set(room.database.read_now(vectors_due)) == {AOI}
    embedder.failing = False
    asyncio.run(MemoryJobs(room).fill("main"))
    assert pending(room) == 0


def test_another_worlds_people_are_left_alone(room: ConversationDependencies) -> None:
    room = embedding(room, FakeEmbedder())
    give_past(room, "other", "aoi")
    asyncio.run(MemoryJobs(room).fill("main"))
    assert set(room.database.read_now(vectors_due)) == {replace(AOI, world_id="other")}


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
        deps = WorldDependencies(
            conversation=home, decision=desk, engine=Engine(home), memory_jobs=MemoryJobs(home), jobs=jobs_of(home)
        )
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
