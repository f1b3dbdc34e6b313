"""Owns which statements about one person exclude each other by what they relate: one spouse, one home, one work, alive
or dead, one number of the same thing. Pure.
"""

import re

from service.memory.claim import are_opposite, counted, folded, is_negated, numbers
from service.memory.cues import is_past

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

_BESIDE = re.compile(
    r"\b(?:also|too|another|sometimes|at weekends|part-time|summers?|winters?)\b"
    r"|\bon (?:sun|satur|mon|tues|wednes|thurs|fri)days?\b|[もま]た|週末|時々|夏は|冬は"
)
"""It is told beside the other."""

_NUMBER_WORDS = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|now)\b"
    r"|[一二三四五六七八九十百今はがをも、。.\s]"
)


def excludes(newer: str, older: str) -> bool:
    """Whether the older statement about somebody is over if the newer one about the same person is true."""
    if is_past(newer) or is_past(older) or _BESIDE.search(folded(newer)):
        return False
    if is_negated(newer) or is_negated(older):
        return False
    return are_opposite(older, newer) or _relates_to_another(newer, older) or _counts_otherwise(newer, older)


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
