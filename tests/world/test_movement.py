"""Owns the proof of where people are: on their path, never elsewhere, beside whom they stand."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.maps import draw_map, modest, random_maps
from world.distance import Path
from world.errors import UnknownPlace
from world.life import (
    Position,
    Segment,
    latest,
    neighbours,
    node_at,
    position_at,
    walking_at,
)
from world.places import WorldMap
from world.time import WorldTime

NOON = WorldTime(12 * 60)
WALK = Segment.walk(Path(nodes=("a", "b", "c"), offsets=(0, 4, 6)), NOON)


def at(minutes: int) -> WorldTime:
    return WorldTime(NOON + minutes)


@st.composite
def segments(draw: st.DrawFn, *, start: int | None = None) -> Segment:
    steps = draw(st.lists(st.integers(1, 9), max_size=6))
    # Few nodes, so that a walk may come back to where it was.
    nodes = draw(st.lists(st.sampled_from("abcd"), min_size=len(steps) + 1, max_size=len(steps) + 1))
    departs = draw(st.integers(-50, 50)) if start is None else start
    offsets = tuple(sum(steps[:i]) for i in range(len(nodes)))
    return Segment.walk(Path(nodes=tuple(nodes), offsets=offsets), at(departs))


minutes_around = st.integers(-60, 120).map(at)


@modest
@given(segments(), minutes_around)
def test_at_any_time_a_person_is_on_the_path(segment: Segment, t: WorldTime) -> None:
    position = position_at(segment, t)
    assert 0 <= position.progress < 1
    if t < segment.start:
        assert position == Position(node_id=segment.path[0])
    elif t >= segment.arrival:
        assert position == Position(node_id=segment.path[-1])
    else:
        legs = zip(pairwise(segment.path), pairwise(segment.times), strict=True)
        ((a, b), (since, until)) = next(leg for leg in legs if leg[1][0] <= t < leg[1][1])
        assert (position.node_id, position.toward) == (a, b)
        assert position.progress * (until - since) == pytest.approx(t - since)


@modest
@given(segments(), minutes_around)
def test_a_person_walks_exactly_while_heading_somewhere(segment: Segment, t: WorldTime) -> None:
    position = position_at(segment, t)
    assert walking_at(segment, t) == (position.toward is not None)
    assert node_at(segment, t) == position.node_id


@modest
@given(segments(), minutes_around, minutes_around)
def test_a_walk_never_goes_back(segment: Segment, one: WorldTime, other: WorldTime) -> None:
    def walked(t: WorldTime) -> float:
        reached = sum(time <= t for time in segment.times[1:])
        return reached + position_at(segment, t).progress

    earlier, later = sorted((one, other))
    assert walked(earlier) <= walked(later)


@modest
@given(segments(), minutes_around)
def test_stopping_changes_nothing_about_the_past_and_nobody_who_stands(segment: Segment, t: WorldTime) -> None:
    life = sorted([segment, segment.cut(t)], key=lambda s: s.start)
    if t > segment.start:
        before = WorldTime(t - 1)
        assert position_at(latest(life, before), before) == position_at(segment, before)
    if not walking_at(segment, t):
        assert position_at(segment.cut(t), t) == position_at(segment, t)


@pytest.mark.parametrize(
    ("path", "times"), [((), ()), (("a",), ()), (("a",), (1, 2)), (("a", "b"), (3, 3)), (("a", "b"), (3, 2))]
)
def test_a_segment_that_nobody_could_live_is_refused(path: tuple[str, ...], times: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"one time a node|a minute or more"):
        Segment(path=path, times=tuple(WorldTime(t) for t in times))


@pytest.mark.parametrize(("toward", "progress"), [("b", 1.0), ("b", -0.1), (None, 0.5)])
def test_a_position_between_no_two_nodes_is_refused(toward: str | None, progress: float) -> None:
    with pytest.raises(ValueError, match="progress"):
        Position(node_id="a", toward=toward, progress=progress)


@st.composite
def crowds(draw: st.DrawFn) -> tuple[WorldMap, dict[str, Position]]:
    world_map = draw(random_maps())
    node = st.sampled_from(sorted(world_map.nodes))
    position = st.builds(lambda n, walks: Position(node_id=n, toward=n if walks else None), node, st.booleans())
    return world_map, draw(st.dictionaries(st.text("pqr", min_size=1, max_size=3), position, max_size=10))


@modest
@given(crowds())
def test_people_stand_next_to_whom_they_can_talk_to(crowd: tuple[WorldMap, dict[str, Position]]) -> None:
    world_map, positions = crowd
    everybody = {person: neighbours(world_map, positions, person) for person in positions}
    standing = {person: p.node_id for person, p in positions.items() if p.toward is None}
    for person in positions:
        expected = tuple(
            other
            for other in sorted(standing)
            if person in standing and other != person and world_map.next_to(standing[person], standing[other])
        )
        assert everybody[person] == expected
        assert all(person in everybody[other] for other in expected)


def test_an_npc_is_next_to_those_around_its_post_but_not_to_those_two_steps_away() -> None:
    world_map = draw_map(("a", "post", 3), ("a", "b", 1), posts={"npc": "post"})
    positions = {
        "near": Position(node_id="a"),
        "far": Position(node_id="b"),
        "npc": Position(node_id="post"),
        "passing": Position(node_id="a", toward="b"),
    }
    assert neighbours(world_map, positions, "npc") == ("near",)
    assert neighbours(world_map, positions, "near") == ("far", "npc")
    assert neighbours(world_map, positions, "passing") == ()


def test_somebody_unknown_or_off_the_map_is_an_error() -> None:
    world_map = draw_map(("a", "b", 1))
    with pytest.raises(KeyError, match="ghost"):
        neighbours(world_map, {}, "ghost")
    lost = {"lost": Position(node_id="moon")}
    with pytest.raises(UnknownPlace, match="node 'moon'"):
        neighbours(world_map, lost, "lost")
