"""Owns the course of a check: which of many are looked at; what does not do is made again with what was found wrong,
then corrected, where that is allowed; else the best of it is taken. A judge that fails spoils nothing.
"""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from service.errors import ModelError
from service.quality.checks import Marks, below, lowest, rank, stored
from service.settings import QualitySettings
from service.store.quality import Checked, QualityOutcome, Tally
from service.store.tables import QualityRow

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Work(Protocol[T]):
    """Something that is made, marked and made again. Each call of a model is counted in `tally`, one that fails too."""

    tally: Tally

    def line(self, value: T) -> str:
        """Its words, as they are judged."""

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


async def improve(work: Work[T], first: T, rules: QualitySettings, **of: Any) -> Checked[T]:
    """The first of all that reaches the threshold, else the best; without marks where the judge failed at once. `of`
    says in its row of what it is; the row's `model` is set by whoever knows the judge.
    """
    tried: list[Tried[T]] = []
    failure: ModelError | None = None
    try:
        await _try_all(work, first, rules, tried)
    except ModelError as exc:
        _log.warning("a check of quality failed: %s", exc)
        failure = exc
    best = _best(tried) if tried else Tried(value=first, marks={}, outcome="unscored")
    tally = work.tally
    row = QualityRow(
        line=work.line(best.value),
        outcome="best" if best.marks and lowest(best.marks) < rules.threshold else best.outcome,
        lowest=lowest(best.marks) if best.marks else None,
        marks=stored(best.marks),
        refused=[{"line": work.line(one.value), "marks": stored(one.marks)} for one in tried if one is not best],
        failure=failure.slug if failure else None,
        threshold=rules.threshold,
        model="",
        calls=tally.usage.calls,
        failures=tally.failures,
        prompt_tokens=tally.usage.prompt_tokens,
        completion_tokens=tally.usage.completion_tokens,
        duration_ms=tally.usage.milliseconds,
        **of,
    )
    return Checked(value=best.value, row=row, tally=tally)


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


_ALL = 2**64


def is_sampled(share: float, *what: object) -> bool:
    """Whether the thing of that name is one of the `share` (0..1) of all things."""
    if share <= 0:
        return False
    name = "/".join(map(str, what)).encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") < share * _ALL
