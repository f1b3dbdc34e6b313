"""Owns the marks that need no model: nothing for a dimension in which a rule finds a fault, and how like a line is to
earlier ones. Pure.
"""

from collections.abc import Mapping, Sequence

from service.conversation.repetition import TOO_LIKE, likeness
from service.locales import sentence
from service.quality.checks import Check, Exchange, Standard, comparable, wrong
from service.quality.marks import HIGHEST, Dimension, Mark

_OF: Mapping[Check, Dimension] = {
    "empty": "suitability",
    "secret": "suitability",
    "forbidden": "suitability",
    "length": "suitability",
    "repetition": "similarity",
    "language": "fluency",
    "out_of_character": "persona",
}
"""Which dimension a fault is one of."""

_UNLIKE = 0.2
"""Two lines of one person are as like as that without anybody noticing."""


def by_rule(one: Exchange, before: Sequence[Exchange], standard: Standard) -> tuple[dict[Dimension, Mark], bool]:
    """The marks, and whether one of them is for a fault: then nobody need be asked for the others."""
    found: dict[Dimension, Mark] = {}
    for check, about in wrong(one, before, standard):
        # who said it may not know the secret, and reads the reason
        key = "marks.secret" if check == "secret" else f"testing.found.{check}"
        found.setdefault(_OF[check], Mark(score=0, reason=sentence(standard.language, key, about=about)))
    return {"similarity": _similarity(one, before, standard), **found}, bool(found)


def _similarity(one: Exchange, before: Sequence[Exchange], standard: Standard) -> Mark:
    """9 for what is like nothing said before, 0 for what counts as a repetition, and evenly between."""
    like = likeness(one.answer, comparable(one, before))
    share = min(max((TOO_LIKE - like) / (TOO_LIKE - _UNLIKE), 0), 1)
    reason = sentence(standard.language, "marks.likeness", percent=round(100 * like))
    return Mark(score=round(HIGHEST * share), reason=reason)
