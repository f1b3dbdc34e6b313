"""Owns how the outcome of a check becomes its row."""

from collections.abc import Callable
from typing import Any

from service.quality.improve import Improved, T
from service.quality.marks import lowest, stored
from service.store.quality import Tally
from service.store.tables import QualityRow


def row_of(found: Improved[T], line_of: Callable[[T], str], *, tally: Tally, **more: Any) -> QualityRow:
    """The row; `at` is set by whoever writes it. `more` says of what it is."""
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
