"""Owns the authored parts of people: what the plan names where a demography does not, and what a rehearsed person is
put together from. One file a language, in `parts/`.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

import yaml
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from service.public.files import Degree
from service.public.words import Language, languages

WORKING_AGE = 16
"""From here on people are grown up: they work, and may have a home of their own."""

Trait = Literal["openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism"]
"""One of the big five."""
TRAITS: tuple[Trait, ...] = get_args(Trait)
TieKind = Literal["partner", "parent", "child", "sibling", "friend", "colleague"]
Lives = Literal["", "alone", "couple", "family", "siblings", "shared"]
"""Who lives together: one; partners; parents with children; brothers and sisters; people who are not kin."""
OTHER_SIDE: Mapping[TieKind, TieKind] = {
    "partner": "partner",
    "parent": "child",
    "child": "parent",
    "sibling": "sibling",
    "friend": "friend",
    "colleague": "colleague",
}
"""What the one is to the other, where the other is this to it."""


class Tie(NamedTuple):
    """What the person of that number is to the slot's own: its "parent" has the tie "child" back."""

    number: int
    kind: TieKind


@dataclass(frozen=True, kw_only=True)
class PersonSlot:
    """One person of the plan. What is "" or empty is open: whoever makes the person finds it.

    `number` counts from 0; `seed` is all of its chance. `sex`, `work`, `temper` and `more` are as the demography names
    them. People of one `household` live together and share its `family_name`. `npc`: it stands at a post.
    """

    number: int
    seed: int
    age: int
    sex: str
    work: str
    temper: str
    household: int
    lives: Lives = ""
    family_name: str = ""
    npc: bool = False
    traits: Mapping[Trait, Degree] = field(default_factory=dict)
    ties: tuple[Tie, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict)


T = TypeVar("T")
Generation = Literal["young", "adult", "elder"]
GENERATIONS: tuple[Generation, ...] = get_args(Generation)


def _split(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]


class _Part(BaseModel, frozen=True, extra="forbid"):
    """A part of the file of authored parts."""


class Sex(_Part):
    """`also`: what else it is called. `me`: how such people speak of themselves, by generation and register. `polite`:
    how many more of them speak politely; `gruff`: whether the old ones among the others are gruff.
    """

    name: str
    also: tuple[str, ...] = ()
    given: Mapping[Generation, Names]
    me: Mapping[str, Names] = {}
    polite: float = 0
    gruff: bool = False


class Temper(_Part):
    """What somebody of this temper is like, and how it speaks."""

    name: str
    also: tuple[str, ...] = ()
    traits: Mapping[Trait, Degree] = {}
    polite: float = 0.5
    """How many of them speak politely."""
    personality: tuple[str, ...]
    tendencies: tuple[str, ...]
    lines: tuple[str, ...]
    replies: tuple[str, ...]


class WorkParts(_Part):
    """A work: in which places it is done (`places`: words in the ids and names of facilities; `tags` of theirs), in
    which years of life. `anywhere`: it asks for no such place, and belongs to none.
    """

    name: str
    also: tuple[str, ...] = ()
    places: Names = ()
    tags: Names = ()
    anywhere: bool = False
    ages: tuple[int, int] = (16, 74)
    facts: tuple[str, ...]
    lines: tuple[str, ...]
    goals: tuple[str, ...]
    skills: tuple[str, ...]
    acts: tuple[str, ...]


class OfLife(_Part):
    """Something of somebody's life: what it likes to do, has lived through, wants, or oddly does; and what it says of
    it.
    """

    what: str = Field(validation_alias=AliasChoices("like", "event", "goal", "behavior"))
    line: str
    fact: str = ""
    since: int = 0
    """From which age on it may be somebody's."""
    weight: int = 6
    """How much it matters, of 1 to 10."""


class Pool(_Part):
    """Parts for people of some ages."""

    pastimes: tuple[OfLife, ...]
    pasts: tuple[OfLife, ...]
    quirks: tuple[OfLife, ...]
    wishes: tuple[OfLife, ...]
    beliefs: tuple[str, ...]
    tendencies: tuple[str, ...]
    dislikes: tuple[str, ...]
    manners: tuple[str, ...]
    greetings: tuple[str, ...]
    smalltalk: tuple[str, ...]
    asks: tuple[str, ...]
    thanks: tuple[str, ...]
    farewells: tuple[str, ...]


class Tied(_Part):
    """What a tie is called, and what those who have it say."""

    told: tuple[str, ...]
    facts: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


class Parts(_Part):
    """All parts of a language."""

    ages: tuple[str, ...]
    sexes: Mapping[str, Sex]
    family: Names
    joint: str
    """How family name and given name stand together."""
    beside: str
    """How two sentences do."""
    tempers: Mapping[str, Temper]
    works: Mapping[str, WorkParts]
    any_work: WorkParts
    """For works that have no parts of their own; `{work}` is what it is called."""
    no_work: WorkParts
    pupil: WorkParts
    infant: WorkParts
    child: Pool
    adult: Pool
    ties: Mapping[str, Tied]
    """By the kind of tie, `elder` and `younger` of siblings; behind it the other's sex, where there is a word for it:
    `child_female`.
    """
    alone: Tied
    day: Mapping[str, tuple[str, ...]]
    """What somebody does at home, at work, …, in words."""


@cache
def parts(language: Language) -> Parts:
    """The parts of that language."""
    text = (Path(__file__).parent / "parts" / f"{language}.yaml").read_text("utf-8")
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return Parts.model_validate(yaml.load(text, loader))  # noqa: S506 - both are safe loaders


def found(kind: Literal["sexes", "tempers", "works"], name: str) -> str | None:
    """The id of the part that is called so in any language; None: there is none."""
    wanted = name.strip().casefold()
    for language in languages():
        for part_id, part in getattr(parts(language), kind).items():
            if wanted in {part_id, part.name.casefold(), *(one.casefold() for one in part.also)}:
                return str(part_id)
    return None


def deal(slot: PersonSlot, pool: str, items: Sequence[T], most: int = 1) -> list[T]:
    """So many of the items, dealt out by the slot's number: in a plan all come before one comes a second time."""
    hands = max(1, len(items) // most)
    lap, hand = divmod(slot.number, hands)
    order = list(items)
    random.Random(f"{slot.seed - slot.number}:{pool}:{lap}").shuffle(order)
    return order[hand * most : (hand + 1) * most]
