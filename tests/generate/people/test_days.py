"""Holds the days of new people to a life: whoever follows the routine eats, works and sleeps at home, day after day."""

import pytest

from service.content.files import init_content
from service.content.load import Content, load_content
from studio.exchange.place import write_all
from tests.decision.days import live
from tests.generate.people.worlds import plan_of, woven_village
from tests.world.simulation import Run, levels_at
from world.events import Kind
from world.setting import Setting
from world.time import MINUTES_PER_DAY, WorldTime

DAYS, PEOPLE = 3, 60


@pytest.fixture(scope="module")
def peopled(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """The village with sixty new people."""
    directory = tmp_path_factory.mktemp("peopled")
    init_content(directory)
    write_all(directory, woven_village(PEOPLE, 1, "en").files)
    return load_content(directory)


@pytest.fixture(scope="module")
def days(peopled: Content) -> Run:
    """All characters together, by routine."""
    cast = peopled.cast("en")
    return live(Setting(cast.world_map, cast.catalogue), cast.characters, peopled.start, days=DAYS)


def test_every_night_is_slept_at_home(peopled: Content, days: Run) -> None:
    new = woven_village(PEOPLE, 1, "en").ids.values()
    people = {one: person for one, person in peopled.cast("en").characters.items() if one in new}
    assert len(people) == sum(not one.npc for one in plan_of(PEOPLE, 1, "en").slots)
    for person_id, person in people.items():
        nights = [done.node_id for done in days.world.people[person_id].past if done.action_id == "sleep"]
        assert nights == [person.home] * DAYS, person_id


def test_no_need_stays_critical_for_half_a_day_and_nobody_runs_out_of_money(peopled: Content, days: Run) -> None:
    critical = {need.id: need.critical or 0 for need in peopled.cast("en").catalogue.needs.all}
    for person_id in peopled.cast("en").characters:
        hours = [levels_at(days.world, person_id, WorldTime(peopled.start + 60 * hour)) for hour in range(24 * DAYS)]
        for need_id in ("energy", "satiety"):
            assert sum(levels[need_id] <= critical[need_id] for levels in hours) < 6, (person_id, need_id)
        assert hours[-1]["money"] > 0, person_id


def test_whoever_has_work_or_school_goes_there_every_day(peopled: Content, days: Run) -> None:
    characters, ids = peopled.cast("en").characters, woven_village(PEOPLE, 1, "en").ids
    busy = 0
    for slot in (slot for slot in plan_of(PEOPLE, 1, "en").slots if not slot.npc):
        routine = characters[ids[slot.number]].routine
        work = next((block for block in routine if block.action_id in ("work", "study")), None)
        if work is not None:
            past = days.world.people[ids[slot.number]].past
            there = {one.start // MINUTES_PER_DAY for one in past if one.facility_id == work.facility_id}
            assert len(there) >= DAYS, slot
            busy += 1
    assert busy > PEOPLE // 2


def test_hardly_anything_that_was_decided_turned_out_impossible(days: Run) -> None:
    failed = sum(event.kind is Kind.FAILED for event in days.log)
    assert failed <= len(days.log) // 200
