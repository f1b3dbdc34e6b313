"""Owns what a run costs: calls, tokens, and money by the prices of the settings (`KATARIBE_LLM__PRICES`)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Spent = Counter[str]
"""How much of each of `COUNTED` was spent. `failures` are calls that gave no answer to use; `estimated` are days of
which some tokens were.
"""

COUNTED = ("calls", "failures", "prompt_tokens", "completion_tokens", "money", "estimated")


def spent_on(usage: Any) -> Spent:
    """What a `Usage` says, or a row of a world's usage."""
    return Counter({name: getattr(usage, name) for name in COUNTED})


def spent_by_role(usage: Iterable[Any]) -> dict[str, Spent]:
    """The sums of a world's rows of usage (`World.usage`)."""
    spent: defaultdict[str, Spent] = defaultdict(Counter)
    for row in usage:
        spent[row.role] += spent_on(row)
    return spent


def counted(spent: Spent) -> dict[str, float]:
    """As it is written down."""
    return {name: spent[name] for name in COUNTED}


def total(spent: Mapping[str, Spent]) -> Spent:
    """Of all roles."""
    return sum(spent.values(), Spent())


def money_of(spent: Spent) -> str:
    """The money, as text; "" where nothing that was asked has a price."""
    money = spent["money"]
    return f"{money:.4f}" if 0 < money < 1 else f"{money:.2f}" if money else ""
