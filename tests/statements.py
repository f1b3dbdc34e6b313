"""Owns how large the house is: `python -m tests.statements` prints the statements of service and world, by folder.

A text that stands alone, a docstring, is no statement.
"""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("service", "world", "studio", "kataribe")


def statements() -> Counter[str]:
    """How many there are in each folder, one below its room."""
    found = Counter[str]()
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        parts = path.relative_to(ROOT).parts
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found["/".join(parts[: min(2, len(parts) - 1)])] += sum(map(_counts, ast.walk(tree)))
    return found


def _counts(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.stmt) and not is_text


if __name__ == "__main__":
    counted = statements()
    for folder, number in counted.most_common():
        print(f"{number:6} {folder}")
    print(f"{counted.total():6} statements")
