"""A day by routine: possible at every moment, believable as a whole, the same in both languages."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.content.load import Cast, Content
from service.content.profile import CharacterProfile, RoutineBlock
from service.decision.routine import by_routine
from service.locales import Language
from tests.decision.days import live
from tests.world.little_worlds import random_setting
from tests.world.simulation import Run
from world.actions import TALK, WAIT
from world.events import EventKind
from world.setting import Setting
from world.simulation import Simulation, newcomer
from world.time import MINUTES_PER_DAY, WorldTime, minute_of_day, parse_time

NOON = parse_time("2026-04-01T12:00")


def _setting(cast: Cast) -> Setting:
    return Setting(cast.world_map, cast.catalogue)


@pytest.fixture(scope="module")
def days(village: Content) -> Run:
    """Two days of the sample village's five."""
    cast = village.cast("en")
    return live(_setting(cast), cast.characters, village.start, days=2)


def _started(run: Run, person_id: str) -> list[tuple[WorldTime, str]]:
    return [
        (event.time, str(event.data["action_id"]))
        for event in run.log
        if event.kind is EventKind.STARTED and event.person_id == person_id
    ]


def test_everybody_eats_works_and_sleeps_at_night_every_day(village: Content, days: Run) -> None:
    catalogue = village.cast("en").catalogue
    for person_id in village.cast("en").characters:
        for day in range(2):
            since = WorldTime(village.start + day * MINUTES_PER_DAY)
            did = [one for one in _started(days, person_id) if since <= one[0] < since + MINUTES_PER_DAY]
            doing = [catalogue.action(action_id) for _, action_id in did if action_id != WAIT]
            assert any(action.effects.get("satiety", 0) > 20 and not action.ends_day for action in doing), person_id
            assert any(action.tags for action in doing), person_id
            nights = [t for t, action_id in did if action_id == "sleep"]
            assert len(nights) == 1, (person_id, did)
            assert not 4 * 60 <= minute_of_day(nights[0]) < 20 * 60


def test_nobody_by_routine_begins_a_talk_or_fails_for_long(days: Run) -> None:
    assert not days.talks
    failed = [event for event in days.log if event.kind is EventKind.FAILED]
    assert len(failed) <= 5


def test_the_day_is_the_same_in_both_languages(village: Content) -> None:
    told = {}
    languages: tuple[Language, ...] = ("en", "ja")
    for language in languages:
        cast = village.cast(language)
        told[language] = live(_setting(cast), cast.characters, village.start, days=1).log
    assert told["en"] == told["ja"]


def _block(hour: int, facility_id: str | None = None, action_id: str | None = None) -> RoutineBlock:
    return RoutineBlock(starts=hour * 60, activity="x", facility_id=facility_id, action_id=action_id)


def _at(village: Content, at: str, *blocks: RoutineBlock, node: str = "nagaya_one", **needs: float) -> tuple[str, str]:
    """What a character with that routine does, and in which facility."""
    setting = _setting(village.cast("en"))
    profile = CharacterProfile(id="x", name="X", personality="", home="nagaya_one", routine=blocks)
    t = parse_time(f"2026-04-01T{at}")
    fine = {"energy": 80, "satiety": 80, "sociability": 80, "money": 100, **needs}
    world = Simulation(setting, [newcomer(setting, "x", "nagaya_one", t, node_id=node, needs=fine, is_scripted=True)])
    option, _ = by_routine(setting, profile, world.perceive("x"))
    return option.action_id, option.facility_id or option.node_id


def test_a_block_is_spent_at_its_place_with_its_action(village: Content) -> None:
    assert _at(village, "10:00", _block(9, "inn"), _block(22)) == ("work", "inn")
    assert _at(village, "09:00", _block(9, "inn", "bath"), _block(22)) == ("bath", "inn")
    assert _at(village, "18:00", _block(17, "tavern", "drink"), _block(22)) == ("drink", "tavern")


def test_who_can_do_nothing_there_goes_there_and_waits(village: Content) -> None:
    assert _at(village, "16:30", _block(16, "tavern"), _block(22)) == (WAIT, "tavern_door")


