"""Owns what a run costs: calls and tokens by role, and the money where prices are given."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Spent = Counter[str]
"""How often each of `COUNTED` was counted. `failures` are calls that gave no answer to use; `estimated` are days of
which some tokens were.
"""

COUNTED = ("calls", "failures", "prompt_tokens", "completion_tokens", "estimated")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Money for a million tokens, in whatever currency the user pays."""

    prompt: float
    completion: float

    def of(self, spent: Spent) -> str:
        """The money, as text."""
        money = (spent["prompt_tokens"] * self.prompt + spent["completion_tokens"] * self.completion) / 1_000_000
        return f"{money:.4f}" if money < 1 else f"{money:.2f}"


def spent_by_role(usage: Iterable[Any]) -> dict[str, Spent]:
    """The sums of a world's rows of usage (`World.usage`)."""
    spent: defaultdict[str, Spent] = defaultdict(Counter)
    for row in usage:
        spent[row.role].update({name: int(getattr(row, name)) for name in COUNTED})
    return spent


def counted(spent: Spent) -> dict[str, int]:
    """As it is written down."""
    return {name: spent[name] for name in COUNTED}


def total(spent: Mapping[str, Spent]) -> Spent:
    """Of all roles."""
    return sum(spent.values(), Spent())
