"""Owns whether a person is nearly another one: by name, by what it is like, by its lines, by all its words. Pure."""

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from service.generate.near import Distinct

_KATAKANA, _HIRAGANA = range(ord("ァ"), ord("ヶ") + 1), ord("ァ") - ord("ぁ")


class Persona(NamedTuple):
    """What is compared of a person."""

    name: str
    traits: str
    speech: str
    wording: str


class Fault(NamedTuple):
    """Why an answer is not kept: a `reason` of `people_make.dropped` in the locales; whom it is nearly, if anybody."""

    reason: str
    like: str = ""


class Crowd:
    """People of whom none is nearly another one."""

    def __init__(self, there: Iterable[Persona] = ()) -> None:
        """`there`: people who stay, alike or not."""
        self._people: list[Persona] = []
        self._names: dict[str, int] = {}
        self._near = {
            "traits": Distinct(lambda number: self._people[number].traits),
            "speech": Distinct(lambda number: self._people[number].speech),
            "wording": Distinct(lambda number: self._people[number].wording),
        }
        for persona in there:
            self._add(persona)

    def join(self, persona: Persona) -> Fault | None:
        """Take it in, unless it is nearly somebody who is there: whom, and by what."""
        alike = {by: near.like(getattr(persona, by)) for by, near in self._near.items()}
        for by, like in {"name": self._names.get(folded_name(persona.name)), **alike}.items():
            if like is not None:
                return Fault(f"same_{by}", self._people[like].name)
        self._add(persona)
        return None

    def _add(self, persona: Persona) -> None:
        number = len(self._people)
        self._people.append(persona)
        self._names.setdefault(folded_name(persona.name), number)
        for by, near in self._near.items():
            near.add(number, getattr(persona, by))


def folded_name(name: str) -> str:
    """The name as it is compared: without width, case and spaces, katakana as hiragana."""
    letters = unicodedata.normalize("NFKC", name).casefold()
    return "".join(
        chr(ord(letter) - _HIRAGANA) if ord(letter) in _KATAKANA else letter for letter in letters if letter.isalnum()
    )
