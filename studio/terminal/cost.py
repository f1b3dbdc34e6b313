"""Owns what a run costs: calls and tokens by role, and the money where prices are given."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from sqlmodel import Session

from service.store.usage import usage_rows

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


def prices_of(prompt: float | None, completion: float | None) -> Prices | None:
    """The prices that the user gives; None: none."""
    if prompt is None and completion is None:
        return None
    return Prices(prompt=prompt or 0, completion=completion or 0)


def spent_by_role(session: Session, world_id: str) -> dict[str, Spent]:
    """All that the world has cost since it began."""
    spent: defaultdict[str, Spent] = defaultdict(Counter)
    for row in usage_rows(session, world_id):
        spent[row.role].update({name: int(getattr(row, name)) for name in COUNTED})
    return spent


def counted(spent: Spent) -> dict[str, int]:
    """As it is written down."""
    return {name: spent[name] for name in COUNTED}


def total(spent: Mapping[str, Spent]) -> Spent:
    """Of all roles."""
    return sum(spent.values(), Spent())
