"""Holds the plan of people to its shares, and to what ages allow."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.locales import languages
from studio.generate.people.households import kind_of
from studio.generate.people.parts import OTHER_SIDE, Tie
from studio.generate.people.plan import (
    WORKING_AGE,
    DemographyFile,
    Plan,
    outcome,
    outcome_lines,
    quotas,
    sampling_plan,
)
from studio.generate.people.workplaces import open_posts
from tests.studio.generate.people.demographies import SHARES, as_shares, demographies
from tests.studio.generate.people.worlds import plan_of, small, village

SIZES = (1, 8, 60, 200)


def holds(plan: Plan) -> None:
    """What must be so in every plan."""
    by_number = {slot.number: slot for slot in plan.slots}
    assert [*by_number] == [*range(len(plan.slots))]
    for slot in plan.slots:
        assert len({tie.number for tie in slot.ties}) == len(slot.ties)
        for tie in slot.ties:
            other = by_number[tie.number]
            assert other is not slot
            assert Tie(slot.number, OTHER_SIDE[tie.kind]) in other.ties
            if tie.kind == "parent":
                assert 18 <= other.age - slot.age <= 42
            if tie.kind == "partner":
                assert min(slot.age, other.age) >= WORKING_AGE
            if tie.kind in ("partner", "parent", "child", "sibling"):
                assert other.household == slot.household
                assert other.family_name == slot.family_name
        assert len([tie for tie in slot.ties if tie.kind == "parent"]) <= 2
        assert len([tie for tie in slot.ties if tie.kind == "partner"]) <= 1
        assert bool(slot.work) == (slot.age >= WORKING_AGE)
        assert not slot.npc or slot.work
    for _, home in itertools.groupby(sorted(plan.slots, key=lambda s: s.household), key=lambda s: s.household):
        members = [*home]
        assert {kind_of({one.number: one.ties for one in members})} == {one.lives for one in members}
    for row in outcome(plan, by_number):
        if row["attribute"] not in ("households", "npcs"):
            assert row["planned"] == row["wanted"] == row["made"], row


@settings(max_examples=40, deadline=None)
@given(demography=demographies(), count=st.integers(1, 80), seed=st.integers(0, 10_000))
def test_any_demography_has_a_plan_with_the_nearest_counts_and_ties_that_ages_allow(
    demography: DemographyFile, count: int, seed: int
) -> None:
    holds(sampling_plan(demography, count, seed, "en", village()))


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("count", SIZES)
def test_an_open_plan_is_uniform_whatever_its_size_and_seed(count: int, language: str) -> None:
    for seed in (1, 2, 3):
        plan = plan_of(count, seed, language)
        holds(plan)
        sexes = Counter(slot.sex for slot in plan.slots)
        assert max(sexes.values()) - min(sexes.values()) <= 1 or count == 1


@given(weights=SHARES, count=st.integers(0, 500))
def test_no_other_whole_numbers_are_nearer_to_the_shares(weights: list[int], count: int) -> None:
    shares = as_shares(tuple("abcdef"), weights)
    found = quotas(shares, count)
    assert sum(found.values()) == count
    off = {name: found[name] - share * count for name, share in shares.items()}
    assert all(abs(one) < 1 for one in off.values())
    # To move one person from a value to another brings neither sum of distances nor of their squares down.
    for more, less in itertools.permutations(off, 2):
        assert (off[more] + 1) ** 2 + (off[less] - 1) ** 2 >= off[more] ** 2 + off[less] ** 2 - 1e-6


def test_the_same_seed_makes_the_same_plan_and_another_one_another() -> None:
    made = [sampling_plan(DemographyFile(), 30, seed, "ja", village()) for seed in (5, 5, 6)]
    assert made[0] == made[1]
    assert made[0] != made[2]
    assert len({slot.seed for slot in made[0].slots}) == 30


@pytest.mark.parametrize("seed", range(5))
def test_households_are_as_many_as_wanted_where_ages_allow_it(seed: int) -> None:
    shares = {"alone": 0.25, "couple": 0.25, "family": 0.5}
    file = DemographyFile.model_validate({"ties": {"households": shares}})
    for row in outcome(sampling_plan(file, 60, seed, "en", village()), ()):
        if row["attribute"] == "households":
            assert abs(row["planned"] - row["wanted"]) <= 2, row


def test_people_stand_at_posts_only_where_the_map_has_room() -> None:
    everybody = DemographyFile.model_validate({"npcs": 1, "age": ["20-60"]})
    assert not any(slot.npc for slot in sampling_plan(everybody, 20, 1, "en", small("en")).slots)
    room_for = len(open_posts(village()))
    slots = sampling_plan(everybody, 200, 1, "en", village()).slots
    assert sum(slot.npc for slot in slots) == room_for > 5


def test_the_outcome_shows_who_was_not_made() -> None:
    plan = sampling_plan(DemographyFile.model_validate({"sex": ["woman", "man"]}), 10, 1, "en", village())
    women = [slot.number for slot in plan.slots if slot.sex == "woman"]
    rows = {row["value"]: row for row in outcome(plan, women) if row["attribute"] == "sex"}
    assert (rows["woman"]["made"], rows["man"]["made"], rows["man"]["planned"]) == (5, 0, 5)
    lines = outcome_lines(outcome(plan, women), "en")
    assert any(line.split() == ["man", "50.0%", "5", "5", "0"] for line in lines)
    assert any("世帯" in line for line in outcome_lines(outcome(plan, women), "ja"))
