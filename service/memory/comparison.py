"""Owns how two texts compare by their form: whether one says the same as the other, denies it or is in it, or is over
where the other is true: one spouse, one home, one work, alive or dead, one number of the same thing. Pure.
"""

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
from service.memory.cues import is_past

OCCURS = 0.5
"""Share that a whole transcript must hold of what is gathered from many of its turns."""

SAME = 0.8
"""Likeness (Jaccard of telling words) from which two statements are one."""


_RELATIONS: tuple[re.Pattern[str], ...] = tuple(
    re.compile("|".join(forms))
    for forms in (
        (r"\b(?:is|got) married to (?P<a>[a-z'-]+)", r"(?P<b>[^\s、。はがの]+?)(?:さん)?と結婚(?:し|して)"),
        (
            r"\b(?:lives? (?:now )?(?:in|at|on|by|near|above|over)|(?:has )?moved to) (?:the |a |an )?(?P<a>[^.,;]+)",
            r"(?P<b>[^\s、。はが]+)に(?:住|暮ら|引っ越|移り住|越し)|(?P<c>[^\\s、。はが]+)へ(?:越し|引っ越)",
        ),
        (
            r"\bworks? (?:now )?(?:as|at|for|in) (?:the |a |an )?(?P<a>[^.,;]+)",
            r"(?P<b>[^\s、。はが]+)(?:で|として)(?:働|勤め)",
            r"(?P<c>[^\s、。はが]+)に(?:勤め|転職)",
        ),
    )
)
"""The spouse, the home, the work: who has another has no longer the one before."""

_HOME = _RELATIONS[1]
_TITLE = re.compile(
    r"\b(?:works? (?:now )?as|occupation:) (?:the |a |an )?(?P<a>[^.,;]+)"
    r"|職業は(?P<b>[^\s、。]+)|(?P<c>[^\s、。はが]+)として(?:働|勤め)"
)
"""What an author's words say of home and occupation, and those who talk of theirs."""

_BESIDE = re.compile(
    r"\b(?:also|too|another|sometimes|at weekends|part-time|summers?|winters?)\b"
    r"|\bon (?:sun|satur|mon|tues|wednes|thurs|fri)days?\b|[もま]た|週末|時々|夏は|冬は"
)
"""It is told beside the other."""

_NUMBER_WORDS = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|now)\b"
    r"|[一二三四五六七八九十百今はがをも、。.\s]"
)


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


def excludes(newer: str, older: str) -> bool:
    """Whether the older statement about somebody is over if the newer one about the same person is true."""
    if is_past(newer) or is_past(older) or _BESIDE.search(folded(newer)):
        return False
    if is_negated(newer) or is_negated(older):
        return False
    return are_opposite(older, newer) or _relates_to_another(newer, older) or _counts_otherwise(newer, older)


def is_other_than(told: str, written: str) -> bool:
    """Whether the first names a home, or an occupation, that has no word in common with the one that is written."""
    if is_past(told) or is_negated(told) or _BESIDE.search(folded(told)):
        return False
    for relation in (_HOME, _TITLE):
        one, other = relation.search(folded(told)), relation.search(folded(written))
        if one and other:
            said, known = (words(next(filter(None, match.groups()))) for match in (one, other))
            return bool(said and known) and said.isdisjoint(known)
    return False


def _relates_to_another(newer: str, older: str) -> bool:
    for relation in _RELATIONS:
        one, other = relation.search(folded(newer)), relation.search(folded(older))
        if one and other:
            values = {next(filter(None, match.groups())).strip() for match in (one, other)}
            return len(values) == 2 and not any(a in b for a in values for b in values if a != b)
    return False


def _counts_otherwise(newer: str, older: str) -> bool:
    """Another number of the same thing, in the same words, whatever follows."""
    one, other = counted(newer), counted(older)
    if not any(one[noun].isdisjoint(other[noun]) for noun in one.keys() & other.keys()):
        return False
    return _frame(newer).startswith(_frame(older))


def _frame(text: str) -> str:
    """The statement without its numbers."""
    plain = folded(text)
    for number in numbers(text):
        plain = plain.replace(number, "")
    return _NUMBER_WORDS.sub("", plain)
