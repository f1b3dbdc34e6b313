"""What fades, in the service's own database, on SQLite and PostgreSQL."""

import asyncio
from dataclasses import replace
from functools import partial

from sqlmodel import Session

from service.memory.episodes import Fading
from service.memory.index import IndexCache
from service.memory.memory_store import MemoryStore
from service.memory.record import Embedded, Episode, Group, HeardTurn, Kind
from service.store.session import Database
from service.store.tables import ConversationRow, DecisionRow, MemoryAuditRow, PromptRow, TurnRow
from tests.memory.contract import HANAKO, TARO, OnStore, draft, episode, insight
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.memories import Store, put_conversation
from world.time import MINUTES_PER_DAY, WorldTime

FADING = Fading(after_days=3)
FIRST = WorldTime(700 * MINUTES_PER_DAY + 600)


def day(number: int, minutes: int = 600) -> WorldTime:
    """A moment of the world day that comes so many after the first one."""
    return WorldTime((700 + number) * MINUTES_PER_DAY + minutes)


def test_a_memory_held_for_years_is_as_big_as_what_is_remembered(database: Database) -> None:
    async def scenario() -> None:
        indexes = IndexCache()
        memory = Store(MemoryStore(database, None, indexes, FADING), database)
        sizes = []
        for number in range(40):
            await talked(memory, f"c{number}", number, f"The lighthouse is dark on day {number}")
            await found(memory, day(number))
            sizes.append(indexes.bytes)
        assert max(sizes[25:]) <= 1.1 * max(sizes[8:20])
        assert len(await memory.store.items(TARO, day(39), forgotten=True)) == 40 * 4

    asyncio.run(scenario())


class TestFading(OnStore):
    """On a store that forgets as `FADING` says."""

    def new_store(self) -> MemoryStore:
        return MemoryStore(self.database, FakeEmbedder(), fading=FADING)

    def test_what_nobody_was_reminded_of_fades_when_the_days_are_over_and_is_there_before(self) -> None:
        async def scenario(memory: Store) -> None:
            await talked(memory, "c1", 0, "The lighthouse is dark", importance=6)
            thought = insight(valid_from=day(0), known_from=day(0), importance=6)
            await memory.database.write(lambda s: memory.store.remember(s, TARO, [thought], Embedded()))
            last = [(Kind.SUMMARY, "c2")]
            await memory.remember(TARO, episode(TARO, "c2", day(0, 700)), [])
            everything = [
                (Kind.FACT, draft(_heard("c1", 0), 0, "").id),
                (Kind.INSIGHT, "i"),
                (Kind.SUMMARY, "c1"),
                (Kind.TURN, "c1/0000"),
                (Kind.TURN, "c1/0001"),
            ]
            assert await held(memory, day(0)) == await held(memory, day(3, 1439)) == sorted(everything + last)
            assert await found(memory, day(3, 1439)) == everything[:1] + everything[2:4]
            for _ in range(
                2
            ):  # the one that is kept goes on, and whoever asks of a day before is answered all the same
                assert await held(memory, day(4, 0)) == last, "the last talk of the two is told when they meet again"
                assert await found(memory, day(4, 0)) == []
                assert await found(memory, day(3, 1439)) == everything[:1] + everything[2:4]
            assert await memory.store.forgotten(TARO, day(3)) == {}
            assert await memory.store.forgotten(TARO, day(9)) == dict.fromkeys(everything, day(4, 0))
            assert await held(memory, day(9), forgotten=True) == sorted(everything + last)
            assert await found(memory, day(9), forgotten=True) == everything[:1] + everything[2:4]
            assert await found(memory, day(9), now=day(3)) == everything[:1] + everything[2:4]

        self.run(scenario)

    def test_what_matters_or_was_changed_by_an_author_stays_while_its_talk_fades(self) -> None:
        async def scenario(memory: Store) -> None:
            heard = _heard("c1", 0)
            facts = [draft(heard, index, f"The lighthouse is dark {index}") for index in range(4)]
            facts[0] = replace(facts[0], importance=7)
            await memory.remember(TARO, heard, facts, ("The lighthouse?", "Dark."))
            await memory.remember(TARO, episode(TARO, "c3", day(0, 701)), [])
            await memory.database.write(lambda s: s.add(_edited("fact", facts[1].id)))
            last = [(Kind.SUMMARY, "c3")]
            assert await held(memory, day(4)) == sorted((Kind.FACT, one.id) for one in facts[:2]) + last
            await memory.database.write(lambda s: s.add(_edited("turn", "c1/0001")))
            assert (Kind.SUMMARY, "c1") in await held(memory, day(5)), "who changes what was said keeps the talk"

        self.run(scenario)

    def test_what_stood_in_a_prompt_is_remembered_for_as_long_again(self) -> None:
        async def scenario(memory: Store) -> None:
            fact = await talked(memory, "c1", 0, "The lighthouse is dark")
            for number in (2, 3, 4):
                await talked(memory, f"c{number}", 0, f"The bell rang {number}")
            reminders = (("c5", 2, (f"memory:{fact}",)), ("c6", 3, ("talk:c2",)), ("c7", 3, ("memory:x", "turn:c3/1")))
            for conversation, number, refs in reminders:
                await memory.database.write(partial(_prompted, conversation=conversation, number=number, refs=refs))
            await memory.database.write(lambda s: _decided(s, 3, "turn:c4/0"))
            await memory.database.write(lambda s: _reminded(s, 4, "turn:c2/0"))
            await memory.remember(TARO, episode(TARO, "c9", day(0, 700)), [])

            async def talks(number: int) -> set[str]:
                keys = set(await held(memory, day(number))) - {(Kind.SUMMARY, "c9")}
                return {key for kind, key in keys if kind is Kind.SUMMARY} | {"fact" for _, key in keys if key == fact}

            assert await talks(4) == {"c2", "c3", "c4", "fact"}
            assert await talks(5) == {"c2", "c3", "c4", "fact"}
            assert await talks(6) == {"c2", "c3", "c4"}
            assert await talks(7) == {"c2"}
            assert await talks(8) == set()
            assert await talks(5) == {"c2", "c3", "c4", "fact"}, "as of then"
            gone = await memory.store.forgotten(TARO, day(9))
            times = [gone[Kind.SUMMARY, f"c{number}"] for number in (1, 2, 3, 4)]
            assert times == [day(4, 0), day(8, 0), day(7, 0), day(7, 0)]
            assert gone[Kind.FACT, fact] == day(6, 0)

        self.run(scenario)


