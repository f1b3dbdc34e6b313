"""What comes from outside: a character is stopped, held, amended; an NPC is engaged elsewhere; a clock does not
wait.
"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.world.little_worlds import MORNING, random_world
from tests.world.simulation import (
    AgentState,
    Chosen,
    Run,
    draw,
    levels_at,
    lognormal,
    position,
    reread,
    run_lockstep,
    run_out_of_order,
    turns_of,
)
from tests.world.test_simulation import ASK_BAKER, EAT, REST, SLEEP, WORK, act, at, kinds, setting, world_of
from world.actions import HOLD, TALK, WAIT, Option, Reason
from world.errors import OutOfTurn
from world.events import Event, EventKind, canonical
from world.life import Because, LifeState, node_at
from world.perception import Snapshot
from world.possible import possible
from world.scheduler import Scheduler
from world.setting import Setting
from world.simulation import Simulation, newcomer
from world.time import WorldTime

STOP = at(40)
UNTIL = at(90)
WORLDS = 25


class MindHeld:
    """As a mind, but who was stopped at `STOP` is then held for a while, now and then."""

    def __init__(self, seed: int) -> None:
        self._mind = AgentState(seed=seed)
        self._seed = seed

    def __call__(self, setting: Setting, snapshot: Snapshot) -> Chosen:
        if snapshot.time == STOP and draw(self._seed, snapshot.person_id) < 0.4:
            return Chosen(Option(action_id=HOLD, node_id=snapshot.node_id, minutes=17))
        return self._mind(setting, snapshot)


def lived(seed: int, *, in_order: bool) -> Run:
    world = random_world(seed)
    if in_order:
        return run_lockstep(
            world, until=STOP, decide=MindHeld(seed), turns=turns_of(seed), latency=lognormal(seed), concurrency=9
        )
    return run_out_of_order(
        world, until=STOP, decide=MindHeld(seed), turns=turns_of(seed), latency=lognormal(seed + 1), concurrency=5
    )


def lived_on(seed: int, world: Simulation, *, in_order: bool) -> Run:
    if in_order:
        return run_lockstep(
            world, until=UNTIL, decide=MindHeld(seed), turns=turns_of(seed), latency=lognormal(seed), concurrency=9
        )
    return run_out_of_order(
        world, until=UNTIL, decide=MindHeld(seed), turns=turns_of(seed), latency=lognormal(seed + 1), concurrency=5
    )


def stop_some(world: Simulation, seed: int) -> list[str]:
    stopped = []
    for person_id in sorted(world.people):
        if draw(seed, "stop", person_id) < 0.6:
            try:
                world.stop(person_id, STOP)
            except OutOfTurn:
                continue
            stopped.append(person_id)
    return stopped


def talks_at(world: Simulation, person_id: str, t: WorldTime) -> bool:
    talk = world.talks.get(world.people[person_id].last.talk_id or "")
    return talk is not None and (talk.end > t or not talk.closed)


def test_who_is_stopped_stands_where_it_was_with_the_needs_it_had_and_can_do_anything() -> None:
    stopped = walking = 0
    for seed in range(WORLDS):
        world = lived(seed, in_order=False).world
        for person_id in sorted(world.people):
            before, version = world.people[person_id], world.people[person_id].version
            walking += (
                before.during(STOP).action_id == "walk" and before.during(STOP).start < STOP < before.during(STOP).end
            )
            levels = world.setting.catalogue.needs.at(before.before(STOP).levels, STOP)
            try:
                step = world.stop(person_id, STOP)
            except OutOfTurn:
                assert talks_at(world, person_id, STOP), f"seed {seed}: {person_id} could have been stopped"
                assert world.people[person_id] is before
                continue
            stopped += 1
            person = world.people[person_id]
            assert step.touched == (person_id,)
            assert (person.state, person.ready, person.claim) == (LifeState.DECIDES, STOP, None)
            assert person.version > version
            for t in range(MORNING, STOP):
                assert node_at(person.during(WorldTime(t)).segment, WorldTime(t)) == node_at(
                    before.during(WorldTime(t)).segment, WorldTime(t)
                )
            path = before.before(STOP).segment
            assert person.node_id == node_at(person.during(STOP).segment, STOP) == path.cut(STOP).path[0]
            assert levels_at(world, person_id, STOP) == levels
            assert world.perceive(person_id).levels == levels
            for option in possible(world.setting, world.perceive(person_id), nearest=None).options:
                Simulation(world.setting, world.people.values(), world.talks.values()).decide(person_id, option)
            everywhere = frozenset(world.setting.world_map.open_graph)
            for node_id in everywhere:
                listed = person_id in {one.id for one in world.visitors({node_id})}
                assert listed == any(node_id in activity.segment.path for activity in person.past)
    assert stopped > WORLDS
    assert walking > WORLDS / 4, "nobody was stopped on its way"


@pytest.mark.long
def test_the_story_is_the_same_out_of_order_when_some_are_stopped_and_held() -> None:
    for seed in range(WORLDS):
        logs: list[tuple[Event, ...]] = []
        for in_order in (True, False):
            first = lived(seed, in_order=in_order)
            stopped = stop_some(first.world, seed)
            restored = Simulation(
                first.world.setting, first.world.people.values(), first.world.talks.values(), remember=None
            )
            second = lived_on(seed, restored, in_order=in_order)
            assert in_order or not reread(second), f"seed {seed}"
            logs.append((*first.log, *second.log))
            assert stopped or seed
        assert logs[0] == logs[1], f"seed {seed}"


def test_who_sleeps_wakes_when_it_is_stopped() -> None:
    world = world_of(aoi="home")
    world.decide("aoi", SLEEP)
    step = world.stop("aoi", at(30))
    assert (world.perceive("aoi").ended, world.perceive("aoi").because) == ("sleep", Because.ROUSED)
    assert (step.since, step.events) == (at(30), ())


def test_who_walks_stops_on_the_last_node_it_reached_and_claims_nothing() -> None:
    world = world_of(aoi="home")
    told = world.decide("aoi", EAT).events
    step = world.stop("aoi", at(4))
    person = world.people["aoi"]
    assert (person.state, person.node_id, person.claim) == (LifeState.DECIDES, "square", None)
    assert [(event.kind, event.time) for event in told if step.voids(event)] == [(EventKind.ARRIVED, at(5))]
    assert (EventKind.ENDED, 4) not in kinds(world.decide("aoi", REST).events), (
        "a walk does not end, it leads elsewhere"
    )


def test_what_would_begin_just_then_is_undone() -> None:
    world = world_of(aoi="home")
    told = world.decide("aoi", WORK).events
    step = world.stop("aoi", at(9))
    assert world.people["aoi"].node_id == "field"
    assert world.perceive("aoi").ended == "walk"
    assert [event.kind for event in canonical(told) if step.voids(event)] == [EventKind.STARTED]
    assert levels_at(world, "aoi", at(30))["money"] == 20


def test_what_somebody_decided_just_then_is_undone() -> None:
    world = world_of(aoi="inn")
    version = world.people["aoi"].version
    act(world, "aoi", EAT)
    world.stop("aoi", at(0))
    assert world.perceive("aoi").levels["money"] == 20
    assert world.seats_taken("inn", "eat", at(0)) == 0
    assert not list(world.seated(("inn", "eat")))
    assert world.people["aoi"].version > version


def test_nobody_is_stopped_in_a_talk_that_is_not_over_and_remembered() -> None:
    world = world_of(aoi="square")
    act(world, "aoi", ASK_BAKER)
    talk_id = world.people["aoi"].last.talk_id
    assert talk_id is not None
    for t in (0, 1, 3):
        with pytest.raises(OutOfTurn):
            world.stop("aoi", at(t))
    world.turn(talk_id, last=True)
    with pytest.raises(OutOfTurn, match="is in a talk"):
        world.stop("aoi", at(3))
    world.close(talk_id)
    with pytest.raises(OutOfTurn, match="is in a talk"):
        world.stop("aoi", at(2))
    world.stop("aoi", at(3))
    assert world.perceive("aoi").ended == TALK


def test_those_whose_talk_is_broken_off_can_be_stopped_there_and_nobody_joins_it_any_more() -> None:
    world = world_of(aoi="square", ben="square", cai="square")
    act(world, "aoi", ASK_BAKER)
    talk_id = world.people["aoi"].last.talk_id
    assert talk_id is not None
    world.turn(talk_id, last=False)
    assert world.break_off(talk_id, at(1)).touched == ("aoi",)
    assert (world.talks[talk_id].end, world.talks[talk_id].closed) == (at(1), True)
    assert (world.people["aoi"].ready, world.people["aoi"].state) == (at(1), LifeState.DECIDES)
    world.stop("aoi", at(1))
    assert world.perceive("aoi").ended == TALK
    assert world.npc_talk("baker", at(1), seen=False) is None
    with pytest.raises(OutOfTurn, match="is over"):
        world.break_off(talk_id, at(1))


def test_nobody_is_stopped_ahead_of_others() -> None:
    world = world_of(aoi="home", ben="home")
    world.decide("aoi", SLEEP)
    with pytest.raises(OutOfTurn, match="ahead of others"):
        world.stop("aoi", at(30))


def test_nobody_is_stopped_where_its_past_is_forgotten() -> None:
    stage = setting()
    for now, remembered in ((None, False), (at(7), True)):
        world = Simulation(stage, [newcomer(stage, "aoi", "home", MORNING)], now=now)
        for _ in range(30):
            world.decide("aoi", replace(REST, node_id="home", minutes=5))
        if remembered:
            world.stop("aoi", at(7))
            assert world.perceive("aoi").ended == "rest"
        else:
            with pytest.raises(OutOfTurn, match="no past that is remembered"):
                world.stop("aoi", at(7))


def test_who_holds_is_left_alone_until_its_time_is_over() -> None:
    world = world_of(aoi="inn", ben="inn")
    world.put(replace(world.people["aoi"], is_scripted=True))
    world.decide("aoi", Option(action_id=HOLD, node_id="inn", minutes=3000), wake_at=at(5))
    assert (world.people["aoi"].ready, world.people["aoi"].last.action_id) == (at(3000), HOLD)
    world.decide("ben", replace(REST, minutes=2))
    seen = world.perceive("ben").people[0]
    assert (seen.doing, seen.approachable) == (HOLD, False)
    world.decide("ben", Option(action_id=TALK, node_id="inn", target_id="aoi"))
    assert world.claim("ben").events[0].data["reason"] == Reason.BUSY
    with pytest.raises(OutOfTurn):
        world.interrupt("aoi", at(10))


def test_nobody_chooses_to_hold() -> None:
    world = world_of(aoi="inn")
    assert HOLD not in {option.action_id for option in possible(world.setting, world.perceive("aoi")).options}


def test_an_author_can_amend_who_has_run_ahead() -> None:
    world = world_of(aoi="home")
    world.decide("aoi", SLEEP)
    world.amend("aoi", at(30), needs={"money": 7})
    assert world.people["aoi"].ready == at(30)
    assert position(world, "aoi", at(30)).node_id == "home"
    assert levels_at(world, "aoi", at(30))["money"] == 7


def test_what_an_author_changed_holds_when_somebody_stops_the_character_in_the_same_minute() -> None:
    world = world_of(aoi="home")
    world.decide("aoi", SLEEP)
    world.amend("aoi", at(30), node_id="inn", needs={"money": 7})
    world.stop("aoi", at(30))
    assert world.people["aoi"].node_id == "inn"
    world.amend("aoi", at(30), needs={"energy": 40})
    assert world.perceive("aoi").levels["money"] == 7
    assert world.perceive("aoi").levels["energy"] == 40
    assert position(world, "aoi", at(30)).node_id == "inn"


def test_an_npc_engaged_elsewhere_is_seen_talking_and_cannot_be_spoken_to() -> None:
    stage = setting()
    engaged: Mapping[str, str] = {"baker": "zoe"}
    world = Simulation(stage, [newcomer(stage, "aoi", "home", MORNING, node_id="square")], engaged=engaged)
    assert [npc.talks_with for npc in world.perceive("aoi").npcs] == [("zoe",)]
    assert TALK not in {option.action_id for option in possible(stage, world.perceive("aoi")).options}
    world.decide("aoi", ASK_BAKER)
    assert world.claim("aoi").events[0].data["reason"] == Reason.BUSY
    world.engaged = {}
    world.decide("aoi", ASK_BAKER)
    assert world.claim("aoi").talk_id is not None


def test_events_that_do_not_happen_are_not_released() -> None:
    stage = setting()
    world = Simulation(stage, [newcomer(stage, "aoi", "home", MORNING)])
    driver = Scheduler(world, until=at(5))
    call = driver.take()
    assert call is not None
    driver.decided(call, WORK)
    driver.changed(world.stop("aoi", at(5)))
    assert kinds(driver.unsettled()) == [(EventKind.ENDED, 0), (EventKind.DECIDED, 0), (EventKind.DEPARTED, 0)]
    driver = Scheduler(world, until=at(20))
    call = driver.take()
    assert call is not None
    assert call.time == at(5)
    driver.decided(call, Option(action_id=WAIT, node_id="inn", minutes=30))
    assert kinds(driver.unsettled()) == [(EventKind.DECIDED, 5), (EventKind.STARTED, 5)]


def test_a_question_to_somebody_who_was_stopped_meanwhile_is_not_asked() -> None:
    stage = setting()
    world = Simulation(stage, [newcomer(stage, i, "home", MORNING) for i in ("aoi", "ben")])
    for person_id in ("aoi", "ben"):
        world.decide(person_id, replace(REST, node_id="home", minutes=5))
    driver = Scheduler(world, until=at(50))
    first = driver.take()
    assert first is not None
    assert (first.person_id, first.time) == ("aoi", at(5))
    driver.changed(world.stop("aoi", at(3)))
    driver.changed(world.stop("ben", at(3)))
    times = []
    while (call := driver.take()) is not None:
        times.append((call.person_id, call.time))
    assert times == [("aoi", at(3)), ("ben", at(3))]


def test_when_the_clock_does_not_wait_a_talk_goes_on_in_silence() -> None:
    world = world_of(aoi="square")
    act(world, "aoi", ASK_BAKER)
    talk_id = world.people["aoi"].last.talk_id
    assert talk_id is not None
    step = world.extend_talk(talk_id, at(9))
    assert (step.touched, world.people["aoi"].ready) == (("aoi",), at(9))
    world.extend_talk(talk_id, at(4))
    assert world.talks[talk_id].end == at(9)
    ended = world.turn(talk_id, last=True).events[-1]
    assert (ended.kind, ended.time) == (EventKind.TALK_ENDED, at(9))
    assert world.people["aoi"].last.end == at(9)
    world.extend_talk(talk_id, at(20))
    assert (world.people["aoi"].ready, world.people["aoi"].state) == (at(20), LifeState.CLOSES)
    world.close(talk_id)
    with pytest.raises(OutOfTurn, match="is closed"):
        world.extend_talk(talk_id, at(30))