def test_a_critical_need_comes_first(village: Content) -> None:
    action_id, _ = _at(village, "10:00", _block(9, "archive"), _block(22), satiety=10)
    assert action_id in ("eat_out", "eat_at_home", "cook")


def test_the_last_block_at_home_is_for_sleeping(village: Content) -> None:
    day = (_block(7), _block(9, "inn"), _block(19), _block(23))
    assert _at(village, "20:30", *day)[0] != "sleep"
    assert _at(village, "23:05", *day, node="inn_hall")[0] == "sleep"
    assert _at(village, "00:30", *day)[0] == "sleep"


def test_who_has_no_routine_stays_at_home_and_sleeps_at_night(village: Content) -> None:
    assert _at(village, "14:00") == (WAIT, "nagaya_one")
    assert _at(village, "22:30")[0] == "sleep"


def test_blocks_of_places_that_are_gone_are_passed_over(village: Content) -> None:
    assert _at(village, "10:00", _block(9, "inn"), _block(10, "gone", "fly"), _block(22)) == ("work", "inn")
    assert _at(village, "10:00", _block(9, "inn", "fly"), _block(22)) == ("work", "inn")


def test_the_plan_of_the_day_goes_before_the_routine(village: Content) -> None:
    setting = _setting(village.cast("en"))
    profile = CharacterProfile(id="x", name="X", personality="", home="nagaya_one", routine=(_block(9, "inn"),))
    plan = (RoutineBlock(starts=600, activity="reads", facility_id="archive", action_id="study"),)
    world = Simulation(setting, [newcomer(setting, "x", "nagaya_one", NOON, is_scripted=True)])
    option, wake_at = by_routine(setting, profile, world.perceive("x"), plan)
    assert (option.action_id, option.facility_id) == ("study", "archive")
    assert wake_at == parse_time("2026-04-02T10:00")


def test_what_is_done_ends_when_the_next_block_begins(village: Content) -> None:
    setting = _setting(village.cast("en"))
    routine = (_block(9, "inn", "work"), RoutineBlock(starts=12 * 60 + 20, activity="y"))
    profile = CharacterProfile(id="x", name="X", personality="", home="nagaya_one", routine=routine)
    world = Simulation(setting, [newcomer(setting, "x", "nagaya_one", NOON, node_id="inn_hall", is_scripted=True)])
    option, wake_at = by_routine(setting, profile, world.perceive("x"))
    assert (option.action_id, option.minutes, wake_at) == ("work", 20, NOON + 20)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_the_world_accepts_whatever_the_routine_decides(seed: int, data: st.DataObject) -> None:
    setting = random_setting(seed)
    rng = random.Random(seed)
    facilities = [None, *sorted(setting.world_map.facilities), "gone"]
    actions = [None, *(action.id for action in setting.catalogue.actions), "fly"]
    nodes = sorted(setting.world_map.open_graph)

    def blocks() -> tuple[RoutineBlock, ...]:
        return tuple(
            RoutineBlock(
                starts=rng.randrange(1440),
                activity="x",
                facility_id=rng.choice(facilities),
                action_id=rng.choice(actions),
            )
            for _ in range(rng.randrange(5))
        )

    t = WorldTime(NOON + data.draw(st.integers(0, 1439)))
    needs = {need_id: data.draw(st.integers(0, 100)) for need_id in ("energy", "satiety", "sociability", "money")}
    home, node = rng.choice(nodes), rng.choice(nodes)
    profile = CharacterProfile(id="x", name="X", personality="", home=home)
    world = Simulation(
        setting,
        [newcomer(setting, "x", home, t, node_id=node, needs=needs, is_scripted=rng.random() < 0.5)],
        remember=None,
    )
    plan = blocks()
    for _ in range(12):
        snapshot = world.perceive("x")
        option, wake_at = by_routine(setting, profile, snapshot, plan)
        assert option.action_id != TALK
        assert option.minutes >= 1
        assert wake_at is None or wake_at > snapshot.time
        world.decide("x", option, wake_at=wake_at)
        while world.people["x"].state == "claims":
            world.claim("x")
