"""Owns the tests of how an NPC feels: affinity in steps, mood that cools."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import select

from service.cast.profile import Mood
from service.cast.relation import felt_mood, mood_of, moved_affinity, npc_row, relation_row
from service.conversation.room import Room
from service.store.tables import NpcRow, RelationRow
from world.time import WorldTime

NOON = WorldTime(1_000_000)


@pytest.mark.parametrize(
    ("before", "proposed", "step", "after"),
    [
        (0, 8, 20, 8),
        (0, 90, 20, 20),
        (0, -90, 20, -20),
        (95, 100, 20, 100),
        (-95, -100, 20, -100),
        (30, 30, 20, 30),
        (10, 50, 0, 10),
    ],
)
def test_affinity_moves_towards_what_was_proposed_by_one_step_at_most(
    before: int, proposed: int, step: int, after: int
) -> None:
    assert moved_affinity(before, proposed, step) == after


@settings(max_examples=100, deadline=None)
@given(before=st.integers(-100, 100), proposed=st.integers(-300, 300), step=st.integers(0, 200))
def test_affinity_stays_in_its_bounds_and_never_overshoots(before: int, proposed: int, step: int) -> None:
    after = moved_affinity(before, proposed, step)
    assert -100 <= after <= 100
    assert abs(after - before) <= step
    assert min(before, proposed) <= after <= max(before, proposed)


@pytest.mark.parametrize("mood", ["happy", "angry", "neutral"])
def test_a_mood_cools_after_its_hours_to_the_minute(mood: Mood) -> None:
    assert felt_mood(mood, NOON, WorldTime(NOON + 6 * 60 - 1), 6) == mood
    assert felt_mood(mood, NOON, WorldTime(NOON + 6 * 60), 6) == "neutral"


def test_a_row_whose_mood_nobody_knows_is_neutral() -> None:
    row = NpcRow(world_id="main", npc_id="npc_taro", mood="melancholy", mood_at=NOON)
    assert mood_of(row, NOON, 6) == "neutral"


def test_an_npc_nobody_met_is_in_the_mood_its_author_gave_it_and_has_no_row(room: Room) -> None:
    world = room.database.read_now(lambda s: room.stage.open(s, "main"))
    row = room.database.read_now(lambda s: npc_row(s, world, world.npc("npc_taro")))
    assert (mood_of(row, world.now, 6), row.conversation_count) == ("happy", 0)
    assert room.database.read_now(lambda s: s.exec(select(NpcRow)).all()) == []


def test_two_who_never_met_are_indifferent_and_have_no_row(room: Room) -> None:
    row = room.database.read_now(lambda s: relation_row(s, "main", "npc_taro", "aoi"))
    assert (row.affinity, row.conversation_count, row.stance) == (0, 0, "")
    assert room.database.read_now(lambda s: s.exec(select(RelationRow)).all()) == []


def test_a_relation_belongs_to_one_world_and_one_pair(room: Room) -> None:
    def liked(affinity: int, *pair: str) -> None:
        room.database.write_now(lambda s: setattr(relation_row(s, *pair, lock=True), "affinity", affinity))

    liked(5, "main", "npc_taro", "aoi")
    liked(7, "main", "npc_taro", "mio")
    liked(9, "other", "npc_taro", "aoi")
    read = room.database.read_now
    assert read(lambda s: relation_row(s, "main", "npc_taro", "aoi").affinity) == 5
    assert read(lambda s: relation_row(s, "other", "npc_taro", "aoi").affinity) == 9
    assert read(lambda s: relation_row(s, "main", "npc_hamako", "aoi").affinity) == 0


def test_two_first_meetings_at_once_count_both(room: Room) -> None:
    def met(_: int) -> None:
        room.database.write_now(lambda s: _count(relation_row(s, "main", "npc_taro", "aoi", lock=True)))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(met, range(8)))
    row = room.database.read_now(lambda s: relation_row(s, "main", "npc_taro", "aoi"))
    assert row.conversation_count == 8


def _count(row: RelationRow) -> None:
    row.conversation_count += 1