def _heard(conversation: str, number: int) -> Episode:
    return episode(TARO, conversation, day(number), summary=f"They spoke of the lighthouse and {conversation}.")


async def talked(memory: Store, conversation: str, number: int, statement: str, importance: int = 5) -> str:
    """Taro and Hanako have talked; the id of what he took from it."""
    heard = _heard(conversation, number)
    fact = draft(heard, 0, statement, turn=0, importance=importance)
    await memory.remember(TARO, heard, [fact], (statement, "Is it?"))
    return fact.id


async def held(memory: Store, at: WorldTime, *, forgotten: bool = False) -> list[tuple[Kind, str]]:
    """What the person remembers."""
    return sorted((item.kind, item.id) for item in await memory.store.items(TARO, at, forgotten=forgotten))


async def found(
    memory: Store, at: WorldTime, *, forgotten: bool = False, now: WorldTime | None = None
) -> list[tuple[Kind, str]]:
    """What of it is found; a fact answers for its turn."""
    asked = {"at": at, "kinds": set(Kind), "forgotten": forgotten, "now": now}
    answers = await memory.store.recall(TARO, "the lighthouse is dark", **asked)  # type: ignore[arg-type] # by name
    turns = [one for one in answers if not isinstance(one.item, HeardTurn) or one.item.turn == 1]
    return sorted(
        (Kind.TURN, "c1/0000") if isinstance(one.item, HeardTurn) else (one.item.kind, one.item.id) for one in turns
    )


def _edited(kind: str, memory_id: str) -> MemoryAuditRow:
    return MemoryAuditRow(
        world_id=TARO.world_id,
        person_id=TARO.person_id,
        id=memory_id,
        action="edited",
        kind=kind,
        memory_id=memory_id,
        at=FIRST,
        written_at="",
    )


def _begun(session: Session, conversation: str, number: int) -> Group:
    put_conversation(session, TARO, _heard(conversation, number), ("Well?",))
    return TARO


def _prompted(session: Session, conversation: str, number: int, refs: tuple[str, ...]) -> None:
    _begun(session, conversation, number)
    for group, known in ((TARO, refs), (HANAKO, ("talk:c1",))):
        session.add(
            PromptRow(
                world_id=group.world_id,
                conversation_id=conversation,
                person_id=group.person_id,
                system=None,
                context=None,
                knew={"memories": list(known)},
            )
        )


def _decided(session: Session, number: int, ref: str) -> None:
    session.add(
        DecisionRow(
            world_id=TARO.world_id,
            person_id=TARO.person_id,
            at=day(number),
            call="decision",
            basis={"memories": [ref]},
            model="m",
            calls=1,
            failures=0,
            prompt_tokens=0,
            completion_tokens=0,
            cached_tokens=0,
            duration_ms=0,
        )
    )


def _reminded(session: Session, number: int, ref: str) -> None:
    """In the middle of a talk: of Taro, and of Hanako, whose mind is not his."""
    put_conversation(session, TARO, _heard("c8", number), ("Well?", "Yes."))
    session.flush()
    for turn, known in ((1, ref), (0, "talk:c1")):
        session.get_one(TurnRow, (TARO.world_id, "c8", turn)).reminded = [known]
    session.get_one(ConversationRow, (TARO.world_id, "c8")).ended_at = day(number)
