"""Owns what every MemoryGraph must do. A test module subclasses MemoryGraphContract and says how to make a graph.

Nothing here asserts a score; an order is asserted only where the contract gives one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import overload

import pytest

from service.memory.graph import (
    Episode,
    Fact,
    FactDraft,
    Group,
    GroupDump,
    MemoryGraph,
    Recalled,
    episode_id,
    fact_id,
)
from world.time import WorldTime

TARO = Group(world_id="main", character_id="taro")
HANAKO = Group(world_id="main", character_id="hanako")
TARO_ELSEWHERE = Group(world_id="other", character_id="taro")

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
ABOUT = {
    FAMILY: ("太郎", "子供"),
    FISH: ("市場", "魚"),
    SMITH: ("ゴン", "耳"),
    APPLES: ("Hanako", "apples"),
    BRIDGE: ("bridge", "storm"),
}

Scenario = Callable[[MemoryGraph], Awaitable[None]]


class Broken(Exception):
    """Raised by the test's own facts in the middle of a write."""


class HalfAList(Sequence[FactDraft]):
    """Facts of which the third cannot be read."""

    def __init__(self, facts: Sequence[FactDraft]) -> None:
        self._facts = facts

    def __len__(self) -> int:
        return len(self._facts)

    @overload
    def __getitem__(self, index: int) -> FactDraft: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[FactDraft]: ...

    def __getitem__(self, index: int | slice) -> FactDraft | Sequence[FactDraft]:
        if isinstance(index, slice) or index >= 2:
            raise Broken
        return self._facts[index]


def episode(
    group: Group, conversation: str, at: WorldTime, *, partner: str = "hanako", body: str = "They talked."
) -> Episode:
    """The episode of a conversation."""
    return Episode(
        id=episode_id(group, conversation),
        name=f"talk {conversation}",
        body=body,
        partner_id=partner,
        conversation_id=conversation,
        at=at,
    )


def draft(
    of: Episode,
    index: int,
    statement: str,
    *,
    subject: str = "太郎",
    relation: str = "SAID",
    obj: str = "花子",
    turn: int | None = 1,
    valid_at: WorldTime | None = None,
    replaces: tuple[str, ...] = (),
) -> FactDraft:
    """Fact number `index` of an episode, true since then unless said otherwise."""
    return FactDraft(
        id=fact_id(of.id, index),
        subject=subject,
        relation=relation,
        object=obj,
        statement=statement,
        turn=turn,
        valid_at=of.at if valid_at is None else valid_at,
        replaces=replaces,
    )


async def tell(
    graph: MemoryGraph,
    group: Group,
    conversation: str,
    at: WorldTime,
    *statements: str,
    partner: str = "hanako",
    subject: str | None = None,
    obj: str | None = None,
) -> list[str]:
    """Remember statements of one conversation, about whom they say unless told otherwise; their fact ids."""
    heard = episode(group, conversation, at, partner=partner)
    drafts = []
    for index, text in enumerate(statements):
        one, other = ABOUT.get(text, ("太郎", "花子"))
        drafts.append(draft(heard, index, text, subject=subject or one, obj=obj or other))
    await graph.remember(group, heard, drafts)
    return [fact.id for fact in drafts]


def statements(found: Sequence[Recalled]) -> list[str]:
    """What was recalled, best first."""
    return [one.fact.statement for one in found]


async def all_of(graph: MemoryGraph, group: Group) -> dict[str, Fact]:
    """Every fact of a group by its statement."""
    return {fact.statement: fact for fact in (await graph.export(group)).facts}


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


