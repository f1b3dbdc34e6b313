"""Measures the living world: running ahead against lockstep and the oracle in virtual time, crowds by routine, and a
day in the service itself (`benchmarks.lived`).

Virtual time: each model call takes lognormal seconds (mean 1), the same for the same question in every run, and at most
32 are in flight. The core and its bookkeeping really run; only the models' answers are made up.
"""

import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.crowd import MIDNIGHT, is_scripted, large, routine_profiles, sighted, town
from benchmarks.guessing import Driver
from service.decision.routine import by_routine
from tests.world.simulation import Day, Run, lognormal, oracle, run_lockstep, run_out_of_order, turns_of
from world.scheduler import Scheduler
from world.setting import Setting
from world.time import MINUTES_PER_DAY, WorldTime

IN_FLIGHT = 32
GUESS_MINUTES = {"town": 60, "large": 120}
"""So far ahead of the slowest a guess lives at most; ways are longer on the large map."""
CHARACTERS = 25
CROWD = 1_000
SEEDS = {25: (1, 2, 3), 100: (1, 2), 500: (1,)}
"""Worlds of each number of characters; their figures are averaged."""
CROWDS = (1_000, 10_000)


@dataclass(frozen=True, kw_only=True)
class Race:
    """One world day, run three ways, and with a guess beside it. Seconds are virtual, but for `cpu_ms`: the core's own,
    a decision. `extra`: calls made in vain, as a share of those that the story needs.
    """

    lockstep: float
    ahead: float
    oracle: float
    cpu_ms: float
    guessed: float
    extra: float


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How long all live, and how many: `characters` over HTTP and `crowd` by routine in the service, the others in the
    core.
    """

    minutes: int = MINUTES_PER_DAY
    characters: int = CHARACTERS
    crowd: int = CROWD
    seeds: Mapping[int, Sequence[int]] = field(default_factory=lambda: SEEDS)
    crowds: Sequence[int] = CROWDS


def run(scale: Scale | None = None) -> dict[str, float]:
    """Figures: the service over HTTP, times faster than lockstep, share of the oracle (0 to 1), CPU, crowds by
    routine.
    """
    from benchmarks import lived  # here, for the crowds' processes do without the service, and measure their memory

    scale = scale or Scale()
    until = WorldTime(MIDNIGHT + scale.minutes)
    figures = lived.http_day(scale.characters, scale.minutes) | lived.routine_day(scale.crowd, scale.minutes)
    for name, setting in (("town", town()), ("large", large())):
        for count, seeds in scale.seeds.items():
            figures |= _named(
                f"{name}_{count}", [_race(setting, count, seed, until, GUESS_MINUTES[name]) for seed in seeds]
            )
    for count in scale.crowds:
        figures |= _in_a_process_of_its_own(count, until)
    return figures


def _named(name: str, races: list[Race]) -> dict[str, float]:
    print(f"{name}: {len(races)} worlds run", file=sys.stderr)
    return {
        f"speedup_{name}": statistics.mean(race.lockstep / race.ahead for race in races),
        f"oracle_share_{name}": statistics.mean(race.oracle / race.ahead for race in races),
        f"cpu_ms_per_decision_{name}": statistics.mean(race.cpu_ms for race in races),
        f"guessed_speedup_{name}": statistics.mean(race.lockstep / race.guessed for race in races),
        f"guessed_oracle_share_{name}": statistics.mean(race.oracle / race.guessed for race in races),
        f"guessed_extra_calls_{name}": statistics.mean(race.extra for race in races),
    }


def _race(setting: Setting, count: int, seed: int, until: WorldTime, guess_minutes: int) -> Race:
    latency = lognormal(seed)

    def day(runner: Callable[..., Run]) -> Run:
        return runner(
            sighted(setting, count, seed),
            until=until,
            decide=Day(seed=seed),
            turns=turns_of(seed),
            latency=latency,
            concurrency=IN_FLIGHT,
            keep_snapshots=False,
        )

    ahead, lockstep = day(run_out_of_order), day(run_lockstep)
    if ahead.log != lockstep.log:
        raise RuntimeError(f"running ahead told another story than lockstep: {count} characters, seed {seed}")
    driver = Driver(
        until=until,
        decide=Day(seed=seed),
        turns=turns_of(seed),
        latency=latency,
        concurrency=IN_FLIGHT,
        minutes=guess_minutes,
    )
    guessed = driver.run(sighted(setting, count, seed))
    if guessed.log != lockstep.log:
        raise RuntimeError(f"a guess changed the story: {count} characters, seed {seed}")
    return Race(
        guessed=guessed.seconds,
        extra=guessed.calls / ahead.calls - 1,
        lockstep=lockstep.seconds,
        ahead=ahead.seconds,
        oracle=oracle(ahead, latency, IN_FLIGHT),
        cpu_ms=ahead.cpu * 1000 / ahead.decisions,
    )


def _in_a_process_of_its_own(count: int, until: WorldTime) -> dict[str, float]:
    """So that the memory it takes is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(routine_day, (count, until))


def routine_day(count: int, until: WorldTime) -> dict[str, float]:
    """A day of a crowd by routine on the large map. Seconds are of one core's CPU; the map's ways are searched
    within.
    """
    setting = large()
    profiles = routine_profiles(setting, count)
    ahead = Scheduler(is_scripted(setting, profiles), until=until)
    events, started = 0, time.process_time()
    while (call := ahead.take()) is not None:
        option, wake_at = by_routine(setting, profiles[call.person_id], ahead.snapshot(call))
        ahead.decided(call, option, wake_at=wake_at)
        events += len(ahead.unsettled())
    seconds = time.process_time() - started
    return {
        f"routine_{count}_day_s": seconds,
        f"routine_{count}_events_per_s": events / seconds,
        f"routine_{count}_mb": _most_megabytes(),
    }


def _most_megabytes() -> float:
    """The most memory this process has had (Linux; `resource` counts the parent's in a process just begun)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
