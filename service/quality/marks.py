"""Owns what is said of a line's quality: a mark for each dimension, 0 to 9 with a reason, and which of two is better.
Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Dimension = Literal["persona", "consistency", "fluency", "suitability", "similarity"]
"""Fits the person; contradicts nothing of its own; is well said; fits the moment; is nothing that was said before."""
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
HIGHEST = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """From 0, fails, to 9, flawless, and why."""

    score: int
    """0 (fails) to 9 (flawless)"""
    reason: str
    """why, in the world's language"""


Marks = Mapping[Dimension, Mark]
"""What was marked. Where a rule finds a fault, what only a model can tell is left out."""


def lowest(marks: Marks) -> int:
    """By which a line stands or falls."""
    return min(mark.score for mark in marks.values())


def rank(marks: Marks) -> tuple[int, float]:
    """The higher is better: by the lowest mark, then by all of them."""
    return lowest(marks), sum(mark.score for mark in marks.values()) / len(marks)


def below(marks: Marks, threshold: int) -> list[str]:
    """Why it does not do, the worst first."""
    found = sorted((mark for mark in marks.values() if mark.score < threshold), key=lambda mark: mark.score)
    return [mark.reason.rstrip("。. ") for mark in found]


def stored(marks: Marks) -> dict[str, list[int | str]]:
    """As its row keeps it: score and reason by dimension, in the order of the dimensions."""
    return {name: [marks[name].score, marks[name].reason] for name in DIMENSIONS if name in marks}
