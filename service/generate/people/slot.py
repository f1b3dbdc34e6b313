"""Owns one person of a plan, before it is made: what is decided of it, and to whom it is tied."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from service.content.persona import Degree

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
class Slot:
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
