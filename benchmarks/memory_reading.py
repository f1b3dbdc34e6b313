"""Owns how a statement stands in what somebody is told: bare, given to a teller, marked, or not at all. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from service.llm.chat import Message
from service.locales import Language, languages, sentence
from service.memory.lexical import normal

Form = Literal["bare", "told", "self", "talk", "thought", "recalled"]

_GROUPS: tuple[tuple[Form, str], ...] = (
    ("told", "remembered.group.told"),
    ("self", "remembered.group.self"),
    ("talk", "remembered.group.talk"),
    ("thought", "remembered.group.thought"),
    ("recalled", "remembered.recalled_talk"),
    ("told", "remembered.overheard"),
)
_SELF_HEADINGS = ("You have also told of yourself:", "自分についてこれまでに話したこと:")
_NOTES = re.compile(r"[.。!?]?(?P<source>, as [^()]*? has it)?(?P<notes>(?: ?\([^()]*\))*)")
"""What a line says of a statement behind it."""
_DATE = re.compile(r"\([^()]*\)$")
_ENDS = ".。!?！？ "


@dataclass(frozen=True, kw_only=True, slots=True)
class Stand:
    """How a statement stands in one place: in what form, from whom ("": nobody), marked as what."""

    form: Form
    teller: str = ""
    is_unsure: bool = False
    is_before: bool = False
    is_marked: bool = False
    """It is told as planned, only supposed, or in jest."""
    has_source: bool = False
    """With whom the teller has it from."""

    @property
    def is_bare(self) -> bool:
        """Whether it reads as a fact that nobody has told."""
        return self.form == "bare"

    @property
    def stands(self) -> bool:
        """Whether it reads as what is so now, whoever told it."""
        return not self.is_unsure and not self.is_before


def stands_in(
    told: Sequence[Message] | str, statement: str, language: Language, said: Iterable[str] = ()
) -> list[Stand]:
    """Each place where the statement stands, whole, in a prompt or a text; not where it is part of a line that somebody
    `said`.
    """
    text = told if isinstance(told, str) else "\n".join(one.content for one in told)
    wanted = normal(statement).rstrip(_ENDS)
    spoken = [one for each in said for one in map(normal, each.split("\n")) if wanted in one]
    return list(_places(text, wanted, language, spoken)) if wanted in normal(text) else []


def is_in(told: Sequence[Message] | str, statement: str) -> bool:
    """Whether the statement stands there at all, whole."""
    text = told if isinstance(told, str) else "\n".join(one.content for one in told)
    return normal(statement).rstrip(_ENDS) in normal(text)


def _places(text: str, wanted: str, language: Language, spoken: Sequence[str]) -> Iterator[Stand]:
    heading = ""
    for raw in text.split("\n"):
        line = normal(raw)
        start = -1 if any(one in line for one in spoken) else line.find(wanted)
        while start >= 0:
            yield _stand(line, start, start + len(wanted), heading, language)
            start = line.find(wanted, start + 1)
        if not raw.lstrip().startswith("- "):
            heading = raw.strip()


def _stand(line: str, start: int, end: int, heading: str, language: Language) -> Stand:
    form, teller = _form(line[:start], heading, language)
    found = _NOTES.match(line, end)
    notes = (found["source"] or "") + found["notes"] if found else ""
    before = normal(sentence(language, "remembered.before", text="")).strip()
    source = normal(sentence(language, "remembered.by_way_of", text="", source="\1")).partition("\1")[0]
    return Stand(
        form=form,
        teller=teller,
        is_unsure=any(normal(sentence(one, "remembered.unsure")) in notes for one in languages()),
        is_before=_DATE.sub("", line[:start].rstrip()).rstrip().endswith(before),
        is_marked=any(mark in notes for mark in _marks(language)),
        has_source=source.strip(" ,(") in notes,
    )


def _form(before: str, heading: str, language: Language) -> tuple[Form, str]:
    """The form of a line by what stands in it before the statement."""
    for form, pattern in _openings(language):
        found = pattern.search(before)
        if found:
            return form, (found.groupdict().get("name") or "").strip("- ")
    return ("self", "") if heading in _SELF_HEADINGS else ("bare", "")


@cache
def _openings(language: Language) -> tuple[tuple[Form, re.Pattern[str]], ...]:
    found = []
    for form, key in _GROUPS:
        said = normal(sentence(language, key, name="\1", told="\2", summary="\2", text="\2"))
        opening = re.escape(said.partition("\2")[0].rstrip())
        found.append((form, re.compile(opening.replace(re.escape("\1"), "(?P<name>[^:]+?)"))))
    return tuple(found)


@cache
def _marks(language: Language) -> tuple[str, ...]:
    return tuple(normal(sentence(language, f"remembered.meant.{mode}")) for mode in ("planned", "supposed", "joking"))
