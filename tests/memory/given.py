"""Owns what every store must do with a past that is given to a person, and with what an author changes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlmodel import Session, col, select

from service.content.load import Content
from service.memory.authoring import Author, Change, change_memory, find, memory_id
from service.memory.memory_store import MemoryStore
from service.memory.outbox import hand_over
from service.memory.seed_lines import read_past
from service.memory.seeding import seed
from service.memory.record import Group, Kind
from service.people.worlds import WorldRepository
from service.settings import WorldSettings
from service.store.session import Database
from service.store.tables import OutboxRow, SummaryRow
from tests.memory.contract import FAMILY, FISH, MONDAY, tell
from tests.memory.memories import Memory
from world.time import LATEST

AOI = Group(world_id="main", person_id="aoi")

PAST = """{"statements": [
    {"id": "s1", "statement": "Taro's brother drowned in the bay.", "about": "npc_taro", "at": "2020-01-01"},
    {"id": "s2", "statement": "灯台の油は階段の下にある。", "at": "2020-01-02", "importance": 8},
    {"id": "s3", "statement": "Ren was the ferryman.", "about": "ren", "at": "2019-01-01", "valid_to": "2020-01-01"}
], "transcripts": [{"conversation": "night", "at": "2020-02-01T20:00", "summary": "They spoke of the bell.", "turns": [
    {"id": "t1", "speaker": "Old Sato", "text": "Did you hear it too?"},
    {"id": "t2", "speaker": "npc_taro", "text": "The bell rang under the water."}
]}]}"""

BROTHER, OIL, BELL = (
    "Taro's brother drowned in the bay.",
    "灯台の油は階段の下にある。",
    "The bell rang under the water.",
)
AUTHOR = Author(name="mika")


class Given:
    """A person's memory with what is done to it by hand."""

    def __init__(self, memory: Memory, worlds: WorldRepository) -> None:
        self.memory = memory
        self.worlds = worlds

    async def seed(self, past: str = PAST, *, deliver: bool = True) -> None:
        lines = read_past(past.encode())

        def work(session: Session) -> None:
            world = self.worlds.open(session, AOI.world_id, lock=True)
            seed(session, world, self.memory.store, AOI.person_id, lines, AUTHOR)

        await self.memory.database.write(work)
        if deliver:
            await self.memory.deliver(AOI)

    async def called(self, text: str) -> str:
        """The id of the one memory that holds the text."""
        items = await self.memory.store.items(AOI, LATEST)
        (found,) = {memory_id(item) for item in items if text in str(item)}
        return found

    async def change(self, wanted: str, change: Change | None, *, deliver: bool = True) -> None:
        await change_memory(self.memory.database, self.worlds, self.memory.store, AOI, wanted, change, AUTHOR)
        if deliver:
            await self.memory.deliver(AOI)

    async def found(self, query: str, **asked: Any) -> list[str]:
        """What bears on the query."""
        found = await self.memory.recall(AOI, query, **{"at": LATEST, "kinds": frozenset(Kind), **asked})
        return [memory_id(one.item) for one in found if one.bears]

    async def outbox(self) -> list[OutboxRow]:
        return await self.memory.database.read(
            lambda s: list(s.exec(select(OutboxRow).order_by(col(OutboxRow.revision))))
        )


Story = Callable[[Given], Awaitable[None]]


