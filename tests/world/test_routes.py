"""Owns the proof that walkers take the shortest open way, the same one every time."""

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.maps import draw_map, modest, open_ways, random_maps, shortest
from world.distance import Path, Routes
from world.errors import UnknownPlace, Unreachable
from world.places import Edge, Node, WorldMap, index_nodes


@modest
@given(random_maps())
def test_a_route_is_as_long_as_the_shortest_open_way_and_there_is_none_exactly_when_networkx_finds_none(
    world_map: WorldMap,
) -> None:
    routes = Routes(world_map)
    for start in world_map.nodes:
        expected = shortest(world_map, start)
        for goal in world_map.nodes:
            if goal in expected:
                assert routes.minutes(start, goal) == routes.path(start, goal).minutes == expected[goal]
                continue
            for ask in (routes.minutes, routes.path):
                with pytest.raises(Unreachable) as caught:
                    ask(start, goal)
                assert caught.value.facts == (start, goal)
                assert repr(start) in str(caught.value)
                assert repr(goal) in str(caught.value)


@modest
@given(random_maps())
def test_a_route_steps_along_edges_never_enters_a_closed_node_and_its_offsets_add_up(world_map: WorldMap) -> None:
    routes, ways = Routes(world_map), open_ways(world_map)
    for start in world_map.nodes:
        for goal in shortest(world_map, start):
            path = routes.path(start, goal)
            assert (path.nodes[0], path.nodes[-1], path.offsets[0]) == (start, goal, 0)
            assert not set(path.nodes) & world_map.closed_nodes
            for (a, left), (b, reached) in pairwise(zip(path.nodes, path.offsets, strict=True)):
                assert ways.edges[a, b]["minutes"] == reached - left


@modest
@given(random_maps())
def test_of_equally_long_ways_each_step_takes_the_smallest_node_id(world_map: WorldMap) -> None:
    routes, ways = Routes(world_map), open_ways(world_map)
    for start in ways:
        for goal in shortest(world_map, start):
            smallest = min(nx.all_shortest_paths(ways, start, goal, weight="minutes"))
            assert list(routes.path(start, goal).nodes) == smallest


@modest
@given(random_maps(), st.randoms(use_true_random=False))
def test_the_order_in_which_a_map_lists_its_places_changes_no_route(world_map: WorldMap, rng: random.Random) -> None:
    nodes, edges = list(world_map.nodes.values()), list(world_map.edges)
    rng.shuffle(nodes)
    rng.shuffle(edges)
    turned = [Edge(a=edge.b, b=edge.a, minutes=edge.minutes) for edge in edges]
    shuffled = WorldMap(nodes=index_nodes(nodes), edges=tuple(turned), posts=world_map.posts)
    one, other = Routes(world_map), Routes(shuffled)
    for start in world_map.nodes:
        for goal in shortest(world_map, start):
            assert one.path(start, goal) == other.path(start, goal)
            assert one.path_to_any(start, list(world_map.nodes)) == other.path_to_any(start, list(shuffled.nodes))


@modest
@given(random_maps(), st.data())
def test_the_way_to_any_is_the_way_to_the_nearest(world_map: WorldMap, data: st.DataObject) -> None:
    routes = Routes(world_map)
    start = data.draw(st.sampled_from(sorted(world_map.nodes)))
    goals = data.draw(st.sets(st.sampled_from(sorted(world_map.nodes)), min_size=1))
    expected = shortest(world_map, start)
    near = [expected[goal] for goal in goals if goal in expected]
    if near:
        path = routes.path_to_any(start, goals)
        assert path.minutes == min(near)
        assert path.nodes[-1] in goals
        assert path == routes.path(start, path.nodes[-1])
    else:
        with pytest.raises(Unreachable) as caught:
            routes.path_to_any(start, goals)
        assert caught.value.facts == (start, ", ".join(sorted(goals)))


@modest
@given(random_maps(), st.data())
def test_walking_up_to_somebody_ends_on_the_nearest_open_node_next_to_them(
    world_map: WorldMap, data: st.DataObject
) -> None:
    routes = Routes(world_map)
    start = data.draw(st.sampled_from(sorted(world_map.nodes)))
    post = data.draw(st.sampled_from(sorted(world_map.nodes)))
    expected = shortest(world_map, start)
    near = [minutes for node, minutes in expected.items() if world_map.next_to(node, post)]
    if near:
        path = routes.path_beside(start, post)
        assert path.minutes == min(near)
        assert world_map.next_to(path.nodes[-1], post)
        assert not set(path.nodes) & world_map.closed_nodes
    else:
        with pytest.raises(Unreachable) as caught:
            routes.path_beside(start, post)
        assert caught.value.facts == (start, post)


def test_an_npc_walled_in_by_npcs_cannot_be_walked_up_to() -> None:
    routes = Routes(draw_map(("a", "b", 1), ("b", "c", 1), posts={"npc": "c", "guard": "b"}))
    with pytest.raises(Unreachable, match="from 'a' to 'c'"):
        routes.path_beside("a", "c")


def test_a_place_the_map_does_not_have_is_named_wherever_it_is_asked_for() -> None:
    routes = Routes(draw_map(("a", "b", 1)))
    for ask in (routes.minutes, routes.path, routes.path_beside):
        for start, goal in (("a", "moon"), ("moon", "a")):
            with pytest.raises(UnknownPlace, match="node 'moon'"):
                ask(start, goal)
    for start, goals in (("a", ("b", "moon")), ("moon", ("a", "b"))):
        with pytest.raises(UnknownPlace, match="node 'moon'"):
            routes.path_to_any(start, goals)


@pytest.mark.parametrize(
    ("nodes", "offsets"),
    [((), ()), (("a",), (1,)), (("a", "b"), (0,)), (("a", "b"), (0, 0)), (("a", "b", "c"), (0, 2, 1))],
)
def test_a_path_that_cannot_be_walked_is_refused(nodes: tuple[str, ...], offsets: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="path"):
        Path(nodes=nodes, offsets=offsets)


def _grid(side: int) -> WorldMap:
    """A square town; ids sort like their places."""
    rng = random.Random(7)
    ids = {(x, y): f"n{x:02}_{y:02}" for x in range(side) for y in range(side)}
    edges = [
        Edge(a=node, b=ids[place], minutes=rng.randint(1, 9))
        for (x, y), node in ids.items()
        for place in ((x + 1, y), (x, y + 1))
        if place in ids
    ]
    return WorldMap(
        nodes=index_nodes(Node(id=i, map_id="town", x=x, y=y) for (x, y), i in ids.items()), edges=tuple(edges)
    )


def test_readers_in_many_threads_get_the_same_routes() -> None:
    world_map = _grid(12)
    alone, shared = Routes(world_map), Routes(world_map)
    asks = [(start, goal) for start in list(world_map.nodes)[::9] for goal in list(world_map.nodes)[::11]]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda ask: shared.path(*ask), asks))
    assert found == [alone.path(*ask) for ask in asks]
