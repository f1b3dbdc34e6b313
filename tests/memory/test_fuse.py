"""Reciprocal rank fusion, down to the numbers."""

import numpy as np
import pytest

from service.memory.fuse import RANK_CONSTANT, fuse, ranks

NAN = float("nan")


def test_the_greatest_score_ranks_first_and_equals_share_a_rank_without_a_gap() -> None:
    assert ranks(np.array([0.1, 0.9, 0.9, 0.5])).tolist() == [3, 1, 1, 2]


def test_a_candidate_a_ranking_does_not_know_has_no_rank() -> None:
    found = ranks(np.array([NAN, 2.0, 1.0]))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [1, 2]


def test_the_fused_score_is_the_sum_of_reciprocal_ranks() -> None:
    fused = fuse(np.array([3.0, 2.0, 1.0]), np.array([NAN, 1.0, 2.0]), constant=1)
    assert fused.tolist() == pytest.approx([1 / 2, 1 / 3 + 1 / 3, 1 / 4 + 1 / 2])


def test_the_constant_is_one_unless_given() -> None:
    assert RANK_CONSTANT == 1
    assert fuse(np.array([1.0])).tolist() == [1 / 2]
    assert fuse(np.array([1.0]), constant=60).tolist() == [1 / 61]


def test_one_known_to_no_ranking_scores_nothing() -> None:
    assert fuse(np.array([NAN, 1.0]), np.array([NAN, NAN])).tolist() == [0, 1 / 2]


def test_no_candidates_fuse_to_none() -> None:
    assert fuse(np.array([])).tolist() == []


def test_there_must_be_something_to_fuse() -> None:
    with pytest.raises(ValueError, match="nothing to fuse"):
        fuse()
