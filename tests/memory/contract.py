"""Owns what every MemoryStore must do. A test module subclasses MemoryStoreContract and says how to make a store.

Nothing here asserts a score; an order is asserted only where the contract gives one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pytest
from sqlalchemy.exc import IntegrityError

from service.memory.memory_store import MemoryStore
from service.memory.record import (
    Embedded,
    Episode,
    Group,
    GroupDump,
    HeardTurn,
    Kind,
    Memory,
    Mode,
    Recalled,
    Source,
    derived_memory_id,
)
from service.store.session import Database
from tests.memory.memories import Store
from world.time import WorldTime

TARO = Group(world_id="main", person_id="taro")
HANAKO = Group(world_id="main", person_id="hanako")
TARO_ELSEWHERE = Group(world_id="other", person_id="taro")

MONDAY = WorldTime(1_000_000)
TUESDAY = WorldTime(1_001_440)
WEDNESDAY = WorldTime(1_002_880)
THURSDAY = WorldTime(1_004_320)

FAMILY = "太郎は既婚者で子供が2人いる"
FISH = "港の市場では朝に魚が安い"
SMITH = "鍛冶屋のゴンは耳が遠い"
APPLES = "Hanako's farm sells red apples every Sunday"
BRIDGE = "The old bridge collapsed in the storm"
TOWN = (FAMILY, FISH, SMITH, APPLES, BRIDGE)
ABOUT = {FAMILY: "太郎", FISH: "市場", SMITH: "ゴン", APPLES: "Hanako", BRIDGE: "bridge"}


Scenario = Callable[[Store], Awaitable[None]]


def insight(**fields: Any) -> Memory:
    """What Taro has come to think on Tuesday."""
    thought = Memory(
        id="i",
        kind=Kind.INSIGHT,
        text="花子は魚が恋しい。",
        evidence=("talk:c1",),
        importance=7,
        source=Source.REFLECTION,
        partner_id="hanako",
        valid_from=TUESDAY,
        known_from=TUESDAY,
    )
    return replace(thought, **fields)


def episode(
    group: Group,
    conversation: str,
    at: WorldTime,
    *,
    partner: str = "hanako",
    summary: str = "They talked.",
    topics: tuple[str, ...] = (),
) -> Episode:
    """The episode of a conversation."""
    return Episode(conversation_id=conversation, partner_id=partner, text=summary, topics=topics, at=at)


def draft(of: Episode, index: int, text: str, *, about: str = "太郎", turn: int | None = 1, **fields: Any) -> Memory:
    """Memory number `index` of an episode, told by the partner and true since then unless said otherwise."""
    memory = Memory(
        id=derived_memory_id("someone", of.conversation_id, index),
        kind=Kind.FACT,
        text=text,
        about=about,
        told_by=of.partner_id,
        conversation_id=of.conversation_id,
        turns=() if turn is None else (turn,),
        partner_id=of.partner_id,
        valid_from=of.at,
        known_from=of.at,
    )
    return replace(memory, **fields)


class Remembers(Protocol):
    """What takes an episode with its memories."""

    async def remember(self, group: Group, episode: Episode, memories: Sequence[Memory]) -> None: ...


async def tell(
    memory: Remembers,
    group: Group,
    conversation: str,
    at: WorldTime,
    *texts: str,
    partner: str = "hanako",
    about: str | None = None,
) -> list[str]:
    """Remember texts of one conversation, about whom they say unless told otherwise; their ids."""
    heard = episode(group, conversation, at, partner=partner)
    drafts = [draft(heard, index, text, about=about or ABOUT.get(text, "太郎")) for index, text in enumerate(texts)]
    await memory.remember(group, heard, drafts)
    return [one.id for one in drafts]


def texts(found: Sequence[Recalled]) -> list[str]:
    """What was recalled, best first."""
    return [one.memory.text for one in found]


async def all_of(memory: Store, group: Group) -> dict[str, Memory]:
    """Every memory of a person by its text."""
    return {one.text: one for one in (await memory.export(group)).memories}


ANSWERS = (
    ("太郎の家族", FAMILY),
    ("子供", FAMILY),
    ("太郎 結婚", FAMILY),
    ("魚はどこで安い?", FISH),
    ("ｺﾞﾝの耳", SMITH),
    ("鍛冶屋", SMITH),
    ("Where do they sell apples?", APPLES),
    ("HANAKO'S FARM", APPLES),
    ("bridges", BRIDGE),
    ("apple", APPLES),
)

HOSTILE = (
    '"',
    '"太郎" OR "',
    "NEAR(太郎 花子, 5)",
    "NEAR(",
    "太郎*",
    "* ^ - + : ( ) { }",
    "statement : 太郎",
    "太郎 AND NOT 花子",
    "'; DROP TABLE facts; --",
    "%_\\",
    "🎉👨‍👩‍👧‍👦",
    "\0",
    "太郎\0花子",
    "\ud800",
    "\u202e\u200d\ufeff",
    "あ" * 10_000,
    "apple " * 2_000,
    '"' * 10_000,
)


class OnStore:
    """A suite of stores. `new_store` gives a store that is empty; it is closed by the suite."""

    @pytest.fixture(autouse=True)
    def _in(self, database: Database) -> None:
        self.database = database

    def new_store(self) -> MemoryStore:
        raise NotImplementedError

    def run(self, scenario: Scenario) -> None:
        """Run a scenario on a fresh store."""

        async def opened() -> None:
            store = self.new_store()
            try:
                await scenario(Store(store, self.database))
            finally:
                await store.aclose()

        asyncio.run(opened())


class MemoryStoreContract(OnStore):
    """The suite."""

    # Remembering

    def test_an_empty_memory_answers_with_nothing(self) -> None:
        async def scenario(memory: Store) -> None:
            await memory.store.check()
            assert await memory.recall(TARO, "太郎", at=MONDAY) == []
            assert await memory.recall(TARO, "", at=MONDAY, about="太郎", partner_id="hanako") == []
            assert await memory.export(TARO) == GroupDump(episodes=(), memories=())
            await memory.forget(TARO)

        self.run(scenario)

    def test_a_fact_comes_back_with_both_times_and_its_provenance_down_to_the_turn(self) -> None:
        async def scenario(memory: Store) -> None:
            heard = episode(TARO, "c1", TUESDAY)
            told = draft(
                heard,
                0,
                FAMILY,
                turn=7,
                valid_from=MONDAY,
                via=("ken",),
                subject_id="taro",
                mode=Mode.SUPPOSED,
                quote="二人!",
                importance=8,
            )
            await memory.remember(TARO, heard, [told])
            (found,) = await memory.recall(TARO, "家族は? 子供は?", at=TUESDAY)
            assert found.memory == told
            assert (await memory.export(TARO)).episodes == (heard,)

        self.run(scenario)

    def test_a_write_that_breaks_half_way_leaves_nothing_and_can_be_made_again(self) -> None:
        async def scenario(memory: Store) -> None:
            (old,) = await tell(memory, TARO, "c0", MONDAY, "太郎は漁師だ")
            before = await memory.export(TARO)
            heard = episode(TARO, "c1", TUESDAY)
            told = [
                draft(heard, 0, "太郎は大工だ", replaces=(old,)),
                draft(heard, 1, FISH),
                draft(heard, 2, SMITH),
            ]
            with pytest.raises(IntegrityError):
                await memory.remember(TARO, heard, [*told[:2], replace(told[2], id=told[0].id)])
            assert await memory.export(TARO) == before
            await memory.remember(TARO, heard, told)
            assert {one.text for one in (await memory.export(TARO)).memories} == {
                "太郎は漁師だ",
                "太郎は大工だ",
                FISH,
                SMITH,
            }

        self.run(scenario)

    def test_a_fact_about_somebody_is_found_by_the_id_whatever_its_words_call_it_by(self) -> None:
        async def scenario(memory: Store) -> None:
            heard = episode(TARO, "c1", MONDAY, partner="mio")
            of_two = [
                draft(heard, number, text, about="Sam", subject_id=one)
                for number, (one, text) in enumerate((("sam_one", "Sam fishes"), ("sam_two", "Sam sings")))
            ]
            await memory.remember(TARO, heard, of_two)
            for one, text in (("sam_one", "Sam fishes"), ("sam_two", "Sam sings")):
                assert texts(await memory.recall(TARO, "", at=MONDAY, partner_id=one)) == [text]
                assert texts(await memory.recall(TARO, "fish and song", at=MONDAY, partner_id=one)) == [text]

        self.run(scenario)

    # Two times

    def test_a_replaced_fact_is_closed_in_both_times_and_kept(self) -> None:
        async def scenario(memory: Store) -> None:
            (fisher,) = await tell(memory, TARO, "c1", MONDAY, "太郎は漁師だ")
            heard = episode(TARO, "c2", WEDNESDAY)
            now = draft(heard, 0, "太郎は大工だ", valid_from=TUESDAY, replaces=(fisher,))
            await memory.remember(TARO, heard, [now])
            facts = await all_of(memory, TARO)
            closed, current = facts["太郎は漁師だ"], facts["太郎は大工だ"]
            assert (closed.valid_from, closed.valid_to) == (MONDAY, TUESDAY)
            assert (closed.known_from, closed.known_until) == (MONDAY, WEDNESDAY)
            assert closed.replaced_by == current.id == now.id
            assert (current.valid_from, current.valid_to) == (TUESDAY, None)
            assert (current.known_from, current.known_until, current.replaced_by) == (WEDNESDAY, None, None)

        self.run(scenario)

    def test_that_a_fact_was_over_is_not_known_before_it_is_heard(self) -> None:
        async def scenario(memory: Store) -> None:
            (fisher,) = await tell(memory, TARO, "c1", MONDAY, "太郎は漁師だ")
            heard = episode(TARO, "c2", WEDNESDAY)
            await memory.remember(
                TARO, heard, [draft(heard, 0, "太郎は大工だ", valid_from=TUESDAY, replaces=(fisher,))]
            )

            async def known(at: int) -> list[str]:
                return texts(await memory.recall(TARO, "太郎の仕事", at=WorldTime(at)))

            assert await known(TUESDAY) == ["太郎は漁師だ"]
            assert await known(WEDNESDAY - 1) == ["太郎は漁師だ"]
            assert await known(WEDNESDAY) == ["太郎は大工だ"]

        self.run(scenario)

    def test_recall_agrees_with_known_at_at_every_hour(self) -> None:
        async def scenario(memory: Store) -> None:
            ids = await tell(memory, TARO, "c1", MONDAY, "太郎は漁師だ", "太郎は港に住む", "太郎は若い")
            past = episode(TARO, "c2", WEDNESDAY)
            await memory.remember(
                TARO,
                past,
                [
                    draft(past, 0, "太郎は大工だ", valid_from=TUESDAY, replaces=(ids[0],)),
                    draft(past, 1, "太郎は丘に住む", valid_from=THURSDAY, replaces=(ids[1],)),
                ],
            )
            facts = (await memory.export(TARO)).memories
            for at in range(MONDAY - 60, THURSDAY + 120, 360):
                found = await memory.recall(TARO, "太郎", at=WorldTime(at), limit=50)
                assert {one.memory.id for one in found} == {fact.id for fact in facts if fact.known_at(WorldTime(at))}

        self.run(scenario)

    def test_a_fact_never_ends_before_it_began_whatever_order_the_episodes_arrive_in(self) -> None:
        async def scenario(memory: Store) -> None:
            (later,) = await tell(memory, TARO, "c2", WEDNESDAY, "太郎は大工だ")
            late = episode(TARO, "c1", MONDAY)
            await memory.remember(TARO, late, [draft(late, 0, "太郎は漁師だ", replaces=(later,))])
            facts = await all_of(memory, TARO)
            closed = facts["太郎は大工だ"]
            assert (closed.valid_from, closed.valid_to) == (WEDNESDAY, WEDNESDAY)
            assert (closed.known_from, closed.known_until) == (WEDNESDAY, WEDNESDAY)
            assert texts(await memory.recall(TARO, "太郎", at=THURSDAY)) == ["太郎は漁師だ"]
            assert [one.conversation_id for one in (await memory.export(TARO)).episodes] == ["c1", "c2"]

        self.run(scenario)

    def test_what_a_later_episode_has_closed_stays_closed_by_it(self) -> None:
        async def scenario(memory: Store) -> None:
            (fisher,) = await tell(memory, TARO, "c1", MONDAY, "太郎は漁師だ")
            later = episode(TARO, "c3", WEDNESDAY)
            await memory.remember(TARO, later, [draft(later, 0, "太郎は大工だ", replaces=(fisher,))])
            late = episode(TARO, "c2", TUESDAY)
            await memory.remember(TARO, late, [draft(late, 0, "太郎は農夫だ", replaces=(fisher,))])
            closed = (await all_of(memory, TARO))["太郎は漁師だ"]
            assert closed.replaced_by == draft(later, 0, "").id
            assert (closed.valid_to, closed.known_until) == (WEDNESDAY, WEDNESDAY)

        self.run(scenario)

    def test_any_text_may_be_remembered_as_it_is(self) -> None:
        async def scenario(memory: Store) -> None:
            for number, text in enumerate(('"quoted" NEAR(', "🎉 祭り 🎉", "line\nbreak\ttab", "O'Neil; --", " ")):
                group = Group(world_id="main", person_id=f"p{number}")
                heard = episode(group, f"c{number}", MONDAY, summary=text)
                await memory.remember(group, heard, [draft(heard, 0, text, about=text, quote=text)])
                (kept,) = (await memory.export(group)).memories
                assert (kept.text, kept.about, kept.quote) == (text, text, text)
                assert (await memory.export(group)).episodes == (heard,)

        self.run(scenario)

    def test_the_fact_that_answers_comes_first(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, *TOWN)
            for query, best in ANSWERS:
                assert texts(await memory.recall(TARO, query, at=MONDAY))[0] == best, query

        self.run(scenario)

    # Groups

    def test_nobody_remembers_what_another_character_or_another_world_was_told(self) -> None:
        async def scenario(memory: Store) -> None:
            heard = episode(TARO, "c1", MONDAY)
            told = draft(heard, 0, FAMILY)
            for group, text in ((TARO, FAMILY), (HANAKO, FISH), (TARO_ELSEWHERE, SMITH)):
                # The very same ids in each group.
                own = replace(told, text=text)
                await memory.remember(group, heard, [own])
            for group, text in ((TARO, FAMILY), (HANAKO, FISH), (TARO_ELSEWHERE, SMITH)):
                for query in ("", "太郎 花子 魚 鍛冶屋 子供"):
                    found = await memory.recall(group, query, at=MONDAY, about="太郎", partner_id="hanako")
                    assert texts(found) == [text]

        self.run(scenario)

    def test_what_came_of_talks_with_one_partner_can_be_forgotten_alone(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, FISH, partner="hanako")
            await tell(memory, TARO, "c2", TUESDAY, "港の魚は高い", partner="jiro")
            await tell(memory, HANAKO, "c1", MONDAY, FISH, partner="hanako")
            assert len(await memory.recall(TARO, "魚", at=TUESDAY)) == 2
            await memory.forget(TARO, "hanako")
            assert texts(await memory.recall(TARO, "魚", at=TUESDAY)) == ["港の魚は高い"]
            assert [one.conversation_id for one in (await memory.export(TARO)).episodes] == ["c2"]
            assert texts(await memory.recall(HANAKO, "魚", at=TUESDAY)) == [FISH]
            await tell(memory, TARO, "c3", WEDNESDAY, FAMILY, partner="hanako")
            assert set(texts(await memory.recall(TARO, "", at=WEDNESDAY))) == {"港の魚は高い", FAMILY}

        self.run(scenario)

    # At the same time

    def test_twenty_writes_of_one_group_at_once_are_all_there(self) -> None:
        async def scenario(memory: Store) -> None:
            (first,) = await tell(memory, TARO, "c0", MONDAY, "太郎は漁師だ")

            async def replace(n: int) -> None:
                heard = episode(TARO, f"c{n}", TUESDAY)
                await memory.remember(TARO, heard, [draft(heard, 0, f"太郎は{n}番目の大工だ", replaces=(first,))])

            await asyncio.gather(*(replace(n) for n in range(1, 21)))
            dump = await memory.export(TARO)
            assert len(dump.episodes) == len(dump.memories) == 21
            (closed,) = [fact for fact in dump.memories if fact.id == first]
            assert closed.replaced_by in {fact.id for fact in dump.memories} - {first}
            assert sum(fact.known_until is None for fact in dump.memories) == 20

        self.run(scenario)

    def test_twenty_groups_are_written_at_once_while_others_read(self) -> None:
        async def scenario(memory: Store) -> None:
            groups = [Group(world_id="main", person_id=f"p{n}") for n in range(20)]
            await tell(memory, TARO, "c1", MONDAY, *TOWN)

            async def write(group: Group) -> None:
                for n in range(2):
                    await tell(memory, group, f"c{n}", MONDAY, f"{group.person_id}は太郎の友達だ", FISH)

            async def read(group: Group) -> None:
                found = await memory.recall(group, "太郎の友達", at=MONDAY)
                assert len(found) in (0, 1, 2, 3, 4)
                # All of an episode or nothing of it.
                assert len((await memory.export(group)).memories) in (0, 2, 4)
                assert texts(await memory.recall(TARO, "太郎の家族", at=MONDAY))[0] == FAMILY

            await asyncio.gather(*(write(g) for g in groups), *(read(g) for g in groups))
            for group in groups:
                facts = (await memory.export(group)).memories
                assert sorted(one.text for one in facts) == sorted([f"{group.person_id}は太郎の友達だ", FISH] * 2)

        self.run(scenario)


class HeardContract(OnStore):
    """What holds of turns, summaries and insights."""

    def test_an_insight_is_found_by_its_words_from_when_it_is_known(self) -> None:
        async def scenario(memory: Store) -> None:
            await memory.remember(TARO, episode(TARO, "c1", MONDAY, summary="魚の話をした。"), [])
            assert await memory.recall(TARO, "魚", at=MONDAY, kinds={Kind.INSIGHT}) == []
            thought = insight()
            await memory.database.write(lambda s: memory.store.remember(s, TARO, [thought], Embedded()))
            for asked in ({"at": TUESDAY}, {"at": TUESDAY, "about": "花子"}):
                (found,) = await memory.recall(TARO, "魚", kinds={Kind.INSIGHT}, **asked)
                assert found.item == thought
            assert await memory.recall(TARO, "魚", at=WorldTime(TUESDAY - 1), kinds={Kind.INSIGHT}) == []
            assert await memory.recall(HANAKO, "魚", at=TUESDAY, kinds={Kind.INSIGHT}) == []
            assert thought in await memory.store.items(TARO, TUESDAY)

        self.run(scenario)

    def test_a_turn_is_found_by_its_words_once_its_conversation_is_remembered(self) -> None:
        async def scenario(memory: Store) -> None:
            said = ("昨日は鯵が三匹釣れた", "それはよかったですね", "晩に煮付けにしたよ")
            await memory.remember(TARO, episode(TARO, "c1", MONDAY, summary="魚の話をした。"), [], said)
            await memory.remember(TARO, episode(TARO, "c2", TUESDAY, partner="jiro"), [], ("鯵は釣れない",))

            async def heard(query: str, at: int = TUESDAY, **given: Any) -> list[str]:
                found = await memory.recall(TARO, query, at=WorldTime(at), kinds={Kind.TURN}, **given)
                return [one.item.text for one in found if isinstance(one.item, HeardTurn) and one.bears]

            assert await heard("煮付け") == [said[2]]
            assert set(await heard("釣れた鯵")) == {said[0], "鯵は釣れない"}
            assert await heard("鯵", MONDAY) == [said[0]]
            assert await heard("鯵", partner_id="jiro") == ["鯵は釣れない"]
            assert await heard("鯵", at=MONDAY - 1) == []
            assert await memory.recall(TARO, "煮付け", at=TUESDAY) == []
            assert await memory.recall(HANAKO, "煮付け", at=TUESDAY, kinds={Kind.TURN}) == []
            (found, *beside) = await memory.recall(TARO, "煮付け", at=TUESDAY, kinds={Kind.TURN})
            assert {one.item.conversation_id for one in beside} == {"c1"}, "what was said around it comes after it"
            assert found.item == HeardTurn(
                conversation_id="c1",
                turn=2,
                speaker_id="hanako",
                speaker_name="Hanako",
                text=said[2],
                partner_id="hanako",
                at=MONDAY,
            )
            await memory.forget(TARO)
            assert await heard("鯵") == []

        self.run(scenario)

    def test_summaries_are_found_beside_facts_and_turns_when_all_are_asked_for(self) -> None:
        async def scenario(memory: Store) -> None:
            heard = episode(TARO, "c1", MONDAY, summary="They spoke of the lighthouse.", topics=("harbour", "storm"))
            await memory.remember(TARO, heard, [draft(heard, 0, "The lighthouse is dark")], ("The lighthouse?", "No."))
            await memory.remember(TARO, episode(TARO, "c2", MONDAY, partner="jiro"), [draft(heard, 1, FISH)])
            found = await memory.recall(TARO, "lighthouse", at=MONDAY, kinds=set(Kind))
            assert {type(one.item) for one in found[:3]} == {Memory, Episode, HeardTurn}
            (first, *_) = await memory.recall(TARO, "storm", at=MONDAY, kinds={Kind.SUMMARY})
            assert first.item == heard
            named = await memory.recall(TARO, "", at=MONDAY, kinds={Kind.SUMMARY, Kind.TURN}, about="Lighthouse")
            assert {type(one.item) for one in named} == {Episode, HeardTurn}

        self.run(scenario)


class SearchContract(OnStore):
    """What the one index answers that stands behind every store: proved behind SQL."""

    # Searching

    def test_a_fact_is_found_by_what_it_is_about_even_where_the_statement_does_not_say_it(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, "It burned down last winter", about="Mill")
            await tell(memory, TARO, "c2", TUESDAY, *TOWN)
            found = await memory.recall(TARO, "what about the mill", at=TUESDAY)
            assert "It burned down last winter" in texts(found)

        self.run(scenario)

    def test_any_text_may_be_asked_and_named(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, *TOWN)
            before = await memory.export(TARO)
            for query in HOSTILE:
                assert len(await memory.recall(TARO, query, at=MONDAY, limit=3)) <= 3
                assert len(await memory.recall(TARO, "太郎", at=MONDAY, about=query)) <= len(TOWN), query
                chosen = await memory.recall(TARO, query, at=MONDAY, partner_id="hanako")
                assert set(texts(chosen)) == set(TOWN), query
            assert await memory.export(TARO) == before

        self.run(scenario)

    def test_an_empty_query_gives_the_newest_first(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c2", TUESDAY, FISH)
            await tell(memory, TARO, "c1", MONDAY, FAMILY)
            await tell(memory, TARO, "c3", WEDNESDAY, SMITH)
            for query in ("", " ", "\n\t　"):
                assert texts(await memory.recall(TARO, query, at=THURSDAY)) == [SMITH, FISH, FAMILY]
                assert texts(await memory.recall(TARO, query, at=THURSDAY, limit=2)) == [SMITH, FISH]

        self.run(scenario)

    def test_an_empty_query_gives_the_nearest_to_the_entity_first_then_the_newest(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, "touches", about="Gon")
            await tell(memory, TARO, "c2", TUESDAY, "of the forge", about="forge")
            await tell(memory, TARO, "c3", WEDNESDAY, "of the mill", about="Mill")
            await tell(memory, TARO, "c4", THURSDAY, "touches, newer", about="Gon")
            found = await memory.recall(TARO, "", at=THURSDAY, about="gon", partner_id="hanako")
            assert texts(found) == ["touches, newer", "touches", "of the mill", "of the forge"]

        self.run(scenario)

    def test_equal_answers_keep_one_order(self) -> None:
        async def scenario(memory: Store) -> None:
            ids = await tell(memory, TARO, "c1", MONDAY, *(FISH for _ in range(8)))
            newer = await tell(memory, TARO, "c2", TUESDAY, FISH)
            for query in ("魚", ""):
                for _ in range(2):
                    found = await memory.recall(TARO, query, at=TUESDAY)
                    assert [one.memory.id for one in found] == newer + sorted(ids)

        self.run(scenario)

    # Filters

    def test_about_and_partner_choose_the_facts_and_either_suffices(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, "話 of Gon by Hanako", about="Gon", partner="hanako")
            await tell(memory, TARO, "c2", MONDAY, "話 of Gon by Jiro", about="Gon", partner="jiro")
            await tell(memory, TARO, "c3", MONDAY, "話 of Mill by Hanako", about="Mill", partner="hanako")
            await tell(memory, TARO, "c4", MONDAY, "話 of Mill by Jiro", about="Mill", partner="jiro")

            async def found(about: str | None, partner_id: str | None) -> set[str]:
                by_query = await memory.recall(TARO, "話", at=MONDAY, about=about, partner_id=partner_id)
                by_nothing = await memory.recall(TARO, "", at=MONDAY, about=about, partner_id=partner_id)
                assert set(texts(by_query)) == set(texts(by_nothing))
                return {text.removeprefix("話 of ") for text in texts(by_query)}

            assert await found("Gon", None) == {"Gon by Hanako", "Gon by Jiro"}
            assert await found(None, "hanako") == {"Gon by Hanako", "Mill by Hanako"}
            assert await found("Gon", "hanako") == {"Gon by Hanako", "Gon by Jiro", "Mill by Hanako"}
            assert await found("nobody", None) == set()
            assert await found(None, "nobody") == set()
            assert await found("nobody", "jiro") == {"Gon by Jiro", "Mill by Jiro"}
            assert len(await found(None, None)) == 4

        self.run(scenario)

    def test_an_entity_is_named_in_any_width_and_case(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, SMITH, about="Gon")
            for name in ("ＧＯＮ", " gon ", "Gon", "GON"):
                assert texts(await memory.recall(TARO, "", at=MONDAY, about=name)) == [SMITH], name

        self.run(scenario)

    def test_filters_come_before_the_limit(self) -> None:
        async def scenario(memory: Store) -> None:
            (old,) = await tell(memory, TARO, "c1", MONDAY, "太郎は魚が嫌いだ", about="味", partner="jiro")
            for n in range(12):
                await tell(memory, TARO, f"c{n + 2}", TUESDAY, f"太郎は魚が好きだと{n}回言った")
            about = await memory.recall(TARO, "太郎は魚が好きだ", at=TUESDAY, about="味", limit=1)
            heard = await memory.recall(TARO, "太郎は魚が好きだ", at=TUESDAY, partner_id="jiro", limit=1)
            before = await memory.recall(TARO, "太郎は魚が好きだ", at=MONDAY, limit=1)
            assert [one.memory.id for one in (*about, *heard, *before)] == [old, old, old]

        self.run(scenario)

    def test_what_a_filter_has_chosen_answers_even_a_query_it_shares_nothing_with(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, "太郎は朝が早い", FISH)
            found = texts(await memory.recall(TARO, "魚が安い市場", at=MONDAY, partner_id="hanako"))
            assert found == [FISH, "太郎は朝が早い"]

        self.run(scenario)

    def test_what_others_know_does_not_change_the_order_of_answers(self) -> None:
        async def scenario(memory: Store) -> None:
            await tell(memory, TARO, "c1", MONDAY, *TOWN, "魚の市場", "太郎の市場", "子供の魚")
            before = await memory.recall(TARO, "太郎の子供は市場で魚を買う", at=MONDAY)
            for n in range(5):
                await tell(memory, HANAKO, f"h{n}", MONDAY, *("太郎の市場の魚" for _ in range(10)), partner="jiro")
            assert await memory.recall(TARO, "太郎の子供は市場で魚を買う", at=MONDAY) == before

        self.run(scenario)
