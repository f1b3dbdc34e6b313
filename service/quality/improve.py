"""Owns the course of a check: what does not do is made again with what was found wrong, then corrected, where that is
allowed; else the best of it is taken. A judge that fails spoils nothing.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from service.errors import ModelError
from service.quality.marks import Marks, below, lowest, rank, stored
from service.settings import QualitySettings
from service.store.quality import QualityOutcome, Tally
from service.store.tables import QualityRow

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Work(Protocol[T]):
    """Something that is made, marked and made again. Each call of a model is counted in `tally`, one that fails too."""

    tally: Tally

    async def marks(self, value: T) -> Marks:
        """How good it is. Raises: ModelError: the judge failed."""

    async def again(self, value: T, reasons: Sequence[str]) -> T | None:
        """It, made anew; None: what came cannot be used. Raises: ModelError."""

    async def correct(self, value: T, reasons: Sequence[str]) -> T | None:
        """It, with what is wrong taken out; None: what came cannot be used. Raises: ModelError."""


@dataclass(frozen=True, kw_only=True)
class Tried(Generic[T]):
    """Something that was marked, and what it is if it passes."""

    value: T
    marks: Marks
    outcome: QualityOutcome


@dataclass(frozen=True, kw_only=True)
class Improved(Generic[T]):
    """What is taken, with its marks (none where the judge failed at once), and what else was marked, in order."""

    value: T
    outcome: QualityOutcome
    marks: Marks
    refused: tuple[Tried[T], ...] = ()
    failure: ModelError | None = None


async def improve(work: Work[T], first: T, rules: QualitySettings) -> Improved[T]:
    """The first of all that reaches the threshold, else the best."""
    tried: list[Tried[T]] = []
    failure: ModelError | None = None
    try:
        await _try_all(work, first, rules, tried)
    except ModelError as exc:
        _log.warning("a check of quality failed: %s", exc)
        failure = exc
    if not tried:
        return Improved(value=first, outcome="unscored", marks={}, failure=failure)
    best = _best(tried)
    return Improved(
        value=best.value,
        outcome=best.outcome if lowest(best.marks) >= rules.threshold else "best",
        marks=best.marks,
        refused=tuple(one for one in tried if one is not best),
        failure=failure,
    )


def row_of(found: Improved[T], line_of: Callable[[T], str], *, tally: Tally, **more: Any) -> QualityRow:
    """The row of a check; `at` is set by whoever writes it. `more` says of what it is."""
    return QualityRow(
        line=line_of(found.value),
        outcome=found.outcome,
        lowest=lowest(found.marks) if found.marks else None,
        marks=stored(found.marks),
        refused=[{"line": line_of(one.value), "marks": stored(one.marks)} for one in found.refused],
        failure=found.failure.slug if found.failure else None,
        calls=tally.usage.calls,
        failures=tally.failures,
        prompt_tokens=tally.usage.prompt_tokens,
        completion_tokens=tally.usage.completion_tokens,
        duration_ms=tally.usage.milliseconds,
        at=0,
        **more,
    )


async def _try_all(work: Work[T], first: T, rules: QualitySettings, tried: list[Tried[T]]) -> None:
    """Add to `tried` what was made and marked, until something passes.

    Raises:
        ModelError: a model failed.
    """

    async def passes(value: T | None, outcome: QualityOutcome) -> bool:
        if value is not None:
            tried.append(Tried(value=value, marks=await work.marks(value), outcome=outcome))
        return lowest(tried[-1].marks) >= rules.threshold

    if await passes(first, "passed"):
        return
    for _ in range(rules.attempts):
        last = tried[-1]
        if await passes(await work.again(last.value, below(last.marks, rules.threshold)), "again"):
            return
    if rules.correct:
        best = _best(tried)
        await passes(await work.correct(best.value, below(best.marks, rules.threshold)), "corrected")


def _best(tried: Sequence[Tried[T]]) -> Tried[T]:
    """The earliest of the best."""
    return max(tried, key=lambda one: rank(one.marks))
