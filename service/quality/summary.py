"""Owns what many checks come to: how many did, the mean of each dimension over time, and the worst lines. Pure."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from pydantic import Field

from service.quality.checks import DIMENSIONS, Dimension, Mark
from service.settings import SCORED, QualitySettings, ScoredRole
from service.store.quality import QualityOutcome
from service.store.shown import Out, WorldTimeText
from service.store.tables import QualityRow
from service.store.usage import CostOut
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


class QualityRule(Out):
    """How many of a role's answers are checked."""

    role: ScoredRole = Field(description="what characters say, what NPCs say, or what characters decide")
    share: float = Field(description="the share that is checked, from 0 to 1")


class QualityRules(Out, of=QualitySettings, shows="threshold attempts correct"):
    """What is checked from now on, as the service is set."""

    shares: list[QualityRule] = Field(description="one for each role")


class QualityOutcomes(Out):
    """What became of all that was checked."""

    passed: int = Field(description="as it was first made")
    again: int = Field(description="made again, with what was found wrong")
    corrected: int = Field(description="corrected by the model that scores")
    best: int = Field(description="nothing passed: the best of it was taken")
    unscored: int = Field(description="taken without marks, because the model that scores failed")


class DimensionMark(Out, of=Mark, shows="score reason"):
    """A score, and why."""

    dimension: Dimension = Field(description="what was scored")


class RefusedLine(Out):
    """A line that was not taken."""

    line: str = Field(description="the words, or the decision")
    marks: list[DimensionMark] = Field(description="those that it was given")


class WorstLine(Out, of=QualityRow, shows="person_id line conversation_id turn model at"):
    """A line that was taken, with its marks."""

    role: ScoredRole = Field(description="what characters say, what NPCs say, or what characters decide")
    name: str = Field(description="name of that person")
    lowest: int = Field(description="the lowest of its scores")
    marks: list[DimensionMark] = Field(
        description="its marks; where a rule found a fault, those of a model are left out"
    )
    outcome: QualityOutcome = Field(description="how it came to be taken")
    refused: list[RefusedLine] = Field(description="what else was made, and was not taken")


class QualitySummary(Out):
    """How good it was found to be."""

    checked: int = Field(description="how many turns and decisions were checked")
    means: tuple[Mean, ...] = Field(description="one for each dimension, over all of them")
    spans: tuple[Span, ...] = Field(description="the same over time")
    failures: int = Field(description="calls of it that gave nothing that could be used")
    rules: QualityRules = Field(description="what is checked from now on")
    outcomes: QualityOutcomes = Field(description="what became of them")
    worst: list[WorstLine] = Field(description="the lines with the lowest scores; the newest of equals first")
    rehearsal: bool = Field(description="true: the rehearsal scored some of it, which judges nothing")
    cost: CostOut = Field(description="all that the checks came to, with what was made again")


def summed(
    rows: Sequence[QualityRow],
    settings: QualitySettings,
    name_of: Callable[[str], str],
    *,
    worst: int,
    rehearsal: str = "",
) -> QualitySummary:
    """Of these rows, which are in order of time; so many of the worst. `rehearsal` is the name of the model that judges
    nothing.
    """
    marked = sorted((row for row in rows if row.lowest is not None), key=lambda row: (row.lowest, -row.at, row.id))
    lived = rows[-1].at - rows[0].at if rows else 0
    became = Counter(row.outcome for row in rows)
    return QualitySummary(
        checked=len(rows),
        means=_means(rows),
        spans=tuple(_spans(rows, MINUTES_PER_HOUR if lived < _BY_THE_HOUR else MINUTES_PER_DAY)),
        failures=sum(row.failures for row in rows),
        rules=QualityRules.of(settings, shares=[{"role": role, "share": settings.of(role)} for role in SCORED]),
        outcomes=QualityOutcomes(**{name: became[name] for name in QualityOutcomes.model_fields}),
        worst=[
            WorstLine.of(
                row,
                name=name_of(row.person_id),
                marks=_marks(row.marks),
                refused=[{"line": one["line"], "marks": _marks(one["marks"])} for one in row.refused],
            )
            for row in marked[:worst]
        ],
        rehearsal=any(row.model == rehearsal for row in rows),
        cost=CostOut(
            calls=sum(row.calls for row in rows),
            prompt_tokens=sum(row.prompt_tokens for row in rows),
            completion_tokens=sum(row.completion_tokens for row in rows),
        ),
    )


def _marks(stored: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"dimension": name, "score": stored[name][0], "reason": stored[name][1]}
        for name in DIMENSIONS
        if name in stored
    ]


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
