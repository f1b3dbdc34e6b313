"""Owns the tests of how people stand to each other and feel: changes in steps, added up at any world time."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import Session

from service.content.profile import Mood
from service.conversation.dependencies import ConversationDependencies
from service.locales import Language
from service.people.attitude import (
    STRANGERS,
    Attitude,
    attitude,
    attitudes_among,
    attitudes_of,
    moods,
    moved_affinity,
    set_affinity,
    stance,
)
from service.store.tables import AttitudeChangeRow, MoodRow
from tests.conversation.talks import pass_minutes
from world.time import WorldTime

NOON = WorldTime(1_000_000)


def change(
    room: ConversationDependencies, id: str, at: int, *, pair: tuple[str, str] = ("npc_taro", "aoi"), **fields: Any
) -> None:
    """Write what a talk that ended at `at` changed."""
    world_id = fields.pop("world_id", "main")
    row = AttitudeChangeRow(world_id=world_id, owner_id=pair[0], other_id=pair[1], id=id, at=at, **fields)
    room.database.write_now(lambda s: s.add(row))


def at(room: ConversationDependencies, t: int, *pair: str, world_id: str = "main") -> Attitude:
    """How the owner stands to the other at `t`."""
    return room.database.read_now(lambda s: attitude(s, world_id, pair[0], pair[1], WorldTime(t)))


@settings(max_examples=100, deadline=None)
@given(before=st.integers(-100, 100), proposed=st.integers(-300, 300), step=st.integers(0, 200))
def test_affinity_stays_in_its_bounds_and_never_overshoots(before: int, proposed: int, step: int) -> None:
    after = moved_affinity(before, proposed, step)
    assert -100 <= after <= 100
    assert abs(after - before) <= step
    assert min(before, proposed) <= after <= max(before, proposed)


def test_an_attitude_at_any_minute_is_the_sum_of_the_changes_until_then(room: ConversationDependencies) -> None:
    change(room, "a", NOON, affinity_delta=8, met=True, power=1, intimacy=2, task_oriented=-3)
    change(room, "b", NOON + 60, affinity_delta=-3, met=True)
    change(room, "c", NOON + 90, affinity_delta=4, intimacy=-1)
    assert at(room, NOON - 1, "npc_taro", "aoi") == STRANGERS
    first = Attitude(affinity=8, power=1, intimacy=2, task_oriented=-3, times_met=1, last_met_at=NOON)
    assert at(room, NOON, "npc_taro", "aoi") == first
    last = at(room, NOON + 90, "npc_taro", "aoi")
    assert (last.affinity, last.intimacy, last.power) == (9, -1, 1)
    assert (last.times_met, last.last_met_at) == (2, NOON + 60), "what an author sets is no meeting"


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_closings_add_up_to_the_same_in_whatever_order_they_come(
    room: ConversationDependencies, order: tuple[int, ...]
) -> None:
    talks = [(5, 1), (-9, None), (30, 2)]
    for i in order:
        change(room, f"talk{i}", NOON + i, affinity_delta=talks[i][0], intimacy=talks[i][1], met=True)
    found = at(room, NOON + 9, "npc_taro", "aoi")
    assert (found.affinity, found.intimacy, found.times_met, found.last_met_at) == (26, 2, 3, NOON + 2)


def test_attitudes_are_directed_and_belong_to_one_world(room: ConversationDependencies) -> None:
    change(room, "a", NOON, affinity_delta=5)
    change(room, "a", NOON, affinity_delta=7, pair=("aoi", "npc_taro"))
    change(room, "a", NOON, affinity_delta=9, world_id="other")
    change(room, "b", NOON, affinity_delta=1, pair=("npc_taro", "mio"))
    among = room.database.read_now(lambda s: attitudes_among(s, "main", ["aoi", "npc_taro"], NOON))
    assert {pair: stood.affinity for pair, stood in among.items()} == {("aoi", "npc_taro"): 7, ("npc_taro", "aoi"): 5}
    assert at(room, NOON, "npc_taro", "aoi", world_id="other").affinity == 9
    people = room.database.read_now(lambda s: attitudes_of(s, "main", ["npc_taro", "npc_fumi"], NOON))
    assert {name: found.affinity for name, found in people["npc_taro"].items()} == {"aoi": 5, "mio": 1}
    assert people["npc_fumi"] == {}


def test_what_an_author_sets_holds_from_then_on_and_talks_move_it_on(room: ConversationDependencies) -> None:
    def sets(session: Session) -> None:
        set_affinity(session, room.worlds.open(session, "main"), "npc_taro", "aoi", 40, "z")

    now = room.database.read_now(lambda s: room.worlds.open(s, "main").now)
    change(room, "a", now, affinity_delta=90)
    change(room, "b", now, affinity_delta=90)
    room.database.write_now(sets)
    assert at(room, now, "npc_taro", "aoi").affinity == 40
    change(room, "c", now + 5, affinity_delta=-3)
    assert at(room, now + 5, "npc_taro", "aoi").affinity == 37


def test_a_person_is_in_its_authors_mood_until_something_happens_and_again_when_it_has_cooled(
    room: ConversationDependencies,
) -> None:
    def felt(person_id: str = "npc_taro") -> Mood:
        return room.database.read_now(lambda s: moods(s, room.worlds.open(s, "main"), [person_id], 6)[person_id])

    pass_minutes(room, 3 * 24 * 60)
    assert (felt(), felt("aoi")) == ("happy", "neutral")
    now = room.database.read_now(lambda s: room.worlds.open(s, "main").now)
    row = MoodRow(world_id="main", person_id="npc_taro", id="a", at=now, mood="angry")
    late = MoodRow(world_id="main", person_id="npc_taro", id="b", at=now - 60, mood="neutral")
    room.database.write_now(lambda s: s.add_all([row, late]))
    assert felt() == "angry", "a closing that comes late leaves the mood of the later talk"
    both = room.database.read_now(lambda s: moods(s, room.worlds.open(s, "main"), ["aoi", "npc_taro"], 6))
    assert both == {"aoi": "neutral", "npc_taro": "angry"}
    pass_minutes(room, 6 * 60)
    assert felt() == "happy"


@pytest.mark.parametrize(
    ("language", "affinity", "judged", "told"),
    [
        ("en", 0, (2, 2, 0), "With Taro you are close, and you are the one who leads."),
        ("ja", 0, (1, 2, 0), "Taroとは心安い仲で、だいたい自分が話を引っぱるほうだ。"),
        (
            "en",
            30,
            (3, -3, -3),
            "You are fond of Taro; you let nothing show, you have the say, and you want nothing but the company.",
        ),
        ("ja", 30, (0, 0, 2), "Taroのことが好きだ。用件の話がほとんどだ。"),
        ("en", 5, (0, 0, 0), ""),
    ],
)
def test_affinity_and_the_three_dimensions_are_one_sentence_that_passes_over_what_is_nothing(
    language: Language, affinity: int, judged: tuple[int, int, int], told: str
) -> None:
    power, intimacy, task_oriented = judged
    felt = Attitude(affinity=affinity, power=power, intimacy=intimacy, task_oriented=task_oriented)
    assert stance(felt, "Taro", language) == told


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_degree_has_its_own_words_and_who_was_not_judged_has_none(language: Language) -> None:
    assert stance(STRANGERS, "Taro", language) == ""
    told = set()
    for degree in (-3, -2, -1, 1, 2, 3):
        told |= {stance(Attitude(power=degree), "Taro", language), stance(Attitude(intimacy=degree), "Taro", language)}
        told.add(stance(Attitude(task_oriented=degree), "Taro", language))
    assert len(told) == 18
