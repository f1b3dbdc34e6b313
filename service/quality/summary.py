"""Owns what many checks come to: how many did, the mean of each dimension over time, and the worst lines. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from pydantic import Field

from service.quality.checks import DIMENSIONS, Dimension
from service.store.shown import Out, WorldTimeText
from service.store.tables import QualityRow
from service.usage import Usage
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR

_BY_THE_HOUR = 3 * MINUTES_PER_DAY
"""What was checked within so many minutes is shown by the hour, else by the day."""


class Mean(Out):
    """One dimension."""

    dimension: Dimension = Field(
        description="persona (fits the person), consistency (contradicts nothing of its own), fluency (well said), "
        "suitability (fits the moment), similarity (9: like nothing it said before)"
    )
    mean: float | None = Field(description="the mean score, 0 to 9; null: nothing was marked in it")
    below: int = Field(description="how many of the lines that were taken are below the threshold")


class Span(Out):
    """What was checked in an hour, or on a day where it is more than three days in all."""

    at: WorldTimeText = Field(description="when the hour or day begins")
    checked: int = Field(description="how many were checked")
    means: tuple[Mean, ...] = Field(description="one for each dimension")


@dataclass(frozen=True, kw_only=True)
class QualitySummary:
    """All of it; `outcomes` are in store/quality.py. `worst` are lines that were taken, the lowest first, the newest of
    equals.
    """

    outcomes: Counter[str]
    means: tuple[Mean, ...]
    """one for each dimension, over all of them"""
    spans: tuple[Span, ...]
    """the same over time"""
    worst: tuple[QualityRow, ...]
    usage: Usage
    failures: int
    """calls of it that gave nothing that could be used"""

    @property
    def checked(self) -> int:
        """How many turns and decisions were checked."""
        return self.outcomes.total()


def summed(rows: Sequence[QualityRow], *, worst: int) -> QualitySummary:
    """Of these rows, which are in order of time; so many of the worst."""
    marked = sorted((row for row in rows if row.lowest is not None), key=lambda row: (row.lowest, -row.at, row.id))
    lived = rows[-1].at - rows[0].at if rows else 0
    minutes = MINUTES_PER_HOUR if lived < _BY_THE_HOUR else MINUTES_PER_DAY
    return QualitySummary(
        outcomes=Counter(row.outcome for row in rows),
        means=_means(rows),
        spans=tuple(_spans(rows, minutes)),
        worst=tuple(marked[:worst]),
        usage=Usage(
            calls=sum(row.calls for row in rows),
            prompt_tokens=sum(row.prompt_tokens for row in rows),
            completion_tokens=sum(row.completion_tokens for row in rows),
            milliseconds=sum(row.duration_ms for row in rows),
        ),
        failures=sum(row.failures for row in rows),
    )


def _spans(rows: Sequence[QualityRow], minutes: int) -> Iterator[Span]:
    for at, group in groupby(rows, key=lambda row: row.at // minutes * minutes):
        some = list(group)
        yield Span(at=at, checked=len(some), means=_means(some))


def _means(rows: Sequence[QualityRow]) -> tuple[Mean, ...]:
    found = []
    for name in DIMENSIONS:
        scores = [(int(row.marks[name][0]), row.threshold) for row in rows if name in row.marks]
        mean = round(fmean(score for score, _ in scores), 2) if scores else None
        found.append(Mean(dimension=name, mean=mean, below=sum(score < wanted for score, wanted in scores)))
    return tuple(found)
