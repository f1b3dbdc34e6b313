"""Owns how two texts compare by their form: whether one says the same as the other, denies it or is in it. Pure."""

import re

from service.memory.claim import (
    are_opposite,
    clauses,
    counted,
    folded,
    is_negated,
    numbers,
    share,
    words,
)

OCCURS = 0.5
"""Share that a whole transcript must hold of what is gathered from many of its turns."""

SAME = 0.8
"""Likeness (Jaccard of telling words) from which two statements are one."""


def occurs(statement: str, text: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether a text, questions included, holds enough of a statement's words and every number in it."""
    if squeezed(statement) and squeezed(statement) in squeezed(text):
        return True
    return numbers(statement) <= numbers(text) and share(words(statement, names), text) >= OCCURS


def are_same(a: str, b: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether two statements say the same in nearly the same words, numbers and polarity included."""
    if squeezed(a) == squeezed(b):
        return True
    if numbers(a) != numbers(b) or is_negated(a) != is_negated(b):
        return False
    return jaccard(words(a, names), words(b, names)) >= SAME


def contradict(a: str, b: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether two statements exclude each other by form: another number of the same, a denial, or an opposite."""
    return _miscounts(a, b, names) or _denies(a, b, names) or are_opposite(a, b, names)


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """How much of both is in both, 0..1; 0 where one is empty."""
    return len(a & b) / len(a | b) if a and b else 0.0


def squeezed(text: str) -> str:
    """Letters and digits only, in one width and case."""
    return re.sub(r"[\W_]+", "", folded(text))


def _miscounts(a: str, b: str, names: frozenset[str]) -> bool:
    left, right = counted(a), counted(b)
    if not any(left[noun].isdisjoint(right[noun]) for noun in left.keys() & right.keys()):
        return False
    if is_negated(a) != is_negated(b):
        return False
    return _within(words(a, names), words(b, names))


def _denies(a: str, b: str, names: frozenset[str]) -> bool:
    """A denial of something excludes whatever states that and more; a denial of more than was stated does not."""
    if is_negated(a) == is_negated(b):
        return False
    denying, stating = (a, b) if is_negated(a) else (b, a)
    stated = words(stating, names)
    denied = [words(clause, names) for clause in clauses(denying) if is_negated(clause)]
    return any(d and (d <= stated or jaccard(d, stated) >= SAME) for d in denied)


def _within(a: frozenset[str], b: frozenset[str]) -> bool:
    smaller, larger = sorted((a, b), key=len)
    return smaller <= larger or jaccard(a, b) >= SAME