class MemoryGraphContract:
    """The suite. `new_graph` gives an empty graph; it is closed by the suite."""

    def new_graph(self, tmp_path: Path) -> MemoryGraph:
        raise NotImplementedError

    def run(self, tmp_path: Path, scenario: Scenario) -> None:
        """Run a scenario on a fresh graph."""

        async def opened() -> None:
            graph = self.new_graph(tmp_path)
            try:
                await scenario(graph)
            finally:
                await graph.aclose()

        asyncio.run(opened())

    # Remembering

    def test_an_empty_memory_answers_with_nothing(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await graph.check()
            assert await graph.recall(TARO, "太郎", at=MONDAY) == []
            assert await graph.recall(TARO, "", at=MONDAY, about="太郎", partner_id="hanako") == []
            assert await graph.episodes(TARO) == []
            assert await graph.history(TARO, "nothing") == []
            assert await graph.export(TARO) == GroupDump(episodes=(), facts=())
            await graph.forget(TARO)
            await graph.forget_world("main")

        self.run(tmp_path, scenario)

    def test_a_fact_comes_back_with_both_times_and_its_provenance_down_to_the_turn(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            heard = episode(TARO, "c1", TUESDAY)
            told = draft(heard, 0, FAMILY, relation="IS_MARRIED_TO", turn=7, valid_at=MONDAY)
            await graph.remember(TARO, heard, [told])
            (found,) = await graph.recall(TARO, "家族は? 子供は?", at=TUESDAY)
            assert found.fact == Fact(
                id=told.id,
                subject="太郎",
                relation="IS_MARRIED_TO",
                object="花子",
                statement=FAMILY,
                valid_at=MONDAY,
                invalid_at=None,
                created_at=TUESDAY,
                expired_at=None,
                replaced_by=None,
                episode_id=heard.id,
                partner_id="hanako",
                conversation_id="c1",
                turn=7,
            )
            assert await graph.episodes(TARO) == [heard]

        self.run(tmp_path, scenario)

    def test_a_fact_may_have_no_turn(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            heard = episode(TARO, "seed", MONDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, FAMILY, turn=None)])
            assert (await all_of(graph, TARO))[FAMILY].turn is None

        self.run(tmp_path, scenario)

    def test_an_episode_without_facts_is_remembered(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            heard = episode(TARO, "c1", MONDAY, body="天気の話をした。")
            await graph.remember(TARO, heard, [])
            assert await graph.episodes(TARO) == [heard]

        self.run(tmp_path, scenario)

    def test_the_second_write_of_an_episode_changes_nothing_even_with_other_facts(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (old,) = await tell(graph, TARO, "c0", MONDAY, FISH)
            heard = episode(TARO, "c1", TUESDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, FAMILY)])
            before = await graph.export(TARO)
            await graph.remember(TARO, heard, [draft(heard, 0, FAMILY)])
            other = episode(TARO, "c1", WEDNESDAY, body="Another story.")
            await graph.remember(TARO, other, [draft(other, 0, SMITH), draft(other, 1, BRIDGE, replaces=(old,))])
            assert await graph.export(TARO) == before

        self.run(tmp_path, scenario)

    def test_of_two_facts_with_one_id_the_first_is_kept(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (old,) = await tell(graph, TARO, "c0", MONDAY, FISH)
            heard = episode(TARO, "c1", TUESDAY)
            told = [draft(heard, 0, FAMILY), draft(heard, 0, SMITH, replaces=(old,))]
            await graph.remember(TARO, heard, told)
            facts = await all_of(graph, TARO)
            assert set(facts) == {FISH, FAMILY}
            assert facts[FISH].expired_at is None

        self.run(tmp_path, scenario)

    def test_a_fact_may_replace_an_earlier_one_of_its_own_episode(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            heard = episode(TARO, "c1", TUESDAY)
            first = draft(heard, 0, "太郎は漁師だ")
            await graph.remember(TARO, heard, [first, draft(heard, 1, "太郎は大工だ", replaces=(first.id,))])
            assert statements(await graph.recall(TARO, "太郎", at=TUESDAY)) == ["太郎は大工だ"]
            assert (await all_of(graph, TARO))["太郎は漁師だ"].replaced_by == fact_id(heard.id, 1)

        self.run(tmp_path, scenario)

    def test_a_group_holds_the_episodes_it_was_given_and_no_others(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, FAMILY)
            assert await graph.holds(TARO, episode_id(TARO, "c1"))
            for group, conversation in ((TARO, "c2"), (HANAKO, "c1"), (TARO_ELSEWHERE, "c1")):
                assert not await graph.holds(group, episode_id(group, conversation))
            await graph.forget(TARO)
            assert not await graph.holds(TARO, episode_id(TARO, "c1"))

        self.run(tmp_path, scenario)

    def test_a_write_that_breaks_half_way_leaves_nothing_and_can_be_made_again(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (old,) = await tell(graph, TARO, "c0", MONDAY, "太郎は漁師だ")
            before = await graph.export(TARO)
            heard = episode(TARO, "c1", TUESDAY)
            told = [
                draft(heard, 0, "太郎は大工だ", replaces=(old,)),
                draft(heard, 1, FISH),
                draft(heard, 2, SMITH),
            ]
            with pytest.raises(Broken):
                await graph.remember(TARO, heard, HalfAList(told))
            assert await graph.export(TARO) == before
            await graph.remember(TARO, heard, told)
            assert {fact.statement for fact in (await graph.export(TARO)).facts} == {
                "太郎は漁師だ",
                "太郎は大工だ",
                FISH,
                SMITH,
            }

        self.run(tmp_path, scenario)

    # Two times

    def test_a_replaced_fact_is_closed_in_both_times_and_kept(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (fisher,) = await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ")
            heard = episode(TARO, "c2", WEDNESDAY)
            now = draft(heard, 0, "太郎は大工だ", valid_at=TUESDAY, replaces=(fisher,))
            await graph.remember(TARO, heard, [now])
            facts = await all_of(graph, TARO)
            closed, current = facts["太郎は漁師だ"], facts["太郎は大工だ"]
            assert (closed.valid_at, closed.invalid_at) == (MONDAY, TUESDAY)
            assert (closed.created_at, closed.expired_at) == (MONDAY, WEDNESDAY)
            assert closed.replaced_by == current.id == now.id
            assert (current.valid_at, current.invalid_at) == (TUESDAY, None)
            assert (current.created_at, current.expired_at, current.replaced_by) == (WEDNESDAY, None, None)

        self.run(tmp_path, scenario)

    def test_recall_as_of_a_time_gives_what_was_held_true_then(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (fisher,) = await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ")
            heard = episode(TARO, "c2", WEDNESDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, "太郎は大工だ", replaces=(fisher,))])

            async def known(at: int) -> list[str]:
                return statements(await graph.recall(TARO, "太郎の仕事", at=WorldTime(at)))

            assert await known(MONDAY - 1) == []
            assert await known(MONDAY) == ["太郎は漁師だ"]
            assert await known(WEDNESDAY - 1) == ["太郎は漁師だ"]
            assert await known(WEDNESDAY) == ["太郎は大工だ"]
            assert await known(THURSDAY) == ["太郎は大工だ"]

        self.run(tmp_path, scenario)

    def test_that_a_fact_was_over_is_not_known_before_it_is_heard(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (fisher,) = await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ")
            heard = episode(TARO, "c2", WEDNESDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, "太郎は大工だ", valid_at=TUESDAY, replaces=(fisher,))])

            async def known(at: int) -> list[str]:
                return statements(await graph.recall(TARO, "太郎の仕事", at=WorldTime(at)))

            assert await known(TUESDAY) == ["太郎は漁師だ"]
            assert await known(WEDNESDAY - 1) == ["太郎は漁師だ"]
            assert await known(WEDNESDAY) == ["太郎は大工だ"]

        self.run(tmp_path, scenario)

    def test_recall_agrees_with_known_at_at_every_hour(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            ids = await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ", "太郎は港に住む", "太郎は若い")
            past = episode(TARO, "c2", WEDNESDAY)
            await graph.remember(
                TARO,
                past,
                [
                    draft(past, 0, "太郎は大工だ", valid_at=TUESDAY, replaces=(ids[0],)),
                    draft(past, 1, "太郎は丘に住む", valid_at=THURSDAY, replaces=(ids[1],)),
                ],
            )
            facts = (await graph.export(TARO)).facts
            for at in range(MONDAY - 60, THURSDAY + 120, 360):
                found = await graph.recall(TARO, "太郎", at=WorldTime(at), limit=50)
                assert {one.fact.id for one in found} == {fact.id for fact in facts if fact.known_at(WorldTime(at))}

        self.run(tmp_path, scenario)

    def test_history_shows_the_closed_facts_that_were_known_by_then(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (fisher,) = await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ")
            heard = episode(TARO, "c2", WEDNESDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, "太郎は大工だ", replaces=(fisher,))])
            now = await graph.recall(TARO, "太郎の仕事", at=THURSDAY, history=True)
            assert set(statements(now)) == {"太郎は漁師だ", "太郎は大工だ"}
            before = await graph.recall(TARO, "太郎の仕事", at=TUESDAY, history=True)
            assert statements(before) == ["太郎は漁師だ"]
            assert await graph.recall(TARO, "太郎の仕事", at=WorldTime(MONDAY - 1), history=True) == []

        self.run(tmp_path, scenario)

    def test_a_fact_never_ends_before_it_began_whatever_order_the_episodes_arrive_in(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (later,) = await tell(graph, TARO, "c2", WEDNESDAY, "太郎は大工だ")
            late = episode(TARO, "c1", MONDAY)
            await graph.remember(TARO, late, [draft(late, 0, "太郎は漁師だ", replaces=(later,))])
            facts = await all_of(graph, TARO)
            closed = facts["太郎は大工だ"]
            assert (closed.valid_at, closed.invalid_at) == (WEDNESDAY, WEDNESDAY)
            assert (closed.created_at, closed.expired_at) == (WEDNESDAY, WEDNESDAY)
            assert statements(await graph.recall(TARO, "太郎", at=THURSDAY)) == ["太郎は漁師だ"]
            assert [one.conversation_id for one in await graph.episodes(TARO)] == ["c2", "c1"]

        self.run(tmp_path, scenario)

    def test_what_a_later_episode_has_closed_stays_closed_by_it(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (fisher,) = await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ")
            later = episode(TARO, "c3", WEDNESDAY)
            await graph.remember(TARO, later, [draft(later, 0, "太郎は大工だ", replaces=(fisher,))])
            late = episode(TARO, "c2", TUESDAY)
            await graph.remember(TARO, late, [draft(late, 0, "太郎は農夫だ", replaces=(fisher,))])
            closed = (await all_of(graph, TARO))["太郎は漁師だ"]
            assert closed.replaced_by == fact_id(later.id, 0)
            assert (closed.invalid_at, closed.expired_at) == (WEDNESDAY, WEDNESDAY)

        self.run(tmp_path, scenario)

    def test_ids_the_group_does_not_hold_are_passed_over(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (theirs,) = await tell(graph, HANAKO, "c1", MONDAY, "花子は独身だ")
            (elsewhere,) = await tell(graph, TARO_ELSEWHERE, "c1", MONDAY, "太郎は漁師だ")
            heard = episode(TARO, "c2", TUESDAY)
            own = fact_id(heard.id, 0)
            told = draft(heard, 0, FAMILY, replaces=("no-such-fact", "", "' OR 1=1", theirs, elsewhere, own))
            await graph.remember(TARO, heard, [told])
            assert (await all_of(graph, HANAKO))["花子は独身だ"].expired_at is None
            assert (await all_of(graph, TARO_ELSEWHERE))["太郎は漁師だ"].expired_at is None
            kept = (await all_of(graph, TARO))[FAMILY]
            assert (kept.invalid_at, kept.expired_at, kept.replaced_by) == (None, None, None)

        self.run(tmp_path, scenario)

    def test_history_follows_a_chain_from_any_of_its_facts_oldest_first(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (a,) = await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ")
            second = episode(TARO, "c2", TUESDAY)
            await graph.remember(
                TARO, second, [draft(second, 0, "太郎は大工だ", replaces=(a,)), draft(second, 1, FISH)]
            )
            b = fact_id(second.id, 0)
            third = episode(TARO, "c3", WEDNESDAY)
            await graph.remember(TARO, third, [draft(third, 0, "太郎は村長だ", replaces=(b,))])
            c = fact_id(third.id, 0)
            for start in (a, b, c):
                assert [fact.id for fact in await graph.history(TARO, start)] == [a, b, c]
            alone = await graph.history(TARO, fact_id(second.id, 1))
            assert [fact.statement for fact in alone] == [FISH]

        self.run(tmp_path, scenario)

    def test_history_of_a_merged_fact_shows_all_it_replaced(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            a, b = await tell(graph, TARO, "c1", MONDAY, "太郎に娘がいる", "太郎に息子がいる")
            heard = episode(TARO, "c2", TUESDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, FAMILY, replaces=(a, b))])
            merged = fact_id(heard.id, 0)
            assert {fact.id for fact in await graph.history(TARO, merged)} == {a, b, merged}
            assert [fact.id for fact in await graph.history(TARO, a)] == [a, merged]

        self.run(tmp_path, scenario)

    def test_history_is_the_groups_own(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (told,) = await tell(graph, TARO, "c1", MONDAY, FAMILY)
            assert await graph.history(HANAKO, told) == []
            await graph.load(TARO_ELSEWHERE, await graph.export(TARO))
            heard = episode(TARO, "c2", TUESDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, "太郎は独身だ", replaces=(told,))])
            (copy,) = await graph.history(TARO_ELSEWHERE, told)
            assert copy.replaced_by is None

        self.run(tmp_path, scenario)

    # Searching

    @pytest.mark.parametrize(
        ("query", "best"),
        [
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
        ],
    )
    def test_the_fact_that_answers_comes_first(self, tmp_path: Path, query: str, best: str) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, *TOWN)
            assert statements(await graph.recall(TARO, query, at=MONDAY))[0] == best

        self.run(tmp_path, scenario)

    def test_a_fact_is_found_by_what_it_is_about_even_where_the_statement_does_not_say_it(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, "It burned down last winter", subject="Mill", obj="village")
            await tell(graph, TARO, "c2", TUESDAY, *TOWN)
            found = await graph.recall(TARO, "what about the mill", at=TUESDAY)
            assert "It burned down last winter" in statements(found)

        self.run(tmp_path, scenario)

    @pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
    def test_any_text_may_be_asked_and_named(self, tmp_path: Path, query: str) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, *TOWN)
            before = await graph.export(TARO)
            assert len(await graph.recall(TARO, query, at=MONDAY, limit=3)) <= 3
            assert await graph.recall(TARO, "太郎", at=MONDAY, about=query) == []
            chosen = await graph.recall(TARO, query, at=MONDAY, partner_id="hanako")
            assert set(statements(chosen)) == set(TOWN)
            assert await graph.export(TARO) == before

        self.run(tmp_path, scenario)

    @pytest.mark.parametrize(
        "text", ['"quoted" NEAR(', "NUL\0inside", "🎉 祭り 🎉", "line\nbreak\ttab", "O'Neil; --", " "]
    )
    def test_any_text_may_be_remembered_as_it_is(self, tmp_path: Path, text: str) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            heard = episode(TARO, "c1", MONDAY, body=text)
            await graph.remember(TARO, heard, [draft(heard, 0, text, subject=text, obj=text, relation=text)])
            (kept,) = (await graph.export(TARO)).facts
            assert (kept.statement, kept.subject, kept.relation, kept.object) == (text, text, text, text)
            assert await graph.episodes(TARO) == [heard]

        self.run(tmp_path, scenario)

    @pytest.mark.parametrize("query", ["", " ", "\n\t　"])
    def test_an_empty_query_gives_the_newest_first(self, tmp_path: Path, query: str) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c2", TUESDAY, FISH)
            await tell(graph, TARO, "c1", MONDAY, FAMILY)
            await tell(graph, TARO, "c3", WEDNESDAY, SMITH)
            assert statements(await graph.recall(TARO, query, at=THURSDAY)) == [SMITH, FISH, FAMILY]
            assert statements(await graph.recall(TARO, query, at=THURSDAY, limit=2)) == [SMITH, FISH]

        self.run(tmp_path, scenario)

    def test_an_empty_query_gives_the_nearest_to_the_entity_first_then_the_newest(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, "touches", subject="Gon", obj="forge")
            await tell(graph, TARO, "c2", TUESDAY, "shares the forge", subject="forge", obj="coal")
            await tell(graph, TARO, "c3", WEDNESDAY, "neither", subject="Mill", obj="river")
            await tell(graph, TARO, "c4", THURSDAY, "touches, newer", subject="Gon", obj="ear")
            found = await graph.recall(TARO, "", at=THURSDAY, about="gon", partner_id="hanako")
            assert statements(found) == ["touches, newer", "touches", "shares the forge", "neither"]

        self.run(tmp_path, scenario)

    def test_equal_answers_keep_one_order(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            ids = await tell(graph, TARO, "c1", MONDAY, *(FISH for _ in range(8)))
            newer = await tell(graph, TARO, "c2", TUESDAY, FISH)
            for query in ("魚", ""):
                for _ in range(2):
                    found = await graph.recall(TARO, query, at=TUESDAY)
                    assert [one.fact.id for one in found] == newer + sorted(ids)

        self.run(tmp_path, scenario)

    @pytest.mark.parametrize("limit", [0, 1, 3, 50])
    def test_no_more_than_the_limit_is_given(self, tmp_path: Path, limit: int) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, *(f"太郎は{n}回目の話をした" for n in range(5)))
            assert len(await graph.recall(TARO, "太郎の話", at=MONDAY, limit=limit)) == min(limit, 5)
            assert len(await graph.recall(TARO, "", at=MONDAY, limit=limit)) == min(limit, 5)
            assert len(await graph.episodes(TARO, limit=limit)) == min(limit, 1)

        self.run(tmp_path, scenario)

    def test_scores_fall_from_the_first_answer_to_the_last(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, *TOWN)
            scores = [one.score for one in await graph.recall(TARO, "太郎の家族と魚", at=MONDAY, about="太郎")]
            assert scores == sorted(scores, reverse=True)

        self.run(tmp_path, scenario)

    # Filters

    def test_about_and_partner_choose_the_facts_and_either_suffices(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, "話 of Gon by Hanako", subject="Gon", obj="forge", partner="hanako")
            await tell(graph, TARO, "c2", MONDAY, "話 of Gon by Jiro", subject="iron", obj="Gon", partner="jiro")
            await tell(graph, TARO, "c3", MONDAY, "話 of Mill by Hanako", subject="Mill", obj="river", partner="hanako")
            await tell(graph, TARO, "c4", MONDAY, "話 of Mill by Jiro", subject="Mill", obj="flour", partner="jiro")

            async def found(about: str | None, partner_id: str | None) -> set[str]:
                by_query = await graph.recall(TARO, "話", at=MONDAY, about=about, partner_id=partner_id)
                by_nothing = await graph.recall(TARO, "", at=MONDAY, about=about, partner_id=partner_id)
                assert set(statements(by_query)) == set(statements(by_nothing))
                return {text.removeprefix("話 of ") for text in statements(by_query)}

            assert await found("Gon", None) == {"Gon by Hanako", "Gon by Jiro"}
            assert await found(None, "hanako") == {"Gon by Hanako", "Mill by Hanako"}
            assert await found("Gon", "hanako") == {"Gon by Hanako", "Gon by Jiro", "Mill by Hanako"}
            assert await found("nobody", None) == set()
            assert await found(None, "nobody") == set()
            assert await found("nobody", "jiro") == {"Gon by Jiro", "Mill by Jiro"}
            assert len(await found(None, None)) == 4

        self.run(tmp_path, scenario)

    @pytest.mark.parametrize("name", ["ＧＯＮ", " gon ", "Gon", "GON"])
    def test_an_entity_is_named_in_any_width_and_case(self, tmp_path: Path, name: str) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, SMITH, subject="Gon", obj="forge")
            assert statements(await graph.recall(TARO, "", at=MONDAY, about=name)) == [SMITH]

        self.run(tmp_path, scenario)

    def test_filters_come_before_the_limit(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (old,) = await tell(graph, TARO, "c1", MONDAY, "太郎は魚が嫌いだ", subject="魚", obj="味", partner="jiro")
            for n in range(12):
                await tell(graph, TARO, f"c{n + 2}", TUESDAY, f"太郎は魚が好きだと{n}回言った")
            about = await graph.recall(TARO, "太郎は魚が好きだ", at=TUESDAY, about="味", limit=1)
            heard = await graph.recall(TARO, "太郎は魚が好きだ", at=TUESDAY, partner_id="jiro", limit=1)
            before = await graph.recall(TARO, "太郎は魚が好きだ", at=MONDAY, limit=1)
            assert [one.fact.id for one in (*about, *heard, *before)] == [old, old, old]

        self.run(tmp_path, scenario)

    def test_what_a_filter_has_chosen_answers_even_a_query_it_shares_nothing_with(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, "太郎は朝が早い", FISH)
            found = statements(await graph.recall(TARO, "魚が安い市場", at=MONDAY, partner_id="hanako"))
            assert found == [FISH, "太郎は朝が早い"]

        self.run(tmp_path, scenario)

    def test_episodes_come_newest_first_and_can_be_one_partners(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            first = episode(TARO, "c1", MONDAY)
            second = episode(TARO, "c2", TUESDAY, partner="jiro")
            third = episode(TARO, "c3", WEDNESDAY)
            for one in (second, third, first):
                await graph.remember(TARO, one, [])
            assert await graph.episodes(TARO) == [third, second, first]
            assert await graph.episodes(TARO, limit=2) == [third, second]
            assert await graph.episodes(TARO, partner_id="hanako") == [third, first]
            assert await graph.episodes(TARO, partner_id="hanako", limit=1) == [third]
            assert await graph.episodes(TARO, partner_id="nobody") == []

        self.run(tmp_path, scenario)

    # Groups

    def test_nobody_remembers_what_another_character_or_another_world_was_told(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            heard = episode(TARO, "c1", MONDAY)
            told = draft(heard, 0, FAMILY)
            for group, text in ((TARO, FAMILY), (HANAKO, FISH), (TARO_ELSEWHERE, SMITH)):
                # The very same ids in each group.
                own = FactDraft(
                    id=told.id,
                    subject="太郎",
                    relation="SAID",
                    object="花子",
                    statement=text,
                    turn=1,
                    valid_at=MONDAY,
                )
                await graph.remember(group, heard, [own])
            for group, text in ((TARO, FAMILY), (HANAKO, FISH), (TARO_ELSEWHERE, SMITH)):
                for query in ("", "太郎 花子 魚 鍛冶屋 子供"):
                    found = await graph.recall(group, query, at=MONDAY, about="太郎", partner_id="hanako")
                    assert statements(found) == [text]
                assert [fact.statement for fact in await graph.history(group, told.id)] == [text]

        self.run(tmp_path, scenario)

    def test_what_others_know_does_not_change_the_order_of_answers(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            await tell(graph, TARO, "c1", MONDAY, *TOWN, "魚の市場", "太郎の市場", "子供の魚")
            before = await graph.recall(TARO, "太郎の子供は市場で魚を買う", at=MONDAY)
            for n in range(5):
                await tell(graph, HANAKO, f"c{n}", MONDAY, *("太郎の市場の魚" for _ in range(10)))
            assert await graph.recall(TARO, "太郎の子供は市場で魚を買う", at=MONDAY) == before

        self.run(tmp_path, scenario)

    def test_forgetting_removes_one_group_wholly(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            for group in (TARO, HANAKO, TARO_ELSEWHERE):
                await tell(graph, group, "c1", MONDAY, *TOWN)
                await graph.recall(group, "太郎の家族", at=MONDAY)
            await graph.forget(TARO)
            assert await graph.export(TARO) == GroupDump(episodes=(), facts=())
            assert await graph.recall(TARO, "太郎の家族", at=MONDAY) == []
            assert await graph.recall(TARO, "", at=MONDAY, about="太郎", partner_id="hanako") == []
            for group in (HANAKO, TARO_ELSEWHERE):
                assert statements(await graph.recall(group, "太郎の家族", at=MONDAY))[0] == FAMILY
            await tell(graph, TARO, "c1", TUESDAY, BRIDGE)
            assert statements(await graph.recall(TARO, "the bridge", at=TUESDAY)) == [BRIDGE]
            await graph.forget(Group(world_id="main", character_id="no-one"))

        self.run(tmp_path, scenario)

    def test_forgetting_a_world_leaves_worlds_whose_names_begin_alike(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            gone = [Group(world_id="a", character_id="b"), Group(world_id="a", character_id="c")]
            kept = [Group(world_id=world, character_id="b") for world in ("a-b", "a_", "A", "ab", "b")]
            for group in (*gone, *kept):
                await tell(graph, group, "c1", MONDAY, FAMILY)
            await graph.forget_world("a")
            for group in gone:
                assert (await graph.export(group)).episodes == ()
            for group in kept:
                assert statements(await graph.recall(group, "太郎の家族", at=MONDAY)) == [FAMILY]

        self.run(tmp_path, scenario)

    # Export and load

    def test_a_dump_is_loaded_as_it_was_into_any_group(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            ids = await tell(graph, TARO, "c2", TUESDAY, *TOWN)
            await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ", partner="jiro")
            heard = episode(TARO, "c3", WEDNESDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, "太郎は大工だ", replaces=(ids[0],), valid_at=MONDAY)])
            dump = await graph.export(TARO)
            assert [one.at for one in dump.episodes] == sorted(one.at for one in dump.episodes)
            assert [one.created_at for one in dump.facts] == sorted(one.created_at for one in dump.facts)
            assert len(dump.facts) == len(TOWN) + 2
            await graph.load(TARO_ELSEWHERE, dump)
            assert await graph.export(TARO_ELSEWHERE) == dump
            for query in ("太郎の仕事", "魚", ""):
                copy = await graph.recall(TARO_ELSEWHERE, query, at=THURSDAY)
                assert copy == await graph.recall(TARO, query, at=THURSDAY)
            assert await graph.history(TARO_ELSEWHERE, ids[0]) == await graph.history(TARO, ids[0])
            await graph.forget(TARO)
            await graph.load(TARO, dump)
            assert await graph.export(TARO) == dump

        self.run(tmp_path, scenario)

    def test_loading_leaves_what_is_there_under_the_same_ids(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (fisher,) = await tell(graph, TARO, "c1", MONDAY, "太郎は漁師だ")
            old = await graph.export(TARO)
            heard = episode(TARO, "c2", TUESDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, "太郎は大工だ", replaces=(fisher,))])
            now = await graph.export(TARO)
            await graph.load(TARO, old)
            await graph.load(TARO, now)
            assert await graph.export(TARO) == now

        self.run(tmp_path, scenario)

    def test_after_loading_an_episode_it_is_not_remembered_again(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            heard = episode(TARO, "c1", MONDAY)
            await graph.remember(TARO, heard, [draft(heard, 0, FAMILY)])
            dump = await graph.export(TARO)
            await graph.forget(TARO)
            await graph.load(TARO, dump)
            await graph.remember(TARO, heard, [draft(heard, 0, FAMILY), draft(heard, 1, FISH)])
            assert await graph.export(TARO) == dump

        self.run(tmp_path, scenario)

    # At the same time

    def test_twenty_writes_of_one_group_at_once_are_all_there(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            (first,) = await tell(graph, TARO, "c0", MONDAY, "太郎は漁師だ")

            async def replace(n: int) -> None:
                heard = episode(TARO, f"c{n}", TUESDAY)
                await graph.remember(TARO, heard, [draft(heard, 0, f"太郎は{n}番目の大工だ", replaces=(first,))])

            await asyncio.gather(*(replace(n) for n in range(1, 21)))
            dump = await graph.export(TARO)
            assert len(dump.episodes) == len(dump.facts) == 21
            (closed,) = [fact for fact in dump.facts if fact.id == first]
            assert closed.replaced_by in {fact.id for fact in dump.facts} - {first}
            assert sum(fact.expired_at is None for fact in dump.facts) == 20

        self.run(tmp_path, scenario)

    def test_the_same_episode_written_by_ten_at_once_is_there_once(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            heard = episode(TARO, "c1", MONDAY)
            versions = [[draft(heard, 2 * n, FAMILY), draft(heard, 2 * n + 1, FISH)] for n in range(10)]
            await asyncio.gather(*(graph.remember(TARO, heard, told) for told in versions))
            dump = await graph.export(TARO)
            assert dump.episodes == (heard,)
            assert {fact.id for fact in dump.facts} in [{one.id for one in told} for told in versions]

        self.run(tmp_path, scenario)

    def test_twenty_groups_are_written_at_once_while_others_read(self, tmp_path: Path) -> None:
        async def scenario(graph: MemoryGraph) -> None:
            groups = [Group(world_id="main", character_id=f"p{n}") for n in range(20)]
            await tell(graph, TARO, "c1", MONDAY, *TOWN)

            async def write(group: Group) -> None:
                for n in range(2):
                    await tell(graph, group, f"c{n}", MONDAY, f"{group.character_id}は太郎の友達だ", FISH)

            async def read(group: Group) -> None:
                found = await graph.recall(group, "太郎の友達", at=MONDAY)
                assert len(found) in (0, 1, 2, 3, 4)
                # All of an episode or nothing of it.
                assert len((await graph.export(group)).facts) in (0, 2, 4)
                assert statements(await graph.recall(TARO, "太郎の家族", at=MONDAY))[0] == FAMILY

            await asyncio.gather(*(write(g) for g in groups), *(read(g) for g in groups))
            for group in groups:
                facts = (await graph.export(group)).facts
                assert sorted(fact.statement for fact in facts) == sorted(
                    [f"{group.character_id}は太郎の友達だ", FISH] * 2
                )

        self.run(tmp_path, scenario)
