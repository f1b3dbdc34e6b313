"""Holds which answers are kept: who comes first in the plan, not who answered first; doubles and answers of no use are
made again, so often and no more.
"""

from collections.abc import Mapping

from studio.generate.people.asking import Answered, Attempts, Crowd, NotKept, stand
from tests.studio.generate.people.somebody import somebody

NONSENSE = NotKept("model_failure")
Answers = Mapping[tuple[int, int], Answered]


def standing(count: int, answers: Answers, *, goes: int = 1) -> Attempts:
    return stand(range(count), lambda *one: answers.get(one), Crowd(), goes=goes)


def test_nothing_is_decided_before_all_have_answered() -> None:
    found = standing(3, {(0, 0): somebody(0), (2, 0): somebody(2)})
    assert (found.wanted, found.dropped) == ([(1, 0)], {})


def test_of_two_alike_the_later_in_the_plan_is_made_again_and_told_whom_it_is_like() -> None:
    answers: dict[tuple[int, int], Answered] = {(2, 0): somebody(0), (1, 0): somebody(1), (0, 0): somebody(0)}
    found = standing(3, answers)
    assert found.wanted == [(2, 1)]
    assert found.wrong == {2: NotKept("same_name", "Ada")}
    found = standing(3, answers | {(2, 1): somebody(2)})
    assert (found.wanted, found.dropped, found.doubles) == ([], {}, 1)
    assert [one.name for one in found.kept.values()] == ["Ada", "Bram", "Cleo"]


def test_a_double_is_made_again_twice_and_then_dropped() -> None:
    answers: dict[tuple[int, int], Answered] = {(0, 0): somebody(0), (1, 0): somebody(0), (1, 1): somebody(0)}
    assert standing(2, answers).wanted == [(1, 2)]
    found = standing(2, answers | {(1, 2): somebody(0)})
    assert (found.wanted, found.doubles) == ([], 3)
    assert found.dropped == {1: NotKept("same_name", "Ada")}


def test_an_answer_of_no_use_is_made_again_once_and_costs_that_person_alone() -> None:
    answers: dict[tuple[int, int], Answered] = {(0, 0): somebody(0), (1, 0): NONSENSE}
    assert standing(2, answers).wanted == [(1, 1)]
    found = standing(2, answers | {(1, 1): NONSENSE})
    assert (found.wanted, [*found.kept], found.dropped) == ([], [0], {1: NONSENSE})


def test_another_go_begins_anew_with_those_who_are_missing() -> None:
    answers: dict[tuple[int, int], Answered] = {(0, 0): somebody(0), (1, 0): NONSENSE, (1, 1): NONSENSE}
    assert standing(2, answers, goes=2).wanted == [(1, 3)]
    found = standing(2, answers | {(1, 3): somebody(1)}, goes=2)
    assert ([*found.kept], found.dropped) == ([0, 1], {})
