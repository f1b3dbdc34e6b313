"""How long a mid-term memory lasts, by world time only: tests of service/memory/mid_term.py and of what stays pure."""

import ast
from pathlib import Path

import pytest

from service.memory.closing import check

PURE = ("check",)


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
