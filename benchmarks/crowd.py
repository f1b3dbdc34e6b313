"""Owns the generated places of the living world's benchmark and the crowds that live there."""

import random
from functools import cache

from service.content.files import bundled_content
from service.content.load import load_content
from service.content.profile import CharacterProfile, RoutineBlock
from tests.world.little_worlds import grid_setting
from world.actions import Catalogue
from world.setting import Setting
from world.simulation import Simulation, newcomer
from world.time import WorldTime, parse_time

MIDNIGHT = parse_time("2026-04-01T00:00")
SEED = 7
_MEET = frozenset({"social", "play", "drink", "shop"})


@cache
def catalogue() -> Catalogue:
    """The bundled actions.json."""
    return load_content(bundled_content()).cast("en").catalogue


def town() -> Setting:
    """210 corners, 30 facilities, 12 NPCs."""
    return grid_setting(catalogue(), SEED, columns=15, rows=14, facilities=30, npcs=12)


def large() -> Setting:
    """2,025 corners, 300 facilities, 60 NPCs."""
    return grid_setting(catalogue(), SEED, columns=45, rows=45, facilities=300, npcs=60)


def sighted(setting: Setting, count: int, seed: int) -> Simulation:
    """Characters at home at midnight, more or less tired, who decide by what they perceive."""
    rng = random.Random(f"crowd {seed}")
    homes = sorted(setting.world_map.open_graph)
    return Simulation(
        setting,
        [
            newcomer(setting, f"c{i:05d}", rng.choice(homes), MIDNIGHT, needs={"energy": rng.randint(20, 60)})
            for i in range(count)
        ],
    )


def routine_profiles(setting: Setting, count: int) -> dict[str, CharacterProfile]:
    """Characters with a home, a place of work, one to eat at and one to meet people, and a day that leads from one to
    the other.
    """
    rng = random.Random(f"routine {SEED}")
    homes = sorted(setting.world_map.open_graph)
    return {f"c{i:05d}": _profile(setting, f"c{i:05d}", rng.choice(homes), rng) for i in range(count)}


def is_scripted(setting: Setting, profiles: dict[str, CharacterProfile], t: WorldTime = MIDNIGHT) -> Simulation:
    """Those characters at home, deciding by routine."""
    return Simulation(setting, [newcomer(setting, i, p.home, t, is_scripted=True) for i, p in profiles.items()])


def _profile(setting: Setting, person_id: str, home: str, rng: random.Random) -> CharacterProfile:
    shift, work = rng.randrange(0, 60, 5), _one_with(setting, frozenset({"work"}), rng)
    day = (
        (6, "breakfast", None),
        (8, "work", work),
        (12, "lunch", _one_with(setting, frozenset({"eat"}), rng)),
        (13, "work", work),
        (17, "see people", _one_with(setting, _MEET, rng)),
        (20, "home", None),
    )
    routine = tuple(
        RoutineBlock(starts=hour * 60 + shift, activity=activity, facility_id=place) for hour, activity, place in day
    )
    return CharacterProfile(id=person_id, name=person_id, personality="", home=home, routine=routine)


def _one_with(setting: Setting, tags: frozenset[str], rng: random.Random) -> str:
    return rng.choice([place_id for place_id, place in setting.world_map.facilities.items() if place.tags & tags])
