"""Days by routine, in virtual time."""

from collections.abc import Mapping

from service.content.profile import CharacterProfile
from service.decision.routine import by_routine
from tests.world.simulation import Chosen, Run, lognormal, run_out_of_order, turns_of
from world.perception import Snapshot
from world.setting import Setting
from world.simulation import Simulation, newcomer
from world.time import MINUTES_PER_DAY, WorldTime

Profiles = Mapping[str, CharacterProfile]


def live(setting: Setting, people: Profiles, start: WorldTime, *, days: int) -> Run:
    """So many days of all of them together."""
    world = Simulation(
        setting,
        [newcomer(setting, i, p.home, start, needs=dict(p.needs), is_scripted=True) for i, p in people.items()],
        remember=None,
    )

    def decide(setting: Setting, snapshot: Snapshot) -> Chosen:
        option, wake_at = by_routine(setting, people[snapshot.person_id], snapshot)
        return Chosen(option, wake_at)

    return run_out_of_order(
        world,
        until=WorldTime(start + days * MINUTES_PER_DAY),
        decide=decide,
        turns=turns_of(1),
        latency=lognormal(1),
        concurrency=4,
        keep_snapshots=False,
    )