class GivenContract:
    """The suite. `new_store` gives a store that is empty; it is closed by the suite."""

    @pytest.fixture(autouse=True)
    def _in(self, database: Database, village: Content) -> None:
        self.database = database
        self.worlds = WorldRepository(village, WorldSettings(language="en"))

    def new_store(self) -> MemoryStore:
        raise NotImplementedError

    def run(self, story: Story) -> None:
        """Run a story on a fresh store."""

        async def on_store() -> None:
            store = self.new_store()
            try:
                await story(Given(Memory(store, self.database), self.worlds))
            finally:
                await store.aclose()

        asyncio.run(on_store())

    def test_all_of_a_past_is_found_by_its_words_and_nothing_lacks_a_vector_when_they_are_made(self) -> None:
        async def story(given: Given) -> None:
            await given.seed()
            store = given.memory.store
            assert await store.pending_vectors(AOI, LATEST) == (4 if store.embeds else 0)
            for query, text in (("brother drowned", BROTHER), ("階段の油", OIL), ("the bell under the water", BELL)):
                assert (await given.found(query))[0] == await given.called(text)
            assert await given.found("bell", kinds={Kind.SUMMARY}) == [await given.called("They spoke of the bell.")]
            assert await store.fill_vectors(AOI, LATEST) == 0
            assert await store.pending_vectors(AOI, LATEST) == 0
            assert await given.called(BROTHER) in await given.found("brother drowned")

        self.run(story)

    def test_what_has_ended_is_found_as_of_then(self) -> None:
        async def story(given: Given) -> None:
            await given.seed()
            ren = await given.called("ferryman")
            assert ren not in await given.found("the ferryman")
            assert ren in await given.found("the ferryman", history=True)

        self.run(story)

    def test_an_edited_memory_is_found_by_its_new_words_alone(self) -> None:
        async def story(given: Given) -> None:
            await given.seed()
            brother, bell = await given.called(BROTHER), await given.called(BELL)
            summary = await given.called("They spoke of the bell.")
            await given.memory.store.fill_vectors(AOI, LATEST)
            await given.change(brother, Change(text="Taro's cousin vanished at sea.", importance=9))
            await given.change(bell, Change(text="The gong rang."))
            await given.change(summary, Change(text="They spoke of a gong."))
            assert brother not in await given.found("brother drowned bay", kinds={Kind.FACT})
            assert (await given.found("cousin vanished"))[0] == brother
            assert await given.found("the gong", kinds={Kind.TURN, Kind.SUMMARY}) != []
            assert bell not in await given.found("bell under water", kinds={Kind.TURN})
            item = find(await given.memory.store.items(AOI, LATEST), brother)
            assert (item.statement, item.held, item.importance) == ("Taro's cousin vanished at sea.", True, 9)  # type: ignore[union-attr]
            await given.memory.store.fill_vectors(AOI, LATEST)
            assert await given.memory.store.pending_vectors(AOI, LATEST) == 0

        self.run(story)

    def test_a_deleted_memory_is_never_found_again(self) -> None:
        async def story(given: Given) -> None:
            await given.seed()
            for text in (BROTHER, BELL, "They spoke of the bell."):
                await given.change(await given.called(text), None)
            assert await given.found("brother drowned") == []
            assert await given.found("the bell") == []
            assert len(await given.memory.store.items(AOI, LATEST)) == 3
            dump = await given.memory.export(AOI)
            assert (len(dump.facts), dump.episodes) == (2, ())
            await given.seed('{"statements": [{"id": "s7", "statement": "Taro\'s brother drowned in the bay."}]}')
            assert await given.found("brother drowned") == [await given.called(BROTHER)]

        self.run(story)

    def test_what_a_talk_left_is_edited_and_deleted_too(self) -> None:
        async def story(given: Given) -> None:
            await given.seed('{"statements": []}')
            await tell(given.memory, AOI, "c1", MONDAY, FAMILY, FISH)
            family, fish = await given.called(FAMILY), await given.called(FISH)
            await given.change(family, Change(text="太郎は独身だ"))
            assert await given.found("太郎 独身", kinds={Kind.FACT}) == [family]
            await given.change(fish, None)
            assert fish not in await given.found("市場の魚")
            summary = await given.called("They talked.")
            await given.change(summary, None)
            assert await given.found("talked", kinds={Kind.SUMMARY}) == []
            row = await self.database.read(lambda s: s.get(SummaryRow, ("main", "aoi", "c1")))
            assert row is not None
            assert row.summary == ""

        self.run(story)

    def test_what_waits_to_be_written_elsewhere_brings_nothing_back(self) -> None:
        async def story(given: Given) -> None:
            await given.seed(deliver=False)
            entries = await given.outbox()
            await given.memory.deliver(AOI)
            brother = await given.called(BROTHER)
            await given.change(brother, None, deliver=False)
            assert brother not in await given.found("brother drowned"), "at once, whoever still has it"
            assert len((await given.memory.export(AOI)).facts) == 2
            await given.memory.deliver(AOI)
            delivery = given.memory.store.delivery
            for entry in entries:  # a second delivery, as after a crash
                assert delivery is not None
                await hand_over(delivery, entry)
            assert brother not in await given.found("brother drowned")
            assert await given.called(OIL) in await given.found("階段の油")

        self.run(story)

    def test_what_is_forgotten_wholly_leaves_nothing_of_a_past(self) -> None:
        async def story(given: Given) -> None:
            await given.seed()
            await given.memory.forget(AOI)
            assert await given.memory.store.items(AOI, LATEST) == []
            await given.seed()
            assert len(await given.memory.store.items(AOI, LATEST)) == 6

        self.run(story)
