"""Demographies by chance."""

from typing import Any

from hypothesis import strategies as st

from studio.generate.people.plan import HOUSEHOLDS, DemographyFile

SHARES = st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any)
_AGES = ("0-9", "10-17", "18-29", "30-44", "45-64", "65-99")


def as_shares(names: tuple[str, ...], weights: list[int]) -> dict[str, float]:
    given = dict(zip(names, weights, strict=False))
    given[names[0]] = given[names[0]] or not any(given.values())
    return {name: weight / sum(given.values()) for name, weight in given.items()}


@st.composite
def demographies(draw: st.DrawFn) -> DemographyFile:
    def some(*names: str) -> dict[str, float]:
        return as_shares(names, draw(SHARES)) if draw(st.booleans()) else {}

    values: dict[str, Any] = {
        "age": some(*_AGES),
        "sex": some("woman", "man", "neither"),
        "work": some("baker", "inn", "astronaut", "fish", "retired"),
        "temper": some("merry", "shy", "like a cat"),
        "ties": {"households": some(*HOUSEHOLDS), "friends": draw(st.floats(0, 4))},
        "more": {"speech": as_shares(("dialect", "plain"), draw(SHARES))},
        "npcs": draw(st.none() | st.floats(0, 1)),
    }
    return DemographyFile.model_validate(values)
