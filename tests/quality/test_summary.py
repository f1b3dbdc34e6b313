"""What many checks come to: outcomes, means over time, and the worst lines first."""

from typing import Any

from service.quality.summary import QualitySummary, summed
from service.settings import QualitySettings
from service.store.tables import QualityRow
from tests.runtime.worlds import marked
from world.time import WorldTime, iso

HOUR, DAY = 60, 1440


def row(number: int, at: int, *scores: int, **more: Any) -> QualityRow:
    """A line with marks for the person, and for what is said."""
    marks = {name: [score, "So."] for name, score in zip(("persona", "fluency"), scores, strict=False)}
    lowest = min(scores, default=None)
    return marked("main", f"aoi@{number}", "aoi", at=at, marks=marks, lowest=lowest, **more)


def _summed(*rows: QualityRow) -> QualitySummary:
    return summed(rows, QualitySettings(), str, worst=9)


def test_means_are_of_what_was_marked_and_what_is_below_the_threshold_is_counted() -> None:
    found = _summed(row(0, 0, 9, 5), row(1, 1, 6), row(2, 2, outcome="unscored"))
    means = {one.dimension: (one.mean, one.below) for one in found.means}
    assert (found.checked, found.outcomes.passed, found.outcomes.unscored) == (3, 2, 1)
    assert means["persona"] == (7.5, 1)
    assert means["fluency"] == (5.0, 1)
    assert means["similarity"] == (None, 0)
    assert found.cost.model_dump()["calls"] == 3


def test_what_lies_within_three_days_is_told_by_the_hour_and_else_by_the_day() -> None:
    short = _summed(row(0, 30, 9), row(1, 59, 7), row(2, 61, 5))
    hours = [(iso(WorldTime(0)), 2, 8), (iso(WorldTime(HOUR)), 1, 5)]
    assert [(one.at, one.checked, one.means[0].mean) for one in short.spans] == hours
    long = _summed(row(0, 30, 9), row(1, 61, 7), row(2, 5 * DAY + 1, 5))
    days = [(iso(WorldTime(0)), 2), (iso(WorldTime(5 * DAY)), 1)]
    assert [(one.at, one.checked) for one in long.spans] == days
