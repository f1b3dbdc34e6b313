"""Owns what a run costs: calls and tokens by role, and the money where prices are given."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlmodel import Session

from service.store.usage import usage_rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """Calls and tokens. `failures` are calls that gave no answer to use."""

    calls: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: "Spent") -> "Spent":
        return self._with(other, 1)

    def __sub__(self, other: "Spent") -> "Spent":
        return self._with(other, -1)

    def _with(self, other: "Spent", sign: int) -> "Spent":
        return Spent(
            calls=self.calls + sign * other.calls,
            failures=self.failures + sign * other.failures,
            prompt_tokens=self.prompt_tokens + sign * other.prompt_tokens,
            completion_tokens=self.completion_tokens + sign * other.completion_tokens,
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Money for a million tokens, in whatever currency the user pays."""

    prompt: float
    completion: float

    def of(self, spent: Spent) -> str:
        """The money, as text."""
        money = (spent.prompt_tokens * self.prompt + spent.completion_tokens * self.completion) / 1_000_000
        return f"{money:.4f}" if money < 1 else f"{money:.2f}"


def spent_by_role(session: Session, world_id: str) -> dict[str, Spent]:
    """All that the world has cost since it began."""
    spent: dict[str, Spent] = {}
    for row in usage_rows(session, world_id):
        of_day = Spent(
            calls=row.calls,
            failures=row.failures,
            prompt_tokens=row.prompt_tokens,
            completion_tokens=row.completion_tokens,
            estimated=row.estimated,
        )
        spent[row.role] = spent.get(row.role, Spent()) + of_day
    return spent


def total(spent: Mapping[str, Spent]) -> Spent:
    """Of all roles."""
    return sum(spent.values(), Spent())
