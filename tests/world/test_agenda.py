"""Who is due when, held against a plain dictionary."""

from hypothesis import given
from hypothesis import strategies as st

from tests.world.maps import modest
from world.agent_index import Agenda
from world.time import WorldTime

moves = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9)), max_size=30)


@modest
@given(moves=moves, t=st.integers(0, 10))
def test_everybody_is_found_at_the_last_time_given(moves: list[tuple[str, int]], t: int) -> None:
    agenda, times = Agenda(), {}
    for person_id, when in moves:
        agenda.put(person_id, WorldTime(when))
        times[person_id] = when
    pairs = sorted((when, person_id) for person_id, when in times.items())
    assert list(agenda.behind(WorldTime(t))) == [pair for pair in reversed(pairs) if pair[0] < t]
    assert list(agenda.due(WorldTime(t))) == [person_id for when, person_id in pairs if when == t]
    assert agenda.first == (pairs[0][0] if pairs else None)
    assert len(list(agenda.ids)) == len(times)


def test_who_is_dropped_is_due_no_more() -> None:
    agenda = Agenda()
    agenda.put("a", WorldTime(3))
    agenda.put("b", WorldTime(4))
    agenda.drop("a")
    assert "a" not in agenda
    assert agenda.first == 4
    assert agenda["b"] == 4
