"""Action definitions, and what is possible here and now, for whom, and why the rest is not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.world.little_worlds import MORNING, NEEDS
from world.actions import GO, TALK, WAIT, ActionDef, Between, Catalogue, Option, Possibilities, Reason, Refusal, Where
from world.places import Edge, Facility, Hours, Node, WorldMap, index_nodes
from world.possible import minutes_open, possible, possible_one
from world.setting import Setting
from world.simulation import Simulation, newcomer
from world.time import WorldTime, parse_time

ACTIONS = (
    ActionDef(id="eat", tags=frozenset({"eat"}), minutes=40, seats=1, cost={"money": 8}, effects={"satiety": 40}),
    ActionDef(id="work", tags=frozenset({"work"}), minutes=60, requires=(Between(need_id="energy", at_least=30),)),
    ActionDef(
        id="sleep",
        where=Where.HOME,
        minutes=480,
        hours=(Hours(opens=20 * 60, closes=4 * 60),),
        interruptible=False,
        ends_day=True,
    ),
    ActionDef(id="swim", tags=frozenset({"sea"}), minutes=20),
    ActionDef(id="rest", where=Where.ANYWHERE, minutes=10, requires=(Between(need_id="energy", at_most=90),)),
)
EVENING = parse_time("2026-04-01T21:00")


def village(*, more: tuple[Edge, ...] = (), posts: Mapping[str, str] | None = None) -> Setting:
    """home -2- square -3- inn -4- field; the baker's post beside the square; the hill lies on another map."""
    nodes = [Node(id=i, map_id="town", x=0, y=0) for i in ("home", "square", "inn", "field", "oven", "isle")]
    edges = (
        Edge(a="home", b="square", minutes=2),
        Edge(a="square", b="inn", minutes=3),
        Edge(a="inn", b="field", minutes=4),
        Edge(a="square", b="oven", minutes=1),
        Edge(a="square", b="hill", minutes=9),
        *more,
    )
    places = (
        Facility(id="inn", map_id="town", name="Inn", node_ids=("inn",), tags=frozenset({"eat"})),
        Facility(
            id="field",
            map_id="town",
            name="Field",
            node_ids=("field",),
            tags=frozenset({"work"}),
            hours=(Hours(opens=8 * 60, closes=17 * 60),),
        ),
        Facility(id="isle", map_id="town", name="Isle", node_ids=("isle",), tags=frozenset({"eat"})),
    )
    world_map = WorldMap(
        nodes=index_nodes([*nodes, Node(id="hill", map_id="hill", x=0, y=0)]),
        edges=edges,
        facilities={place.id: place for place in places},
        posts=posts if posts is not None else {"baker": "oven"},
    )
    return Setting(world_map, Catalogue(needs=NEEDS, actions=ACTIONS))


def here_and_now(
    setting: Setting, node_id: str, t: WorldTime = MORNING, *, needs: Mapping[str, float] | None = None
) -> Possibilities:
    """For somebody alone in the world."""
    world = Simulation(setting, [newcomer(setting, "aoi", "home", t, node_id=node_id, needs=needs)])
    return possible(setting, world.perceive("aoi"), nearest=None)


def option(found: Possibilities, action_id: str) -> Option:
    return next(one for one in found.options if one.action_id == action_id)


def refusals(found: Possibilities, action_id: str) -> list[Refusal]:
    return [one for one in found.refusals if one.action_id == action_id]


def test_an_option_says_where_how_far_and_how_long() -> None:
    found = here_and_now(village(), "square")
    assert option(found, "eat") == Option(action_id="eat", node_id="inn", walk_minutes=3, minutes=40, facility_id="inn")


def test_a_facility_must_be_open_on_arrival() -> None:
    early = here_and_now(village(), "square", parse_time("2026-04-01T07:52"))
    assert [r.reason for r in refusals(early, "work")] == [Reason.CLOSED]
    assert refusals(early, "work")[0].facts == {"hours": "08:00-17:00", "arrival": 7 * 60 + 59}
    assert option(here_and_now(village(), "square", parse_time("2026-04-01T07:53")), "work").walk_minutes == 7


