"""Owns the tests of a past that is given to a person, and of what an author changes, in the service's own database."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import pytest
from sqlmodel import Session, select

from service.content.load import Content
from service.errors import LinesWrong
from service.memory.authoring import Author, Change, change_memory, memory_id, seeds_of
from service.memory.memory_store import MemoryStore
from service.memory.record import Embedded, Group, Item, Kind, Memory, Support
from service.memory.seed_lines import read_lines, read_past
from service.memory.seeding import Seeded, past_lines, seed
from service.memory.telling import remembered_as
from service.people.worlds import WorldRepository
from service.settings import WorldSettings
from service.store.session import Database
from service.store.tables import MemoryAuditRow
from tests.memory.fake_embedder import FakeEmbedder
from world.time import LATEST, WorldTime, parse_time

AOI = Group(world_id="main", person_id="aoi")
AUTHOR = Author(name="mika", reason="the second draft")

BROTHER, OIL, BELL = (
    "Taro's brother drowned in the bay.",
    "灯台の油は階段の下にある。",
    "The bell rang under the water.",
)
TALKED = "They spoke of the bell."

PAST: dict[str, Any] = {
    "statements": [
        {"id": "s1", "statement": BROTHER, "about": "npc_taro", "at": "2020-01-01"},
        {"id": "s2", "statement": OIL, "at": "2020-01-02", "importance": 8},
        {
            "id": "s3",
            "statement": "Ren was the ferryman.",
            "about": "ren",
            "at": "2019-01-01",
            "valid_to": "2020-01-01",
        },
    ],
    "transcripts": [
        {
            "conversation": "night",
            "at": "2020-02-01T20:00",
            "summary": TALKED,
            "turns": [
                {"id": "t1", "speaker": "Old Sato", "text": "Did you hear it too?"},
                {"id": "t2", "speaker": "npc_taro", "text": BELL},
            ],
        }
    ],
}


class Authored:
    """A person's memory, with what is given to it and changed by hand."""

    def __init__(self, database: Database, content: Content) -> None:
        self.database = database
        self.worlds = WorldRepository(content, WorldSettings(language="en"))
        self.store = MemoryStore(database, FakeEmbedder())

    async def seed(self, past: dict[str, Any] = PAST, group: Group = AOI) -> Seeded:
        return await self.database.write(lambda s: self._seed(s, group, read_past(json.dumps(past).encode())))

    async def seed_lines(self, lines: list[dict[str, Any]], group: Group) -> Seeded:
        read = read_lines(enumerate((json.dumps(line).encode() for line in lines), 1))
        return await self.database.write(lambda s: self._seed(s, group, read))

    def _seed(self, session: Session, group: Group, lines: Any) -> Seeded:
        world = self.worlds.open(session, group.world_id, lock=True)
        return seed(session, world, self.store, group.person_id, lines, AUTHOR)

    async def items(self, group: Group = AOI) -> list[Item]:
        return await self.store.items(group, LATEST)

    async def held(self, text: str) -> Memory:
        (found,) = [one for one in await self.items() if isinstance(one, Memory) and one.text == text]
        return found

    async def called(self, text: str) -> str:
        (found,) = {memory_id(item) for item in await self.items() if text in str(item)}
        return found

    async def change(self, text: str, change: Change | None) -> Item | None:
        wanted = await self.called(text)
        return await change_memory(self.database, self.worlds, self.store, AOI, wanted, change, AUTHOR)

    async def found(self, query: str, **asked: Any) -> list[str]:
        """What bears on the query."""
        found = await self.store.recall(AOI, query, **{"at": LATEST, "kinds": frozenset(Kind), **asked})
        return [memory_id(one.item) for one in found if one.bears]

    async def line(self, text: str) -> str:
        """How the memory reads to who remembers it."""
        one = await self.held(text)
        return await self.database.read(lambda s: remembered_as(self.worlds.open(s, AOI.world_id), one, AOI.person_id))


@pytest.fixture
def given(database: Database, village: Content) -> Authored:
    return Authored(database, village)


def in_a_loop(test: Callable[[Authored], Awaitable[None]]) -> Callable[[Authored], None]:
    """Run the test, and let go of its store."""

    @wraps(test)
    def run(given: Authored) -> None:
        async def work() -> None:
            try:
                await test(given)
            finally:
                await given.store.aclose()

        asyncio.run(work())

    return run


@in_a_loop
async def test_what_affects_the_next_days_is_given_with_its_level(given: Authored) -> None:
    worry = {"id": "w", "statement": "The roof leaks.", "kind": "mid_term", "level": "medium", "at": "2020-02-01T10:00"}
    await given.seed({"statements": [worry]})
    one = await given.held("The roof leaks.")
    assert (one.kind, one.level, one.expires_at) == (Kind.MID_TERM, "medium", parse_time("2020-02-03T10:00"))
    with pytest.raises(LinesWrong) as caught:
        await given.seed({"statements": [{"id": "x", "statement": "It rains.", "level": "low"}]})
    assert [one.where for one in caught.value.found] == ["statements.0.level"]


