"""Owns the pass over a whole cast: what its authors wrote of the same person, and cannot both be true. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, groupby

from service.content.load import Cast
from service.content.profile import CharacterProfile, NpcProfile
from service.memory.comparison import contradict, excludes, is_other_than


@dataclass(frozen=True, kw_only=True)
class Written:
    """A sentence of somebody's file about the person `about`."""

    about: str
    file: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Clash:
    """Two sentences that exclude each other."""

    one: Written
    other: Written


def clashes(cast: Cast) -> list[Clash]:
    """All pairs, in the order of whom they are about. Secrets are left out: they may be kept by a lie."""
    by_person = groupby(sorted(_written(cast), key=lambda one: one.about), key=lambda one: one.about)
    return [
        Clash(one=one, other=other)
        for _, written in by_person
        for one, other in combinations(list(written), 2)
        if _exclude(one.text, other.text, cast.names)
    ]


def _written(cast: Cast) -> Iterator[Written]:
    """A sentence that begins with a name is about that person; another one about whose file it stands in."""
    people: dict[str, CharacterProfile | NpcProfile] = {**cast.npcs, **cast.characters}
    by_name = {person.name: person_id for person_id, person in people.items()}
    for person in people.values():
        file = f"{'npcs' if person.kind == 'npc' else 'characters'}/{person.id}.yaml"
        for text in person.settled:
            named = next((person_id for name, person_id in by_name.items() if text.startswith(name)), person.id)
            yield Written(about=named, file=file, text=text)


def _exclude(one: str, other: str, names: frozenset[str]) -> bool:
    return (
        contradict(one, other, names)
        or excludes(one, other)
        or excludes(other, one)
        or is_other_than(one, other)
        or is_other_than(other, one)
    )