def test_work_ends_when_the_facility_closes() -> None:
    assert option(here_and_now(village(), "field", parse_time("2026-04-01T16:40")), "work").minutes == 20


def test_too_little_money_is_refused_with_how_much_is_missing() -> None:
    poor = here_and_now(village(), "square", needs={"money": 3})
    assert refusals(poor, "eat") == [
        Refusal(action_id="eat", reason=Reason.TOO_LITTLE, facts={"need_id": "money", "has": 3.0, "needs": 8})
    ]


def test_needs_too_low_or_too_well_met_are_refused() -> None:
    assert refusals(here_and_now(village(), "square", needs={"energy": 20}), "work")[0].reason is Reason.TOO_LITTLE
    assert refusals(here_and_now(village(), "square", needs={"energy": 95}), "rest")[0].reason is Reason.TOO_MUCH


def test_who_is_at_home_in_the_evening_can_sleep_there() -> None:
    assert option(here_and_now(village(), "square", EVENING), "sleep").node_id == "home"
    assert [r.reason for r in refusals(here_and_now(village(), "square"), "sleep")] == [Reason.WRONG_TIME]


def test_what_the_map_has_nowhere_is_refused() -> None:
    assert [r.reason for r in refusals(here_and_now(village(), "square"), "swim")] == [Reason.NO_FACILITY]


def test_a_facility_that_cannot_be_reached_is_never_offered() -> None:
    found = here_and_now(village(), "square")
    assert all(one.facility_id != "isle" for one in found.options)
    assert Refusal(action_id="eat", reason=Reason.NO_WAY, facility_id="isle") in found.refusals


def test_an_npc_is_spoken_to_from_beside_its_post() -> None:
    assert option(here_and_now(village(), "home"), TALK) == Option(
        action_id=TALK, node_id="square", walk_minutes=2, target_id="baker"
    )


def test_an_npc_that_cannot_be_reached_is_never_offered() -> None:
    found = here_and_now(village(posts={"hermit": "isle"}), "square")
    assert [r.reason for r in refusals(found, TALK)] == [Reason.NO_WAY]


def test_where_nobody_lives_there_is_nobody_to_talk_to() -> None:
    assert [r.reason for r in refusals(here_and_now(village(posts={}), "square"), TALK)] == [Reason.NOBODY]


def test_the_way_to_another_map_leads_through_its_exit() -> None:
    assert option(here_and_now(village(), "home"), GO) == Option(action_id=GO, node_id="hill", walk_minutes=11)


def test_one_can_always_wait() -> None:
    assert here_and_now(village(posts={}), "isle").options[-1].action_id == WAIT


def two_in_the_inn(doing: str) -> tuple[Simulation, Setting]:
    """Ben does something in the inn from the morning on; Aoi stands there five minutes later."""
    setting = village()
    ben = newcomer(setting, "ben", "home", MORNING, node_id="inn")
    aoi = newcomer(setting, "aoi", "home", WorldTime(MORNING + 5), node_id="inn")
    world = Simulation(setting, [ben, aoi])
    world.decide("ben", option(possible(setting, world.perceive("ben")), doing))
    if doing == "eat":
        world.claim("ben")
    return world, setting


def test_a_taken_seat_is_seen_from_inside_and_refused() -> None:
    world, setting = two_in_the_inn("eat")
    found = possible(setting, world.perceive("aoi"))
    assert [r.reason for r in refusals(found, "eat") if r.facility_id == "inn"] == [Reason.NO_SEAT]


def test_who_does_something_interruptible_in_sight_can_be_spoken_to() -> None:
    world, setting = two_in_the_inn("eat")
    found = possible(setting, world.perceive("aoi"))
    assert Option(action_id=TALK, node_id="inn", target_id="ben") in found.options


def test_who_walks_cannot_be_spoken_to() -> None:
    world, setting = two_in_the_inn(GO)
    world.put(replace(world.people["aoi"], past=world.people["aoi"].past))
    found = possible(setting, world.perceive("aoi"))
    ben = [r for r in refusals(found, TALK) if r.target_id == "ben"]
    assert [(r.reason, r.facts) for r in ben] == [(Reason.BUSY, {"doing": "walk"})]


