"""Owns which of the answers are kept: whoever is nearly another one, by name, by what it is like, by its lines or by
all its words, is not. It is decided in the order of the people's numbers, whichever came first. Pure.

An answer that is nearly somebody else is made again, and so is one of no use; where that does not help, the person is
dropped. Another go begins anew with those who are missing.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from service.public.files import Profile
from studio.generate.near import Distinct
from studio.generate.people.asking import MadePerson, words_of

_KATAKANA, _HIRAGANA = range(ord("ァ"), ord("ヶ") + 1), ord("ァ") - ord("ぁ")


class Persona(NamedTuple):
    """What is compared of a person."""

    name: str
    traits: str
    speech: str
    wording: str

    @classmethod
    def of(cls, person: MadePerson | Profile, wording: str) -> "Persona":
        """Of a made person, or of one who is there; `wording`: all that is written of it."""
        return cls(person.name, "\n".join((person.personality, *person.tendencies)), "\n".join(person.lines), wording)


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


ATTEMPTS = 3
"""Answers that one person may have in a go."""
_NO_USE = 2
"""So many answers of no use are enough in a go."""


Answered = MadePerson | Fault | None
"""An attempt: a person, why it is none, or not made yet."""


@dataclass(kw_only=True)
class Standing:
    """What the answers amount to: the `kept` people by number; or the next attempts that are `wanted`, with what was
    `wrong` before; when none is wanted, who is `dropped` and why. `doubles` are answers that were nearly somebody.
    """

    kept: dict[int, MadePerson] = field(default_factory=dict)
    wanted: list[tuple[int, int]] = field(default_factory=list)
    wrong: dict[int, Fault] = field(default_factory=dict)
    dropped: dict[int, Fault] = field(default_factory=dict)
    doubles: int = 0


def stand(
    numbers: Collection[int], answered: Callable[[int, int], Answered], crowd: Crowd, *, goes: int = 1
) -> Standing:
    """What the answers to the attempts of these people amount to, in so many goes. `answered` has them by number and
    attempt; `crowd` are those who are there already, and becomes all who are kept.
    """
    standing = Standing()
    for go in range(goes):
        trying, in_vain = sorted(set(numbers) - standing.kept.keys()), Counter[int]()
        for attempt in range(go * ATTEMPTS, (go + 1) * ATTEMPTS):
            answers = {number: answered(number, attempt) for number in trying}
            standing.wanted = [(number, attempt) for number, answer in answers.items() if answer is None]
            if standing.wanted:
                return standing
            for number, answer in answers.items():
                fault = crowd.join(Persona.of(answer, words_of(answer))) if isinstance(answer, MadePerson) else answer
                if isinstance(answer, MadePerson) and fault is None:
                    standing.kept[number] = answer
                elif fault is not None:
                    standing.wrong[number] = fault
                    standing.doubles += bool(fault.like)
                    in_vain[number] += not fault.like
            trying = [one for one in trying if one not in standing.kept and in_vain[one] < _NO_USE]
    standing.dropped = {one: fault for one, fault in sorted(standing.wrong.items()) if one not in standing.kept}
    return standing
