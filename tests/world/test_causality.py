"""Running ahead tells the same story as lockstep, whatever the world, seed, latency and number of calls in flight."""

import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from benchmarks.guessing import Driver
from tests.world.little_worlds import MORNING, crowded_world, random_setting, random_world
from tests.world.simulation import (
    AgentState,
    Run,
    answer,
    lognormal,
    oracle,
    reread,
    run_lockstep,
    run_out_of_order,
    turns_of,
)
from world.actions import Option
from world.causality import Causality
from world.distance import FAR, WalkRow
from world.errors import OutOfTurn
from world.events import Event, canonical
from world.life import Person, TalkState
from world.perception import overheard
from world.scheduler import Ask, Call, Scheduler
from world.simulation import Simulation, newcomer
from world.time import WorldTime

UNTIL = WorldTime(MORNING + 90)
WORLDS = 40
SLOWEST_CATCH = 22
RARE = 108
"""Of a thousand worlds one of two in which somebody joins a talk from out of sight of who looks at it."""


def lockstep(seed: int) -> Run:
    return run_lockstep(
        random_world(seed),
        until=UNTIL,
        decide=AgentState(seed=seed),
        turns=turns_of(seed),
        latency=lognormal(seed),
        concurrency=8,
    )


def ahead(
    seed: int,
    *,
    causality: Callable[[Simulation], Causality] = Causality,
    batches: Sequence[WorldTime] = (),
) -> Run:
    """Another latency than lockstep has, now steady, now wild; another number of calls in flight for each seed."""
    rng = random.Random(f"run {seed}")
    world = random_world(seed)
    return run_out_of_order(
        world,
        until=UNTIL,
        decide=AgentState(seed=seed),
        turns=turns_of(seed),
        latency=lognormal(seed + 1, sigma=rng.choice([0.1, 0.6, 1.5])),
        concurrency=rng.choice([1, 2, 3, 5, 8, 32]),
        causality=causality(world),
        batches=batches,
    )


@pytest.mark.long
def test_the_story_is_the_same_out_of_order_and_nothing_was_read_too_early() -> None:
    events = talks = joined = left = overhearing = 0
    for seed in range(WORLDS):
        straight, run = lockstep(seed), ahead(seed)
        assert run.log == straight.log, f"seed {seed}"
        assert run.snapshots == straight.snapshots, f"seed {seed}"
        assert not reread(run), f"seed {seed}"
        heard = all_overheard(run)
        assert heard == all_overheard(straight), f"seed {seed}"
        events += len(run.log)
        talks += len(run.talks)
        joined += sum(len(talk.joined) for talk in run.talks.values())
        left += sum(len(talk.left) for talk in run.talks.values())
        overhearing += sum(map(len, heard.values()))
    assert events > 100 * WORLDS, "the worlds were too quiet to show anything"
    assert talks > 10 * WORLDS, "the people were too quiet to show anything"
    assert min(joined, left, overhearing) > WORLDS, "the tables were too small to show anything"


def all_overheard(run: Run) -> dict[str, dict[str, list[int]]]:
    """Of each talk that was over in time, who overheard which turns."""
    talks = (talk for talk in run.talks.values() if talk.closed and talk.end < UNTIL)
    return {talk.id: overheard(run.world, talk) for talk in talks}


def test_the_story_is_the_same_whatever_the_latencies_and_the_calls_in_flight() -> None:
    for seed in range(3):
        straight = lockstep(seed)
        for concurrency in (1, 2, 7, 100):
            for latency_seed in range(4):
                run = run_out_of_order(
                    random_world(seed),
                    until=UNTIL,
                    decide=AgentState(seed=seed),
                    turns=turns_of(seed),
                    latency=lognormal(latency_seed, sigma=1.0),
                    concurrency=concurrency,
                )
                assert run.log == straight.log


def test_stopping_between_ticks_does_not_change_the_story() -> None:
    ticks = [WorldTime(t) for t in range(MORNING + 7, UNTIL, 7)]
    for seed in range(25):
        assert ahead(seed, batches=ticks).log == lockstep(seed).log, f"seed {seed}"