@in_a_loop
async def test_the_same_line_again_changes_nothing_also_where_it_was_deleted(given: Authored) -> None:
    await given.seed()
    await given.change(BROTHER, None)
    await given.change("Did you hear it too?", None)
    assert (await given.seed()).known == 6
    assert len(await given.items()) == 4
    with pytest.raises(LinesWrong):
        await given.seed({"statements": [{"id": "s1", "statement": "Another one."}]})


@in_a_loop
async def test_a_weight_alone_makes_no_lie_true(given: Authored) -> None:
    await given.seed({"statements": [{"id": "s1", "statement": BROTHER, "told_by": "npc_taro"}]})
    await given.change(BROTHER, Change(importance=9))
    assert (await given.held(BROTHER)).support is Support.MODEL


@in_a_loop
async def test_with_a_turn_goes_what_was_drawn_from_it_and_with_that_what_was_thought_of_it(given: Authored) -> None:
    drawn = {"id": "d", "statement": "There is a bell in the pond.", "conversation": "night", "turns": [1]}
    thought = {
        "id": "i",
        "statement": "Taro is afraid of the water.",
        "kind": "insight",
        "evidence": ["memory:d", "talk:night"],
    }
    past = PAST | {"statements": [*PAST["statements"], drawn, thought]}
    await given.seed(past)
    await given.change(BELL, None)
    left = {one.text for one in await given.items() if isinstance(one, Memory)}
    assert left == {BROTHER, OIL, "Ren was the ferryman."}
    rows = await given.database.read(lambda s: s.exec(select(MemoryAuditRow).order_by(MemoryAuditRow.id)).all())
    assert [(row.action, row.author, row.reason) for row in rows[1:]] == [("deleted", "mika", AUTHOR.reason)] * 3


@in_a_loop
async def test_what_came_of_a_person_goes_by_its_id_and_what_that_had_ended_holds_again(given: Authored) -> None:
    at = WorldTime(1_000_000)

    def memory(key: str, text: str, **more: Any) -> Memory:
        times = {"valid_from": at, "known_from": at, **more}
        return Memory(id=key, kind=Kind.FACT, text=text, **times)

    later = {"valid_from": WorldTime(at + 1), "known_from": WorldTime(at + 1)}
    latest = {"valid_from": WorldTime(at + 2), "known_from": WorldTime(at + 2)}
    jar = {"about": "the jar", "slot": "place", "support": Support.PERCEIVED}
    memories = [
        memory("by", "Bo told it.", told_by="bo"),
        memory("of", "It is about Bo.", subject_id="bo"),
        memory("via", "It came by Bo.", via=("bo", "npc_taro"), told_by="npc_taro"),
        memory("with", "It was with Bo.", partner_id="bo"),
        memory("boathouse", "The boathouse burns.", about="the boathouse"),
        memory("one", "The jar is in the shop.", **jar),
        memory("two", "Bo took the jar.", subject_id="bo", **jar | {"about": "the jar", "replaces": ("one",)}, **later),
        memory("three", "The jar is in the loft.", **jar, replaces=("two",), **latest),
    ]
    await given.database.write(lambda s: given.store.remember(s, AOI, memories, Embedded()))
    await given.database.write(lambda s: given.store.forget(s, AOI, "bo"))
    left = {one.id: one for one in await given.items() if isinstance(one, Memory)}
    assert left.keys() == {"boathouse", "one", "three"}
    assert (left["one"].valid_to, left["one"].replaced_by) == (latest["valid_from"], "three")


@in_a_loop
async def test_what_one_remembers_is_told_in_lines_from_which_another_remembers_the_same(given: Authored) -> None:
    told = {
        "id": "t",
        "statement": "Ren owes Taro a boat.",
        "told_by": "npc_taro",
        "via": ["ren"],
        "about": "ren",
        "mode": "supposed",
        "quote": "A whole boat!",
        "conversation": "night",
        "turns": [0, 1],
        "importance": 7,
    }
    seen = {"id": "o", "statement": "The jar is in the loft.", "about": "the jar", "slot": "place", "kind": "observed"}
    mind = {"id": "m", "statement": "The roof leaks.", "kind": "mid_term", "level": "high"}
    thought = {
        "id": "i",
        "statement": "Ren hides.",
        "kind": "insight",
        "evidence": ["memory:t", "talk:night"],
        "importance": 8,
    }
    past = PAST | {"statements": [*PAST["statements"], told, seen, mind, thought]}
    await given.seed(past)
    items = await given.items()
    rows = await given.database.read(lambda s: seeds_of(s, AOI, items))
    lines = list(past_lines(items, rows))
    assert {line["id"] for line in lines} >= {"s1", "s2", "s3", "t1", "t2", "night", "t", "o", "m", "i"}
    ren = Group(world_id="main", person_id="ren")
    await given.seed_lines(lines, ren)
    again = await given.items(ren)
    others = await given.database.read(lambda s: seeds_of(s, ren, again))
    assert list(past_lines(again, others)) == lines
    assert (await given.seed_lines(lines, ren)).known == len(lines)
