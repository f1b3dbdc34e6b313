"""Owns what a line of a prompt recalls, taken apart by the form in which memory tells it (memory/telling.py)."""

import re
from functools import cache
from typing import NamedTuple

from service.locales import Language, sentence

_KNOWN = re.compile(r"\((?P<ago>[^()]+)\) (?P<clause>.+)", re.DOTALL)
"""A line of its own: since when, and what."""
_TURN = re.compile(r"(?P<name>[^:\n]{1,80}): (?P<told>.+)", re.DOTALL)
_NOTED = re.compile(r"(?P<clause>.+?)\s*\((?:[^()]*; )?(?P<ago>[^();]*)\)(?:[.。]\s*|$)", re.DOTALL)
"""A clause of several that one person told: what, and since when."""


class Recollection(NamedTuple):
    """Something remembered: when it was learned, who told it ("": nobody in particular), the clause, and the words that
    it quotes, or itself.
    """

    ago: str
    name: str
    clause: str
    said: str


def recollections(line: str, language: Language) -> list[Recollection]:
    """What the line recalls; nothing where it has another form."""
    if group := _form(language, "remembered.group.told").fullmatch(line):
        found, name = _NOTED.finditer(group["told"]), group["name"]
        return [_recollection(one["ago"], name, one["clause"], language) for one in found]
    known = _KNOWN.fullmatch(line)
    return [_recollection(known["ago"], "", known["clause"], language)] if known else []


def words_of(name: str, text: str, language: Language) -> str:
    """The words that a summary quotes of that one; "": none."""
    form = re.escape(sentence(language, "remembered.said", name=name, said="\0")).replace("\0", "(.+)")
    found = re.search(form, text)
    return found[1] if found else ""


def _recollection(ago: str, name: str, clause: str, language: Language) -> Recollection:
    if name:
        words = _form(language, "remembered.words").fullmatch(clause)
        return Recollection(ago, name, clause, words["told"] if words else clause)
    quoted = _form(language, "remembered.said").fullmatch(clause) or _TURN.fullmatch(clause)
    return Recollection(ago, quoted["name"] if quoted else "", clause, quoted["told"] if quoted else clause)


@cache
def _form(language: Language, key: str) -> re.Pattern[str]:
    text = re.escape(sentence(language, key, name="\0", told="\1", said="\1"))
    return re.compile(text.replace("\0", "(?P<name>.+?)").replace("\1", "(?P<told>.+)"), re.DOTALL)
