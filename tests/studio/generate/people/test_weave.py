"""Holds made people to a place in a world that `kataribe check` accepts."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from service.content.check import examine
from service.content.files import init_content, small_content, write_all
from service.content.load import load_content
from service.locales import languages
from studio.exchange.draft import ImportRefused
from studio.generate.people.asking import MadePerson
from studio.generate.people.parts import PersonSlot, Tie
from studio.generate.people.plan import DemographyFile, sampling_plan
from studio.generate.people.weave import Woven, weave
from tests.studio.generate.people.demographies import demographies
from tests.studio.generate.people.worlds import plan_of, rehearsed, small, village, woven_village

MADE = MadePerson.model_validate(
    {
        "name": "Ada Quill",
        "personality": "Calm and dry.",
        "tendencies": ["waits a moment", "hums now and then"],
        "facts": ["has a boat", "was born here", "sleeps badly"],
        "lines": ["Hello.", "It is cold.", "I have a boat.", "Do you fish?", "Thank you.", "Goodbye."],
        "goals": [{"goal": "Sail round the point", "importance": 7}],
        "likes": ["rain"],
        "dislikes": [],
        "beliefs": ["luck is a lazy dog"],
        "skills": ["rowing"],
        "behaviours": ["counts gulls"],
        "experiences": ["was lost at sea"],
    }
)


def slot(number: int = 0, **more: object) -> PersonSlot:
    given: dict[str, object] = {
        "number": number, "seed": 7 + number, "age": 40, "sex": "female", "work": "baker", "temper": "quiet",
        "household": number,
    }  # fmt: skip
    return PersonSlot(**(given | more))  # type: ignore[arg-type]


def named(name: str) -> MadePerson:
    return MADE.model_copy(update={"name": name})


def values(woven: Woven, number: int) -> dict[str, object]:
    name = next(name for name in woven.files if name.endswith(f"/{woven.ids[number]}.yaml"))
    found: dict[str, object] = yaml.safe_load(woven.files[name])
    return found


MANY = [(60, "en"), (200, "ja")]
pytestmark = pytest.mark.xdist_group("people")  # the village is peopled once


@pytest.mark.parametrize(("count", "language"), MANY)
def test_a_village_with_many_new_people_is_checked_without_an_error(tmp_path: Path, count: int, language: str) -> None:
    init_content(tmp_path)
    woven, slots = woven_village(count, 1, language), plan_of(count, 1, language).slots
    write_all(tmp_path, woven.files)
    assert examine(tmp_path).problems == []
    cast = load_content(tmp_path).cast(language)
    assert len(cast.everybody) == len(village().cast(language).everybody) + count
    assert len(cast.npcs) - len(village().cast(language).npcs) == sum(one.npc for one in slots) > 0
    for one in slots:
        for tie in one.ties:
            known = cast.are_acquainted(woven.ids[one.number], woven.ids[tie.number])
            assert known or (one.npc and slots[tie.number].npc)
    homes = {cast.characters[woven.ids[one.number]].home for one in slots if not one.npc}
    assert len(homes) > min(count // 4, 30)


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("count", [1, 8, 60])
def test_an_empty_stage_takes_them_too(tmp_path: Path, count: int, language: str) -> None:
    init_content(tmp_path, source=small_content(language))
    world = load_content(tmp_path)
    plan = sampling_plan(DemographyFile(), count, 2, language, world)
    write_all(tmp_path, weave(world, rehearsed(plan, language, world), language, {}).files)
    assert examine(tmp_path).problems == []


def test_ties_are_relationships_both_ways_in_words_that_fit_age_and_sex() -> None:
    mother = slot(0, ties=(Tie(1, "child"),))
    son = slot(1, age=9, sex="male", work="", household=0, ties=(Tie(0, "parent"), Tie(2, "sibling")))
    sister = slot(2, age=14, household=0, work="", ties=(Tie(1, "sibling"),))
    woven = weave(village(), [(mother, named("A")), (son, named("B")), (sister, named("C"))], "ja", {})
    told = {
        (number, one["person"]): one["description"]
        for number in range(3)
        for one in values(woven, number)["relationships"]  # type: ignore[attr-defined]
    }
    assert {key: text[0] for key, text in told.items()} == {
        (0, "b"): "息",
        (1, "a"): "母",
        (1, "c"): "姉",
        (2, "b"): "弟",
    }


def test_who_is_there_already_is_known_and_its_kin_live_with_it() -> None:
    there = {5: "nagi", 6: "aoi"}
    woven = weave(village(), [(slot(ties=(Tie(5, "sibling"), Tie(6, "friend"), Tie(9, "friend"))), MADE)], "en", there)
    nagi = village().cast("en").characters["nagi"]
    assert values(woven, 0)["home"] == nagi.home
    assert {"nagi", "aoi"} <= set(values(woven, 0)["knows"])  # type: ignore[call-overload]
    assert not any("nagi" in name for name in woven.files)


@pytest.mark.parametrize(("count", "language"), MANY)
def test_everybody_opens_and_closes_its_day_at_home_and_is_only_where_it_is_open(count: int, language: str) -> None:
    plan, woven = plan_of(count, 1, language), woven_village(count, 1, language)
    cast = village().cast(language)
    for one in (one for one in plan.slots if not one.npc):
        routine = values(woven, one.number)["routine"]
        starts = [block["starts"] for block in routine]  # type: ignore[attr-defined]
        assert starts == sorted(set(starts))
        assert "facility" not in routine[0]  # type: ignore[index]
        assert "facility" not in routine[-1]  # type: ignore[index]
        assert routine[-1]["action"] == "sleep"  # type: ignore[index]
        for block in routine:  # type: ignore[attr-defined]
            if "facility" in block:
                hour, minute = map(int, block["starts"].split(":"))
                place, action = cast.world_map.facilities[block["facility"]], cast.catalogue.action(block["action"])
                assert any(hours.contain(60 * hour + minute) for hours in place.hours), (block, one)
                assert any(hours.contain(60 * hour + minute) for hours in action.hours), (block, one)
                assert one.age >= 20 or "drink" not in place.tags


def test_what_the_check_would_refuse_is_refused() -> None:
    wrong = MADE.model_copy(update={"facts": [""]})
    with pytest.raises(ImportRefused, match="facts"):
        weave(village(), [(slot(), wrong)], "en", {})


@settings(max_examples=12, deadline=None)
@given(demography=demographies(), count=st.integers(1, 25), seed=st.integers(0, 10_000), is_village=st.booleans())
def test_whatever_the_demography_the_check_finds_nothing(
    demography: DemographyFile, count: int, seed: int, is_village: bool
) -> None:
    world = village() if is_village else small("en")
    plan = sampling_plan(demography, count, seed, "en", world)
    assert len(weave(world, rehearsed(plan, "en", world), "en", {}).ids) == count
