"""Runs benchmarks by name and writes ``benchmarks/results/<name>.json``."""

import argparse
import importlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.neo4j import NotHere

NAMES = (
    "memory",
    "promises",
    "secrets",
    "turn",
    "rush",
    "player",
    "load",
    "resident",
    "start",
    "closing",
    "answer",
    "recall",
    "evidence",
    "world",
    "offline",
    "cassette",
    "cost",
    "prefix",
    "people",
    "quality",
    "scene",
    "size",
    "footprint",
    "kills",
    "talks",
    "page",
)
SHARED = {"kills": "load", "resident": "load"}
"""Benchmarks whose figures stand with those of another one, in one file."""
RESULTS = Path(__file__).parent / "results"
START = Path(__file__).parents[1] / "tests" / "freeze" / "on_record" / "bench.json"
"""Figures of the start of the rebuild, by benchmark: shown beside those of today."""

Figures = Mapping[str, float]


def main() -> None:
    """Run the benchmarks named on the command line; all when none is."""
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all")
    names = parser.parse_args().names or list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    left_out = 0
    for name in names:
        try:
            figures: Figures = importlib.import_module(f"benchmarks.{name}").run()
        except NotHere as exc:
            print(f"{name}: left out, {exc}", file=sys.stderr)
            left_out += 1
            continue
        _show(name, figures)
        _write(name, figures)
    sys.exit(1 if left_out else 0)


def _show(name: str, figures: Figures) -> None:
    start = json.loads(START.read_text(encoding="utf-8")).get(name, {})
    table = Table("figure", "at the start", "value", title=name)
    for figure in dict.fromkeys((*start, *figures)):
        table.add_row(figure, _shown(start.get(figure)), _shown(figures.get(figure)))
    Console().print(table)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f}".rstrip("0").rstrip(".")


def _write(name: str, figures: Figures) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{SHARED.get(name, name)}.json"
    if path.exists() and path.stem in SHARED.values():
        figures = {**json.loads(path.read_text(encoding="utf-8"))["figures"], **figures}
    result = {
        "benchmark": path.stem,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "figures": {figure: round(value, 4) for figure, value in figures.items()},
    }
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