def test_a_guess_beside_it_tells_the_same_story_sooner() -> None:
    plain = guessed = in_vain = 0.0
    for seed in range(25):
        story, world, latency = lockstep(seed), random_world(seed), lognormal(seed + 1)
        driver = Driver(
            until=UNTIL,
            decide=AgentState(seed=seed),
            turns=turns_of(seed),
            latency=latency,
            concurrency=32,
            minutes=60,
        )
        run = driver.run(world)
        assert run.log == story.log, f"seed {seed}"
        guessed += run.seconds
        in_vain += run.in_vain
        plain += run_out_of_order(
            random_world(seed),
            until=UNTIL,
            decide=AgentState(seed=seed),
            turns=turns_of(seed),
            latency=latency,
            concurrency=32,
        ).seconds
    assert guessed < plain
    assert in_vain, "nothing was guessed wrongly, so nothing is shown"


def test_drawing_in_on_the_way_does_not_change_the_story() -> None:
    """Again and again nobody is let go farther than the quickest have come; when all are there they go on."""
    for seed in range(25):
        world, rng, mind, turns = random_world(seed), random.Random(seed), AgentState(seed=seed), turns_of(seed)
        ahead, told, flying = Scheduler(world, until=UNTIL), list[Event](), list[Call]()
        while True:
            while len(flying) < 5 and (call := ahead.take()) is not None:
                flying.append(call)
            if not flying:
                if ahead.until == UNTIL:
                    break
                assert ahead.reached <= ahead.until <= (world.frontier or UNTIL)
                ahead.extend(UNTIL)
                continue
            call = flying.pop(rng.randrange(len(flying)))
            chosen = mind(world.setting, ahead.snapshot(call)) if call.ask is Ask.DECISION else None
            answer(ahead, call, chosen, turns)
            told.extend(ahead.unsettled())
            if rng.random() < 0.1:
                void = ahead.retreat(min(max(ahead.reached, WorldTime(MORNING)), ahead.until))
                assert all(call.time >= ahead.reached for call in flying if call.id in void)
                flying = [call for call in flying if call.id not in void]
        told.extend(ahead.unsettled())
        assert canonical(event for event in told if event.time < UNTIL) == lockstep(seed).log, f"seed {seed}"


def test_nobody_draws_in_behind_the_quickest() -> None:
    world = random_world(1)
    ahead = Scheduler(world, until=UNTIL)
    call = ahead.take()
    assert call is not None
    answer(ahead, call, AgentState(seed=1)(world.setting, ahead.snapshot(call)), turns_of(1))
    with pytest.raises(ValueError, match="cannot stop"):
        ahead.retreat(WorldTime(ahead.reached - 1))


class NoGate(Causality):
    def to_decide(self, person: Person) -> str | None:
        return None


def _near_only(row: WalkRow) -> WalkRow:
    return [minutes if minutes == 0 else FAR for minutes in row]


class IgnoredReach(Causality):
    """Only who is there already counts."""

    def sight_row(self, node_id: str) -> WalkRow:
        return _near_only(super().sight_row(node_id))

    def npcs_row(self, node_id: str) -> WalkRow:
        return _near_only(super().npcs_row(node_id))

    def talk_row(self, node_id: str) -> WalkRow:
        return _near_only(super().talk_row(node_id))


class LoosenedReach(Causality):
    """Everybody is thought to need two minutes more than it does."""

    def sight_row(self, node_id: str) -> WalkRow:
        return [minutes + 2 for minutes in super().sight_row(node_id)]


class NoNpcRule(Causality):
    def npcs_row(self, node_id: str) -> WalkRow:
        return [FAR for _ in super().npcs_row(node_id)]


class NoInterruptibleRule(Causality):
    def targets(self, person: Person, t: WorldTime) -> Sequence[tuple[str, WalkRow]]:
        return ()


class NoOpenTalkRule(Causality):
    def open_talk_in_sight(self, person: Person) -> str | None:
        return None


class NoSecondGate(Causality):
    def to_claim(self, person: Person) -> str | None:
        return None


class NoTableGate(Causality):
    """A turn is asked whoever may still join before it."""

    def to_turn(self, talk: TalkState) -> str | None:
        return None


class LooseTableGate(Causality):
    """Who may join in the very minute of the turn is not waited for."""

    def to_turn(self, talk: TalkState) -> str | None:
        blocker = super().to_turn(talk)
        is_due = blocker is not None and self.world.agenda[blocker] >= talk.start + talk.turns
        return None if is_due else blocker


