"""Owns what a statement may claim: it must have been said, in words, numbers and polarity, and not deny a known one.
Pure.

These are rules of form, not of meaning: they keep out what was plainly not said, and let paraphrases through that
share words with what was said. docs/decisions/0005-what-may-be-learned.md tells what that costs.
"""

import re

from service.memory.claim import (
    are_opposite,
    clauses,
    counted,
    folded,
    is_assent,
    is_denial,
    is_negated,
    numbers,
    share,
    words,
)
from service.memory.utterance import asks_openly, asserted, sentences

_QUOTE = re.compile(r"[「“\"](.+)[」”\"]")
_HIRAGANA = re.compile(r"[ぁ-ん]+")

GROUNDED = 0.6
"""Share of a statement's telling words that the cited turn itself must hold."""

OCCURS = 0.5
"""Share that a whole transcript must hold of what is gathered from many of its turns."""

ANSWERED = 0.75
"""Share that an answer must hold together with the question before it ..."""

ANSWERED_OWN = 0.3
"""... when it is more than a yes or no, and itself holds this much."""

SAME = 0.8
"""Likeness (Jaccard of telling words) from which two statements are one."""


def is_grounded(statement: str, heard: str, names: frozenset[str] = frozenset(), *, before: str = "") -> bool:
    """Whether the turn `heard` carries the statement: enough of its words, every number in it, and no denial of it.

    Only what the turn asserts counts, not what it asks. `before` is the turn before it: an answer may be complete
    only with its question. `names` of the people involved prove nothing: a statement about somebody always holds them.
    """
    said = asserted(heard)
    if not squeezed(statement):
        return False
    if squeezed(_quoted(statement, names)) in squeezed(said):
        return True
    wanted = words(statement, names)
    if not wanted:  # nothing but a count: 六十一歳である
        return bool(counted(statement)) and counted(statement).items() <= counted(said).items()
    own, both = share(wanted, said), share(wanted, f"{said} {before}")
    if not _numbers_said(statement, said, before):
        return False
    if own >= GROUNDED:
        return _same_polarity(statement, wanted, said)
    if is_denial(said) or is_assent(said):
        return both >= ANSWERED and _answers(statement, said, before)
    asked = asks_openly(sentences(before)[-1])  # whether it is so was asked, and was not answered: nothing was said
    gives = own >= ANSWERED_OWN or bool(numbers(statement) & numbers(said))
    return asked and gives and both >= ANSWERED and _same_polarity(statement, wanted, said)


def occurs(statement: str, text: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether a text, questions included, holds enough of a statement's words and every number in it."""
    if squeezed(statement) and squeezed(statement) in squeezed(text):
        return True
    return numbers(statement) <= numbers(text) and share(words(statement, names), text) >= OCCURS


def states(text: str, statement: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether a text, its questions left aside, holds enough of a statement's words and every number in it."""
    return occurs(statement, asserted(text), names)


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


def _quoted(statement: str, names: frozenset[str]) -> str:
    """The words a statement quotes, when it says nothing but who said them; else the statement."""
    quote = _QUOTE.search(statement)
    if quote is None or not squeezed(quote[1]):
        return statement
    frame = words(f"{statement[: quote.start()]} {statement[quote.end() :]}", names)
    return quote[1] if all(_HIRAGANA.fullmatch(word) for word in frame) else statement


def _numbers_said(statement: str, said: str, before: str) -> bool:
    """The question's numbers count only where the answer names none: "Three daughters?" "Two." tells of two.

    A single thing needs no number where none is named: "my son" is one son.
    """
    given = numbers(said)
    missing = numbers(statement) - (given or numbers(before))
    return not missing or (missing == {"1"} and not given)


def _same_polarity(statement: str, wanted: frozenset[str], said: str) -> bool:
    """Whether one of the clauses that hold most of the statement denies if it denies, and affirms if it affirms."""
    scored = [(share(wanted, clause), clause) for clause in clauses(said)]
    most = max((score for score, _ in scored), default=0.0)
    denies = is_negated(statement)
    return any(is_negated(clause) == denies for score, clause in scored if score == most)


def _answers(statement: str, said: str, before: str) -> bool:
    if is_denial(said):
        return is_negated(statement)
    return is_negated(statement) == is_negated(before)


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
