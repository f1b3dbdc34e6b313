"""Owns the proof of the map: opening hours, what is beside what, and what places are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.maps import draw_map, modest, open_ways, random_maps
from world.errors import UnknownPlace
from world.places import ALWAYS_OPEN, Facility, Hours, Node, WorldMap, index_nodes
from world.time import MINUTES_PER_DAY, parse_time


def facility(
    facility_id: str = "bar", *node_ids: str, name: str = "Bar", hours: tuple[Hours, ...] = ALWAYS_OPEN
) -> Facility:
    return Facility(id=facility_id, map_id="town", name=name, node_ids=node_ids, hours=hours)


def clock(hour: int, minute: int = 0) -> int:
    return hour * 60 + minute


@pytest.mark.parametrize(
    ("time", "is_open"),
    [("08:59", False), ("09:00", True), ("17:59", True), ("18:00", False), ("00:00", False)],
)
def test_a_shop_is_open_from_its_first_minute_until_before_its_last(time: str, is_open: bool) -> None:
    shop = facility(hours=(Hours(opens=clock(9), closes=clock(18)),))
    assert shop.open_at(parse_time(f"2026-04-01T{time}")) is is_open


@pytest.mark.parametrize(
    ("time", "is_open"),
    [("17:59", False), ("18:00", True), ("23:59", True), ("00:00", True), ("01:59", True), ("02:00", False)],
)
def test_a_bar_that_closes_at_two_is_open_past_midnight(time: str, is_open: bool) -> None:
    bar = facility(hours=(Hours(opens=clock(18), closes=clock(2)),))
    assert bar.open_at(parse_time(f"2026-04-01T{time}")) is is_open


@modest
@given(st.integers(0, MINUTES_PER_DAY - 1), st.integers(0, MINUTES_PER_DAY - 1), st.integers(0, MINUTES_PER_DAY - 1))
def test_a_minute_is_within_hours_or_within_their_complement(opens: int, closes: int, minute: int) -> None:
    within = Hours(opens=opens, closes=closes).contain(minute)
    if opens != closes:
        assert within != Hours(opens=closes, closes=opens).contain(minute)


def test_an_npc_is_talked_to_from_its_open_neighbours_only() -> None:
    world_map = draw_map(
        ("c", "post", 1), ("post", "a", 1), ("post", "b", 1), ("a", "d", 1), posts={"smith": "post", "guard": "b"}
    )
    assert world_map.beside("post") == ("a", "c")


def test_people_are_next_to_each_other_on_one_node_or_across_one_way() -> None:
    world_map = draw_map(("a", "b", 9), ("b", "c", 1))
    assert world_map.next_to("a", "a")
    assert world_map.next_to("a", "b")
    assert world_map.next_to("b", "a")
    assert not world_map.next_to("a", "c")


@modest
@given(random_maps())
def test_the_open_graph_is_the_map_without_the_posts(world_map: WorldMap) -> None:
    def edges(graph_edges: list[tuple[str, str, int]]) -> set[tuple[frozenset[str], int]]:
        return {(frozenset((a, b)), minutes) for a, b, minutes in graph_edges}

    ways = open_ways(world_map)
    assert set(world_map.open_graph) == set(ways) == set(world_map.nodes) - world_map.closed_nodes
    assert edges(list(world_map.open_graph.edges.data("minutes"))) == edges(list(ways.edges.data("minutes")))
    assert set(world_map.graph) == set(world_map.nodes)


def test_a_node_is_called_by_its_name_else_its_facility_else_its_map_else_its_id() -> None:
    world_map = WorldMap(
        nodes=index_nodes(
            [
                Node(id="n1", map_id="town", x=0, y=0, name="井戸"),
                Node(id="n2", map_id="town", x=1, y=0),
                Node(id="n3", map_id="town", x=2, y=0),
                Node(id="n4", map_id="wilds", x=0, y=0),
            ]
        ),
        edges=(),
        facilities={"bar": facility("bar", "n1", "n2"), "attic": facility("attic", "n2", name="Attic")},
        map_names={"town": "Town"},
    )
    assert [world_map.label(n) for n in ("n1", "n2", "n3", "n4")] == ["井戸", "Attic", "Town", "n4"]


def test_a_facility_is_found_from_each_of_its_nodes_in_order_of_ids() -> None:
    mill, bar = facility("mill", "a", "b"), facility("bar", "b")
    world_map = WorldMap(
        nodes=index_nodes(Node(id=i, map_id="town", x=0, y=0) for i in "abc"),
        edges=(),
        facilities={"mill": mill, "bar": bar},
    )
    assert [world_map.facilities_at(node) for node in "abc"] == [(mill,), (bar, mill), ()]
    assert world_map.facility("mill") is mill


def test_a_place_the_map_does_not_have_is_named() -> None:
    world_map = draw_map(("a", "b", 1))
    with pytest.raises(UnknownPlace, match="no node 'moon'"):
        world_map.node("moon")
    with pytest.raises(UnknownPlace, match="no node 'moon'"):
        world_map.label("moon")
    with pytest.raises(UnknownPlace, match="no facility 'casino'") as caught:
        world_map.facility("casino")
    assert caught.value.facts == ("facility", "casino")