class NoOrderAtTable(Causality):
    """Those who join in one minute sit down as their answers come."""

    def _before_me(self, person: Person, rows: Sequence[WalkRow], target_id: str | None) -> str | None:
        joins = person.claim is not None and person.claim.talk_id is not None
        return None if joins else super()._before_me(person, rows, target_id)


class JoinsUnseen(Causality):
    """Whom somebody sees talk, others may have joined before."""

    def targets(self, person: Person, t: WorldTime) -> Sequence[tuple[str, WalkRow]]:
        found = super().targets(person, t)
        return [(i, row) for i, row in found if self.world.people[i].before(t).talk_id is None]


class BlindUnbound(Causality):
    """A blind character is let go although somebody could still speak to it."""

    def to_decide(self, person: Person) -> str | None:
        return None if person.is_scripted else super().to_decide(person)


@pytest.mark.parametrize(
    "mutation",
    [
        NoGate,
        IgnoredReach,
        LoosenedReach,
        NoNpcRule,
        NoInterruptibleRule,
        NoOpenTalkRule,
        NoSecondGate,
        NoTableGate,
        LooseTableGate,
        NoOrderAtTable,
        JoinsUnseen,
        BlindUnbound,
    ],
)
def test_each_part_of_the_rule_is_needed(mutation: type[Causality]) -> None:
    def caught(seed: int) -> bool:
        try:
            run = ahead(seed, causality=mutation)
        except OutOfTurn:
            return True
        return bool(reread(run)) or run.log != lockstep(seed).log

    assert any(caught(seed) for seed in (*range(SLOWEST_CATCH), RARE)), (
        f"{mutation.__name__} told the same story every time"
    )


CROWDS = ((0, 3), (3, 3), (9, 3), (271, 3), (356, 3), (105, 4), (239, 4))
"""Seeds of crowded worlds, and how many may be in one talk there. In each of them another mistake once showed."""
IN_A_CROWD = WorldTime(MORNING + 70)


def crowd(
    seed: int, table: int, runner: Callable[..., Run], causality: type[Causality] | None = None, **how: object
) -> Run:
    world = crowded_world(seed, table=table)
    if causality is not None:
        how["causality"] = causality(world)
    return runner(
        world, until=IN_A_CROWD, decide=AgentState(seed=seed, social=0.8), turns=turns_of(seed, longest=14), **how
    )


def crowd_ahead(seed: int, table: int, causality: type[Causality] = Causality) -> Run:
    rng = random.Random(seed)
    concurrency, sigma = rng.choice([1, 3, 8, 32]), rng.choice([0.1, 0.6, 1.5])
    latency = lognormal(seed + 1, sigma=sigma)
    return crowd(seed, table, run_out_of_order, causality, concurrency=concurrency, latency=latency)


def crowd_lockstep(seed: int, table: int) -> Run:
    return crowd(seed, table, run_lockstep, concurrency=8, latency=lognormal(seed))


@pytest.mark.parametrize(("seed", "table"), CROWDS)
def test_the_story_is_the_same_where_tables_are_full_and_many_leave_them(seed: int, table: int) -> None:
    straight, run = crowd_lockstep(seed, table), crowd_ahead(seed, table)
    assert run.log == straight.log
    assert run.snapshots == straight.snapshots
    assert not reread(run)
    talks = run.talks.values()
    assert any(len(talk.hears(turn)) == table for talk in talks for turn in range(talk.turns)), "no table was full"
    assert any(talk.left for talk in talks), "nobody left"


class OnlyThroughWhoIsSeen(Causality):
    """Nobody joins a talk in sight through somebody who talks there out of sight."""

    def targets(self, person: Person, t: WorldTime) -> Sequence[tuple[str, WalkRow]]:
        sight = self.world.setting.distances.in_sight(person.node_id)
        seen = {other.id for other, _, _ in self.world.near(sight, t)}
        return [(i, row) for i, row in super().targets(person, t) if i in seen]


class LeaversForgotten(Causality):
    """Who has left a talk frees nobody who would join it."""

    def _may_join(self, person_id: str, talk: TalkState, t: WorldTime) -> bool:
        return person_id not in talk.members and super()._may_join(person_id, talk, t)


class EndsJustNow(Causality):
    """Of talks that may have ended before nobody thinks."""

    def _talks_that_may_end(self, t: WorldTime) -> Iterator[tuple[Person, str | None]]:
        due = set(self.world.open_talks.due(t))
        return (found for found in super()._talks_that_may_end(t) if found[0].last.talk_id in due)