def test_a_blind_character_sees_nobody_but_knows_the_map() -> None:
    world, setting = two_in_the_inn("eat")
    world.put(replace(world.people["aoi"], is_scripted=True))
    found = possible(setting, world.perceive("aoi"))
    assert option(found, "eat").facility_id == "inn"
    assert all(one.target_id != "ben" for one in found.options)


@pytest.mark.parametrize("at", ["2026-04-01T06:00", "2026-04-01T09:00", "2026-04-01T21:00"])
@pytest.mark.parametrize("node_id", ["home", "inn", "isle"])
@pytest.mark.parametrize("energy", [20, 80])
def test_one_action_alone_is_judged_as_among_all(at: str, node_id: str, energy: int) -> None:
    setting = village()
    person = newcomer(setting, "aoi", "home", parse_time(at), node_id=node_id, needs={"energy": energy, "money": 5})
    snapshot = Simulation(setting, [person]).perceive("aoi")
    every = possible(setting, snapshot, nearest=None)
    judged: list[Option | Refusal] = [*every.options, *every.refusals]
    for one in judged:
        if one.action_id not in (GO, TALK):
            assert possible_one(setting, snapshot, one.action_id, one.facility_id) == one


def test_one_action_alone_is_done_where_it_is_nearest() -> None:
    setting = village(more=(Edge(a="field", b="isle", minutes=9),))
    for node_id, place in (("square", "inn"), ("isle", "isle")):
        found = possible_one(
            setting, Simulation(setting, [newcomer(setting, "aoi", node_id, MORNING)]).perceive("aoi"), "eat"
        )
        assert isinstance(found, Option)
        assert found.facility_id == place


def test_one_action_alone_is_refused_where_it_is_not_done_and_unknown_when_nobody_made_it() -> None:
    setting = village()
    snapshot = Simulation(setting, [newcomer(setting, "aoi", "inn", MORNING)]).perceive("aoi")
    assert possible_one(setting, snapshot, "eat", "field") == Refusal(
        action_id="eat", reason=Reason.NO_FACILITY, facility_id="field"
    )
    with pytest.raises(KeyError):
        possible_one(setting, snapshot, "fly")


def test_only_the_nearest_are_offered_when_asked() -> None:
    setting = village()
    world = Simulation(setting, [newcomer(setting, "aoi", "home", MORNING)])
    assert not [o for o in possible(setting, world.perceive("aoi"), nearest=0).options if o.facility_id]


@pytest.mark.parametrize(
    ("hours", "at", "left"),
    [
        ((Hours(opens=480, closes=1020),), 1000, 20),
        ((Hours(opens=1020, closes=60),), 1380, 120),
        ((Hours(opens=480, closes=720), Hours(opens=720, closes=900)), 700, 200),
        ((Hours(opens=0, closes=1440),), 700, 1440),
        ((Hours(opens=480, closes=720),), 100, 0),
    ],
)
def test_how_long_a_facility_stays_open(hours: tuple[Hours, ...], at: int, left: int) -> None:
    facility = Facility(id="f", map_id="m", name="f", node_ids=("n",), hours=hours)
    assert minutes_open(facility, WorldTime(MORNING - 7 * 60 + at)) == left


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "talk"},
        {"minutes": 0},
        {"seats": 0},
        {"tags": frozenset()},
        {"where": Where.HOME},
        {"where": Where.ANYWHERE, "tags": frozenset(), "seats": 3},
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="action"):
        ActionDef(**{"id": "eat", "tags": frozenset({"eat"}), **wrong})


def test_an_action_may_only_name_needs_there_are() -> None:
    with pytest.raises(ValueError, match="luck"):
        Catalogue(needs=NEEDS, actions=(replace(ACTIONS[0], effects={"luck": 3}),))
    with pytest.raises(ValueError, match="two actions"):
        Catalogue(needs=NEEDS, actions=(ACTIONS[0], ACTIONS[0]))
