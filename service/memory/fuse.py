"""Owns how several rankings of the same candidates become one: reciprocal rank fusion."""

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
"""One score a candidate, the greater the better; NaN where this ranking does not know the candidate."""

RANK_CONSTANT = 1
"""A small constant trusts the top of each ranking; 1 found more than the customary 60 on short facts."""


def ranks(scores: Scores) -> Scores:
    """Rank of each candidate, 1 the best. Equal scores share a rank and the next rank follows without a gap."""
    known = ~np.isnan(scores)
    found = np.full(scores.shape, np.nan)
    distinct, inverse = np.unique(scores[known], return_inverse=True)
    found[known] = distinct.size - inverse
    return found


def fuse(*rankings: Scores, constant: float = RANK_CONSTANT) -> Scores:
    """Fused score of each candidate: the sum of 1 / (constant + rank); 0 for one that no ranking knows.

    Source: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009.
    """
    if not rankings:
        raise ValueError("nothing to fuse")
    fused = np.zeros(rankings[0].shape)
    for scores in rankings:
        fused += np.nan_to_num(1.0 / (constant + ranks(scores)), nan=0.0)
    return fused
