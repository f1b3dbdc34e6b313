"""The living world: what a decision, a claim and a turn change, and what of it is seen when."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.world.little_worlds import MORNING, NEEDS
from tests.world.simulation import levels_at, position
from world.actions import TALK, WAIT, ActionDef, Catalogue, Option, Where
from world.errors import OutOfTurn, Unreachable
from world.events import Event, EventKind, canonical
from world.life import Because, LifeState
from world.places import Edge, Facility, Node, WorldMap, index_nodes
from world.setting import Setting
from world.simulation import Simulation, newcomer
from world.time import WorldTime

EAT = Option(action_id="eat", node_id="inn", minutes=20, facility_id="inn")
WORK = Option(action_id="work", node_id="field", minutes=60, facility_id="field")
SLEEP = Option(action_id="sleep", node_id="home", minutes=480)
REST = Option(action_id="rest", node_id="inn", minutes=30)
ASK_BAKER = Option(action_id=TALK, node_id="square", target_id="baker")


def at(minutes: int) -> WorldTime:
    return WorldTime(MORNING + minutes)


def setting() -> Setting:
    """home -2- square -3- inn -4- field, the baker beside the square, a seat for one in the inn."""
    places = (
        Facility(id="inn", map_id="town", name="Inn", node_ids=("inn",), tags=frozenset({"eat"})),
        Facility(id="field", map_id="town", name="Field", node_ids=("field",), tags=frozenset({"work"})),
    )
    return Setting(
        WorldMap(
            nodes=index_nodes(
                Node(id=i, map_id="town", x=0, y=0) for i in ("home", "square", "inn", "field", "oven", "isle")
            ),
            edges=(
                Edge(a="home", b="square", minutes=2),
                Edge(a="square", b="inn", minutes=3),
                Edge(a="inn", b="field", minutes=4),
                Edge(a="square", b="oven", minutes=1),
            ),
            facilities={place.id: place for place in places},
            posts={"baker": "oven"},
        ),
        Catalogue(
            needs=NEEDS,
            actions=(
                ActionDef(
                    id="eat",
                    tags=frozenset({"eat"}),
                    minutes=20,
                    seats=1,
                    cost={"money": 8},
                    effects={"satiety": 40},
                ),
                ActionDef(id="work", tags=frozenset({"work"}), minutes=60, effects={"money": 12}),
                ActionDef(id="rest", where=Where.ANYWHERE, minutes=30),
                ActionDef(id="sleep", where=Where.HOME, minutes=480, interruptible=False, ends_day=True),
            ),
        ),
    )


def world_of(**where: str) -> Simulation:
    """People, named and placed, who all begin to live in the morning. Everything is remembered."""
    stage = setting()
    return Simulation(stage, [newcomer(stage, i, "home", MORNING, node_id=n) for i, n in where.items()], remember=None)


def kinds(events: Iterable[Event]) -> list[tuple[EventKind, int]]:
    return [(event.kind, event.time - MORNING) for event in events]


def act(world: Simulation, person_id: str, option: Option) -> None:
    world.decide(person_id, option)
    if world.people[person_id].state is LifeState.CLAIMS:
        world.claim(person_id)


def test_a_decision_sends_one_walking_and_then_to_work() -> None:
    world = world_of(aoi="square")
    step = world.decide("aoi", WORK)
    assert kinds(canonical(step.events)) == [
        (EventKind.ENDED, 0),
        (EventKind.DECIDED, 0),
        (EventKind.DEPARTED, 0),
        (EventKind.ARRIVED, 7),
        (EventKind.STARTED, 7),
    ]
    assert (world.people["aoi"].ready, world.people["aoi"].state) == (at(67), LifeState.DECIDES)


def test_positions_are_known_at_any_time_past_or_committed() -> None:
    world = world_of(aoi="square")
    world.decide("aoi", WORK)
    assert position(world, "aoi", at(-1)).node_id == "square"
    assert (position(world, "aoi", at(5)).node_id, position(world, "aoi", at(5)).toward) == ("inn", "field")
    assert position(world, "aoi", at(60)).node_id == "field"


def test_nobody_walks_where_no_way_leads() -> None:
    world = world_of(aoi="square")
    with pytest.raises(Unreachable):
        world.decide("aoi", Option(action_id="rest", node_id="isle", minutes=5))


def test_what_begins_in_a_minute_is_seen_from_the_next_on() -> None:
    world = world_of(aoi="inn", ben="inn")
    act(world, "aoi", REST)
    assert [seen.doing for seen in world.perceive("ben").people] == [None]
    world.decide("ben", Option(action_id="rest", node_id="inn", minutes=1))
    assert [(seen.doing, seen.approachable) for seen in world.perceive("ben").people] == [("rest", True)]


def test_what_has_just_ended_is_not_seen_and_cannot_be_spoken_to() -> None:
    world = world_of(aoi="inn", ben="inn")
    world.decide("aoi", replace(REST, minutes=5))
    world.decide("ben", replace(REST, minutes=5))
    assert [(seen.doing, seen.approachable) for seen in world.perceive("ben").people] == [(None, False)]


def test_the_seat_goes_to_who_comes_first_and_the_other_waits_five_minutes() -> None:
    world = world_of(aoi="inn", ben="inn")
    for person_id in ("aoi", "ben"):
        act(world, person_id, EAT)
    assert world.people["aoi"].last.seat == ("inn", "eat")
    assert (world.people["ben"].last.action_id, world.people["ben"].ready) == (WAIT, at(5))
    assert world.perceive("ben").free_seats == {("inn", "eat"): 0}


def test_a_seat_is_free_in_the_minute_its_holder_is_done() -> None:
    world = world_of(aoi="inn", ben="inn")
    act(world, "aoi", EAT)
    world.decide("ben", replace(REST, minutes=20))
    assert world.perceive("ben").free_seats == {("inn", "eat"): 1}
    act(world, "ben", EAT)
    assert world.people["ben"].last.action_id == "eat"


def test_seats_are_not_known_from_outside() -> None:
    assert world_of(aoi="square").perceive("aoi").free_seats == {}


def test_eating_costs_at_once_and_fills_by_and_by() -> None:
    world = world_of(aoi="inn")
    act(world, "aoi", EAT)
    assert levels_at(world, "aoi", at(0))["money"] == 12
    before = levels_at(world, "aoi", at(0))["satiety"]
    assert levels_at(world, "aoi", at(10))["satiety"] == pytest.approx(before + 20 - 10 / 6)


def test_a_need_that_becomes_critical_ends_what_can_be_interrupted() -> None:
    stage = setting()
    hungry = newcomer(stage, "aoi", "home", MORNING, node_id="field", needs={"satiety": 22})
    world = Simulation(stage, [hungry])
    world.decide("aoi", WORK)
    assert world.people["aoi"].ready == at(11)
    assert (world.perceive("aoi").because, world.perceive("aoi").critical) == (Because.NEED, ("satiety",))


def test_a_critical_need_does_not_wake_who_sleeps() -> None:
    stage = setting()
    world = Simulation(stage, [newcomer(stage, "aoi", "home", MORNING, needs={"satiety": 22})])
    world.decide("aoi", SLEEP)
    assert world.people["aoi"].ready == at(480)


def test_a_promise_wakes_at_its_time() -> None:
    world = world_of(aoi="field")
    world.decide("aoi", WORK, wake_at=at(25))
    assert (world.people["aoi"].ready, world.perceive("aoi").because) == (at(25), Because.ALARM)


def talking() -> tuple[Simulation, str]:
    """Ben rests in the inn; Aoi speaks to him at minute 5."""
    world = world_of(aoi="inn", ben="inn")
    world.decide("ben", REST)
    world.decide("aoi", replace(REST, minutes=5))
    world.decide("aoi", Option(action_id=TALK, node_id="inn", target_id="ben"))
    talk_id = world.claim("aoi").talk_id
    assert talk_id is not None
    return world, talk_id


def test_who_is_spoken_to_is_cut_short_and_both_talk() -> None:
    world, _ = talking()
    assert [a.because for a in world.people["ben"].past if a.action_id == "rest"] == [Because.CUT]
    assert {world.people[i].state for i in ("aoi", "ben")} == {LifeState.TALKS}
    assert world.perceive("aoi", at(5)).people[0].approachable, "S(5) does not know yet"


@pytest.mark.parametrize(("turns", "minutes"), [(1, 3), (3, 3), (7, 7)])
def test_a_talk_takes_a_minute_a_turn_and_three_at_least(turns: int, minutes: int) -> None:
    world, talk_id = talking()
    for turn in range(turns):
        assert world.people["ben"].ready == at(5 + max(3, turn + 1))
        world.turn(talk_id, last=turn + 1 == turns)
    assert world.people["aoi"].ready == at(5 + minutes)
    states = [world.people["ben"].state]
    world.close(talk_id)
    states.append(world.people["ben"].state)
    assert states == [LifeState.CLOSES, LifeState.DECIDES]


def test_a_talk_cannot_go_on_after_its_end_nor_close_twice() -> None:
    world, talk_id = talking()
    with pytest.raises(OutOfTurn, match="is not over"):
        world.close(talk_id)
    world.turn(talk_id, last=True)
    with pytest.raises(OutOfTurn, match="is over"):
        world.turn(talk_id, last=True)
    world.close(talk_id)
    with pytest.raises(OutOfTurn, match="is closed"):
        world.close(talk_id)


def test_a_seat_is_kept_through_a_talk_that_cuts_the_meal() -> None:
    world = world_of(aoi="inn", ben="inn", cyo="inn")
    act(world, "ben", EAT)
    world.decide("aoi", replace(REST, minutes=5))
    act(world, "aoi", Option(action_id=TALK, node_id="inn", target_id="ben"))
    assert world.seats_taken("inn", "eat", at(7)) == 1
    assert world.people["ben"].last.action_id == TALK


@pytest.mark.parametrize("doing", [SLEEP, replace(REST, minutes=5)])
def test_who_sleeps_or_is_about_to_decide_cannot_be_spoken_to(doing: Option) -> None:
    world = world_of(aoi="home", ben="home")
    world.decide("ben", replace(doing, node_id="home"))
    world.decide("aoi", replace(REST, node_id="home", minutes=5))
    world.decide("aoi", Option(action_id=TALK, node_id="home", target_id="ben"))
    step = world.claim("aoi")
    assert [event.data.get("reason") for event in step.events if event.kind is EventKind.FAILED] == ["busy"]
    assert world.people["aoi"].ready == at(10)


def test_who_has_left_cannot_be_spoken_to() -> None:
    world = world_of(aoi="home", ben="inn")
    world.decide("ben", WORK)
    world.decide("aoi", Option(action_id=TALK, node_id="inn", walk_minutes=5, target_id="ben"))
    step = world.claim("aoi")
    assert [event.data.get("reason") for event in step.events if event.kind is EventKind.FAILED] == ["gone"]


def test_an_npc_talks_with_one_at_a_time() -> None:
    world = world_of(aoi="square", ben="square")
    for person_id in ("aoi", "ben"):
        world.decide(person_id, ASK_BAKER)
    talk_id = world.claim("aoi").talk_id
    assert talk_id is not None
    assert world.claim("ben").talk_id is None
    for _ in range(6):
        world.turn(talk_id, last=False)
    assert [npc.talks_with for npc in world.perceive("ben").npcs] == [("aoi",)]


def test_nobody_joins_a_talk_that_has_been_spoken_to_its_end_ahead_of_who_comes() -> None:
    world = world_of(aoi="inn", ben="inn", cyd="inn")
    world.decide("ben", REST)
    for person_id, minutes in (("aoi", 5), ("cyd", 6)):
        world.decide(person_id, replace(REST, minutes=minutes))
    world.decide("aoi", Option(action_id=TALK, node_id="inn", target_id="ben"))
    talk_id = world.claim("aoi").talk_id
    assert talk_id is not None
    for last in (False, True):
        world.turn(talk_id, last=last)
    world.decide("cyd", Option(action_id=TALK, node_id="inn", target_id="ben", talk_id=talk_id))
    assert EventKind.FAILED in {event.kind for event in world.claim("cyd").events}
    assert world.talks[talk_id].members == ("aoi", "ben")


def test_nobody_does_what_is_not_its_turn() -> None:
    world, _ = talking()
    with pytest.raises(OutOfTurn, match="cannot decide"):
        world.decide("ben", REST)
    with pytest.raises(OutOfTurn, match="cannot claim"):
        world.claim("ben")


def test_who_is_roused_decides_at_once() -> None:
    world = world_of(aoi="field")
    world.decide("aoi", WORK)
    version = world.people["aoi"].version
    world.interrupt("aoi", at(30))
    assert (world.people["aoi"].ready, world.perceive("aoi").because) == (at(30), Because.ROUSED)
    assert world.people["aoi"].version > version
    assert levels_at(world, "aoi", at(30))["money"] == 20 + 6


def test_a_sleeper_is_not_roused() -> None:
    world = world_of(aoi="home")
    world.decide("aoi", SLEEP)
    with pytest.raises(OutOfTurn):
        world.interrupt("aoi", at(30))


def test_an_author_can_move_somebody_and_set_a_need() -> None:
    world = world_of(aoi="home")
    world.decide("aoi", SLEEP)
    step = world.amend("aoi", at(30), node_id="field", needs={"money": 500})
    assert kinds(step.events) == [(EventKind.CHANGED, 30)]
    assert (world.people["aoi"].ready, world.people["aoi"].node_id) == (at(30), "field")
    assert world.perceive("aoi").levels["money"] == 500
    assert position(world, "aoi", at(28)).node_id == "home"


def test_an_author_may_not_change_what_lies_behind_others() -> None:
    world = world_of(aoi="home", ben="home")
    world.decide("aoi", SLEEP)
    with pytest.raises(OutOfTurn):
        world.amend("aoi", at(30), node_id="field")


def test_the_past_is_forgotten_behind_the_most_lagging() -> None:
    stage = setting()
    world = Simulation(stage, [newcomer(stage, "aoi", "home", MORNING)])
    for _ in range(30):
        world.decide("aoi", replace(REST, node_id="home", minutes=5))
    assert len(world.people["aoi"].past) <= 5


def test_who_is_blind_speaks_to_no_character() -> None:
    world = world_of(aoi="inn", ben="inn")
    world.put(replace(world.people["aoi"], is_scripted=True))
    with pytest.raises(OutOfTurn, match="sees nobody"):
        world.decide("aoi", Option(action_id=TALK, node_id="inn", target_id="ben"))
    world.decide("aoi", ASK_BAKER)
