"""How long a mid-term memory lasts, by world time only: tests of service/memory/mind.py and of what stays pure."""

import ast
from pathlib import Path

import pytest

from service.content.profile import Importance
from service.memory.closing import check
from service.memory.mind import expires_at
from world.time import WorldTime, iso, parse_time

PURE = ("check",)


@pytest.mark.parametrize(
    ("importance", "made", "gone"),
    [
        ("low", "2026-04-01T07:00", "2026-04-02T00:00"),
        ("low", "2026-04-01T23:59", "2026-04-02T00:00"),
        ("low", "2026-04-01T00:00", "2026-04-02T00:00"),
        ("medium", "2026-04-01T07:00", "2026-04-03T07:00"),
        ("high", "2026-04-01T07:00", "2026-04-04T07:00"),
        ("high", "2026-12-30T07:00", "2027-01-02T07:00"),
    ],
)
def test_low_lasts_for_the_day_medium_for_two_and_high_for_three(importance: Importance, made: str, gone: str) -> None:
    assert iso(expires_at(importance, parse_time(made))) == gone


@pytest.mark.parametrize(
    ("made", "gone"),
    [
        ("2026-04-01T04:59", "2026-04-01T05:00"),
        ("2026-04-01T05:00", "2026-04-02T05:00"),
        ("2026-04-02T00:30", "2026-04-02T05:00"),
    ],
)
def test_a_day_that_starts_at_five_ends_at_five(made: str, gone: str) -> None:
    assert iso(expires_at("low", parse_time(made), day_starts=300)) == gone


def test_days_that_start_later_move_only_what_ends_with_the_day() -> None:
    made = WorldTime(1000)
    assert expires_at("medium", made, day_starts=300) == expires_at("medium", made)
    assert expires_at("high", made, day_starts=300) == expires_at("high", made)


@pytest.mark.parametrize("module", PURE)
def test_what_may_be_learned_is_judged_without_clock_chance_or_io(module: str) -> None:
    source = Path(check.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    allowed = {
        "collections",
        "dataclasses",
        "enum",
        "functools",
        "itertools",
        "typing",
        "re",
        "unicodedata",
        "service",
        "world",
    }
    assert imported <= allowed
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}
    assert not called & {"open", "input", "print", "eval", "exec", "__import__"}
