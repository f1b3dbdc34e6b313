"""Owns the records of this package. `python -m tests.freeze.record [day calls openapi]` writes them anew.

Only somebody who has decided that what users see is to change writes a record anew, and says why in the commit.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.freeze.calls import answered
from tests.freeze.compare import first_difference
from tests.freeze.day import lived_day
from tests.freeze.openapi import description
from tests.freeze.script import Script

DIRECTORY = Path(__file__).parent / "on_record"


def on_record(name: str) -> Any:
    """The record of that name."""
    return json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))


def written(record: Mapping[str, Any]) -> str:
    """The record as its file holds it: a row of a list on a line of its own, so that people can read what changed."""
    parts = []
    for name, value in record.items():
        text = json.dumps(value, ensure_ascii=False, indent=1)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in value) + "\n]"
        parts.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _day(directory: Path) -> Mapping[str, Any]:
    """The same in both languages."""
    english = lived_day("en", directory / "en", Script())
    japanese = lived_day("ja", directory / "ja", Script())
    if told := first_difference(english, japanese):
        raise SystemExit(f"the day is not the same in both languages (on record: English; now: Japanese)\n{told}")
    return english


def _calls(directory: Path) -> Mapping[str, Any]:
    return answered("en", directory)


def _openapi(_: Path) -> Mapping[str, Any]:
    return description()


RECORDERS: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {"day": _day, "calls": _calls, "openapi": _openapi}


def main(names: list[str]) -> None:
    """Write the records of these names anew; all when none is named."""
    if unknown := set(names) - RECORDERS.keys():
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(RECORDERS)}")
    for name in names or RECORDERS:
        file = DIRECTORY / f"{name}.json"
        with tempfile.TemporaryDirectory() as directory:
            record = RECORDERS[name](Path(directory))
        told = first_difference(on_record(name), json.loads(written(record))) if file.exists() else "new"
        file.write_text(written(record), encoding="utf-8")
        print(f"{file}: {told or 'as before'}")


if __name__ == "__main__":
    main(sys.argv[1:])
