"""What is in sight of a node, who can talk, and how many minutes to either, held against networkx."""

import pytest
from hypothesis import given

from tests.world.little_worlds import CATALOGUE
from tests.world.maps import draw_map, modest, random_maps, shortest
from world.distance import FAR, Distances
from world.errors import TalkTooShort
from world.places import Facility, WorldMap
from world.setting import Rules, Setting


@modest
@given(world_map=random_maps())
def test_every_row_holds_the_shortest_walk_to_the_nearest_goal(world_map: WorldMap) -> None:
    near = Distances(world_map)
    for node_id in sorted(world_map.open_graph):
        walks = shortest(world_map, node_id)
        for other in sorted(world_map.open_graph):
            node_index = near.node_index(node_id)
            assert near.to_sight(other)[node_index] == min(
                (walks.get(n, FAR) for n in near.in_sight(other)), default=FAR
            )
            assert near.to_talk(other)[node_index] == min((walks.get(n, FAR) for n in near.in_talk(other)), default=FAR)
        for npc_id, post in world_map.posts.items():
            assert near.to_npc(npc_id)[node_index] == min(
                (walks.get(n, FAR) for n in world_map.beside(post)), default=FAR
            )


@modest
@given(world_map=random_maps())
def test_who_can_talk_is_in_sight_and_both_are_mutual(world_map: WorldMap) -> None:
    near = Distances(world_map)
    for a in sorted(world_map.open_graph):
        assert a in near.in_talk(a)
        assert set(near.in_talk(a)) <= set(near.in_sight(a))
        assert all(a in near.in_sight(b) for b in near.in_sight(a))
        assert all(a in near.in_talk(b) and world_map.next_to(a, b) for b in near.in_talk(a))


@modest
@given(world_map=random_maps())
def test_an_npc_that_can_be_spoken_to_is_in_sight(world_map: WorldMap) -> None:
    near = Distances(world_map)
    for npc_id, post in world_map.posts.items():
        assert all(npc_id in near.npcs_in_sight(node_id) for node_id in world_map.beside(post))


def test_sight_ends_after_three_minutes_but_not_within_a_facility() -> None:
    road = draw_map(("a", "b", 2), ("b", "c", 1), ("c", "d", 1), ("d", "e", 3))
    assert Distances(road).in_sight("a") == {"a": 0, "b": 2, "c": 3}
    hall = Facility(id="hall", map_id="town", name="", node_ids=("a", "e"))
    joined = WorldMap(nodes=road.nodes, edges=road.edges, facilities={"hall": hall})
    assert Distances(joined).in_sight("a") == {"a": 0, "b": 2, "c": 3, "e": 7}


def test_a_long_way_joins_two_in_sight_but_not_in_talk() -> None:
    near = Distances(draw_map(("a", "b", 8)))
    assert near.in_sight("a") == {"a": 0, "b": 8}
    assert near.in_talk("a") == {"a"}
    assert near.longest_talk_walk == 0


def test_a_map_on_which_a_talk_is_shorter_than_the_walk_to_it_is_refused() -> None:
    world_map = draw_map(("a", "b", 3))
    with pytest.raises(TalkTooShort, match="3 or more"):
        Setting(world_map, CATALOGUE, Rules(talk_min=2))
