"""The day on record still happens as it did: who did what when, who talked with whom, how much is remembered of it."""

import json
from pathlib import Path

import pytest

from tests.freeze.compare import first_difference
from tests.freeze.day import lived_day
from tests.freeze.record import on_record
from tests.freeze.script import Script


@pytest.mark.long
def test_the_day_on_record_is_lived_again(tmp_path: Path) -> None:
    """In the other language than the record's, with a model that takes its time: neither changes the day."""
    lived = lived_day("ja", tmp_path, Script(longest_seconds=0.01, seed=1))
    told = first_difference(on_record("day"), json.loads(json.dumps(lived)))
    if told is not None:
        pytest.fail(f"{told}\nOnly if that is meant to change: python -m tests.freeze.record day", pytrace=False)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"calls": 3, "events": [["07:00", "decided"], ["07:02", "arrived"]]}, "events part at row 1 of 2"),
        ({"calls": 3, "events": [["07:00", "decided"]]}, "now:       the end"),
        ({"calls": 4, "events": [["07:00", "decided"], ["07:01", "arrived"]]}, "calls: 3 is on record, now it is 4"),
        ({"events": [["07:00", "decided"], ["07:01", "arrived"]]}, "calls: 3 is on record, now there is none"),
        ({"calls": 3, "events": [["07:00", "decided"], ["07:01", "arrived"]]}, None),
    ],
)
def test_the_first_difference_is_told(now: dict[str, object], told: str | None) -> None:
    recorded = {"calls": 3, "events": [["07:00", "decided"], ["07:01", "arrived"]]}
    difference = first_difference(recorded, now)
    assert difference is None if told is None else told in (difference or "")
