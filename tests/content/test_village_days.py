"""Owns the tests of the bundled village as a life: whoever follows the routine can do all of it, day after day, and
lacks nothing.
"""

from collections.abc import Iterator
from functools import cache

import pytest

from service.content.files import bundled_content
from service.content.load import Content, load_content
from service.content.profile import CharacterProfile, RoutineBlock
from world.actions import WAIT, Option
from world.life import Activity, LifeState
from world.possible import possible
from world.setting import Setting
from world.simulation import Simulation, newcomer
from world.time import MINUTES_PER_DAY, WorldTime, minute_of_day

DAYS = 3
A_FORTNIGHT = 14
CHARACTERS = sorted(path.stem for path in (bundled_content() / "characters").glob("*.yaml"))


@cache
def _village() -> tuple[Content, Setting]:
    content = load_content(bundled_content())
    cast = content.cast("en")
    return content, Setting(cast.world_map, cast.catalogue)


def _block(character: CharacterProfile, t: WorldTime) -> tuple[int, WorldTime]:
    """The block of that minute, and when the next begins."""
    minute = minute_of_day(t)
    past = [i for i, block in enumerate(character.routine) if block.starts <= minute]
    i = past[-1] if past else len(character.routine) - 1
    following = character.routine[(i + 1) % len(character.routine)].starts
    return i, WorldTime(t + ((following - minute) % MINUTES_PER_DAY or MINUTES_PER_DAY))


def _choice(setting: Setting, world: Simulation, character_id: str, block: RoutineBlock) -> Option:
    options = possible(setting, world.perceive(character_id), nearest=None).options
    planned = [o for o in options if (o.action_id, o.facility_id) == (block.action_id, block.facility_id)]
    return next(iter([*planned, *(o for o in options if o.action_id == WAIT)]))


@cache
def _life(character_id: str) -> tuple[Activity, ...]:
    """What somebody does who does in each block what is planned as often as it can, and else waits."""
    content, setting = _village()
    character = content.cast("en").character(character_id)
    born = newcomer(setting, character_id, character.home, content.start, needs=character.needs)
    world = Simulation(setting, [born], remember=None)
    while (person := world.people[character_id]).ready < content.start + DAYS * MINUTES_PER_DAY:
        if person.state is LifeState.CLAIMS:
            world.claim(character_id)
            continue
        i, wake_at = _block(character, person.ready)
        world.decide(character_id, _choice(setting, world, character_id, character.routine[i]), wake_at=wake_at)
    return world.people[character_id].past


def _blocks(character: CharacterProfile, start: WorldTime) -> Iterator[tuple[WorldTime, RoutineBlock]]:
    """Every block of the days lived that begins after the first night and before the last morning is over."""
    midnight = WorldTime(start - minute_of_day(start))
    for day in range(1, DAYS):
        for block in character.routine:
            yield WorldTime(midnight + day * MINUTES_PER_DAY + block.starts), block


def test_these_are_all_characters() -> None:
    assert sorted(_village()[0].cast("en").characters) == CHARACTERS


@pytest.mark.parametrize("character_id", CHARACTERS)
def test_every_block_of_a_routine_can_be_done(character_id: str) -> None:
    content, _ = _village()
    character = content.cast("en").character(character_id)
    for t, block in _blocks(character, content.start):
        _, until = _block(character, t)
        done = [a for a in _life(character_id) if t <= a.start < until]
        assert (block.action_id, block.facility_id) in {(a.action_id, a.facility_id) for a in done}, (t, block)


@pytest.mark.parametrize("character_id", CHARACTERS)
def test_the_facility_of_a_block_is_open_when_it_begins_and_the_way_is_short(character_id: str) -> None:
    content, setting = _village()
    character = content.cast("en").character(character_id)
    node = character.home
    for block in (*character.routine, character.routine[0]):
        goals: tuple[str, ...] = (character.home,)
        if block.facility_id is not None:
            facility = setting.world_map.facility(block.facility_id)
            assert facility.open_at(WorldTime(block.starts)), block
            goals = facility.node_ids
        path = setting.routes.path_to_any(node, goals)
        assert path.minutes <= 30, block
        node = path.nodes[-1]


@pytest.mark.parametrize("character_id", CHARACTERS)
def test_the_nights_are_slept_at_home(character_id: str) -> None:
    content, setting = _village()
    nights = [a for a in _life(character_id) if a.action_id == "sleep"]
    assert len(nights) == DAYS
    assert {a.node_id for a in nights} == {content.cast("en").character(character_id).home}
    assert setting.catalogue.action("sleep").ends_day


@pytest.mark.parametrize("character_id", CHARACTERS)
def test_nobody_who_follows_the_routine_starves_tires_or_grows_poor(character_id: str) -> None:
    _, setting = _village()
    needs, life = setting.catalogue.needs, _life(character_id)
    for activity in life:
        critical = set(needs.critical(activity.levels, activity.end)) - {"sociability"}  # that is what talking is for
        assert not critical, (activity, needs.at(activity.levels, activity.end))
    first, last = (needs.at(a.levels, a.end)["money"] for a in (life[0], life[-1]))
    assert last - (first - last) / DAYS * A_FORTNIGHT > 0


def test_the_bundled_characters_do_not_all_begin_alike() -> None:
    characters = _village()[0].cast("en").characters.values()
    assert len({tuple(sorted(c.needs.items())) for c in characters}) == len(characters)
    assert all(c.decision is None for c in characters)
    assert all(block.action_id for c in characters for block in c.routine)