@pytest.mark.parametrize(
    ("mutation", "seed", "table"), [(OnlyThroughWhoIsSeen, 271, 3), (LeaversForgotten, 105, 4), (EndsJustNow, 356, 3)]
)
def test_each_part_of_the_rule_is_needed_in_a_crowd(mutation: type[Causality], seed: int, table: int) -> None:
    assert crowd_ahead(seed, table, mutation).log != crowd_lockstep(seed, table).log


def test_no_schedule_beats_the_oracle() -> None:
    for seed in range(20):
        run = ahead(seed)
        rng = random.Random(f"run {seed}")
        latency = lognormal(seed + 1, sigma=rng.choice([0.1, 0.6, 1.5]))
        assert oracle(run, latency, rng.choice([1, 2, 3, 5, 8, 32])) <= run.seconds + 1e-6
    for seed, table in CROWDS:
        latency = lognormal(seed)
        run = crowd(seed, table, run_out_of_order, concurrency=32, latency=latency)
        assert oracle(run, latency, 32) <= run.seconds + 1e-6


def test_running_ahead_is_faster_than_lockstep() -> None:
    spent = [(lockstep(seed).seconds, run_same(seed).seconds) for seed in range(20)]
    assert sum(a for _, a in spent) < sum(s for s, _ in spent)


def run_same(seed: int) -> Run:
    """As `lockstep`, with the same latencies and calls in flight."""
    return run_out_of_order(
        random_world(seed),
        until=UNTIL,
        decide=AgentState(seed=seed),
        turns=turns_of(seed),
        latency=lognormal(seed),
        concurrency=8,
    )


def test_a_world_stored_at_any_moment_goes_on_with_the_same_story() -> None:
    for seed in range(20):
        rng = random.Random(f"stop {seed}")
        told = list(lockstep(seed).log)
        world, mind, turns = random_world(seed, remember=0), AgentState(seed=seed), turns_of(seed)
        driver = Scheduler(world, until=UNTIL)
        released: list[Event] = []
        while flying := [
            (call, driver.snapshot(call) if call.ask is Ask.DECISION else None) for call in iter(driver.take, None)
        ]:
            # Some of the answers come, in any order; then everything but the people and talks is lost.
            rng.shuffle(flying)
            for call, snapshot in flying[: rng.randint(1, len(flying))]:
                if snapshot is not None:
                    option, alarm = mind(world.setting, snapshot)
                    driver.decided(call, option, wake_at=alarm)
                elif call.ask is Ask.CLOSING:
                    driver.closed(call)
                else:
                    assert call.talk_id is not None
                    spoken = turns(world.talks[call.talk_id])
                    driver.turned(call, last=spoken.last, left=spoken.left)
            released.extend(driver.unsettled())
            people = sorted(world.people.values(), key=lambda person: -person.ready)
            world = Simulation(world.setting, people, world.talks.values())
            driver = Scheduler(world, until=UNTIL)
        released.extend(driver.unsettled())
        assert sorted((e for e in released if e.time < UNTIL), key=lambda e: e.order) == told


def test_an_answer_to_a_question_that_is_no_longer_open_is_refused() -> None:
    setting = random_setting(1)
    home = min(setting.world_map.open_graph)
    world = Simulation(setting, [newcomer(setting, "aoi", home, MORNING)])
    driver = Scheduler(world, until=UNTIL)
    call = driver.take()
    assert call is not None
    driver.decided(call, Option(action_id="rest", node_id=home, minutes=5))
    with pytest.raises(OutOfTurn, match="not an open question"):
        driver.decided(call, Option(action_id="rest", node_id=home, minutes=5))


def test_what_an_author_changes_voids_the_question_that_was_open() -> None:
    setting = random_setting(1)
    home = min(setting.world_map.open_graph)
    world = Simulation(setting, [newcomer(setting, "aoi", home, MORNING)])
    driver = Scheduler(world, until=UNTIL)
    call = driver.take()
    assert call is not None
    driver.changed(world.amend("aoi", MORNING, needs={"energy": 5}))
    with pytest.raises(OutOfTurn, match="not an open question"):
        driver.decided(call, Option(action_id="rest", node_id=home, minutes=5))
    again = driver.take()
    assert again is not None
    assert again.time == MORNING
