"""Measures how large the code is: files, lines and statements, room by room; prompts and the texts of locales apart.

A statement is one of the parsed program; docstrings are none. So neither layout nor comments change the count.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDEST = 120
"""Columns; longer lines are counted."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """Of some files. `statements` are those of Python."""

    files: int
    lines: int
    statements: int
    long_lines: int

    def figures(self, name: str) -> dict[str, float]:
        """As the benchmark shows them."""
        return {f"{name}_{figure}": value for figure, value in vars(self).items()}


def run() -> dict[str, float]:
    """Figures ``<room>_files|lines|statements|long_lines``, and their total."""
    return measure(ROOT)


def measure(root: Path) -> dict[str, float]:
    """The figures of the checkout at `root`. A room is `world`, or `service` or `studio` with each of its folders."""
    sources = sorted(
        file for top in ("service", "studio", "world") for file in (root / top).rglob("*") if _is_source(file, root)
    )
    rooms: dict[str, list[Path]] = {}
    for file in sources:
        rooms.setdefault(_deps(file.relative_to(root)), []).append(file)
    texts = {name: rooms.pop(name) for name in ("locales", "prompts") if name in rooms}
    figures: dict[str, float] = {}
    for name, files in rooms.items():
        figures |= _size(files).figures(name)
    figures |= _size(file for files in rooms.values() for file in files).figures("total")
    for name, files in texts.items():
        figures |= _size(files).figures(name)
    return figures


def _is_source(file: Path, root: Path) -> bool:
    """Python, and whatever else holds prompts or the texts of a language."""
    texts = {"prompts", "locales"} & set(file.relative_to(root).parts)
    return file.is_file() and "__pycache__" not in file.parts and (file.suffix == ".py" or bool(texts))


def _deps(file: Path) -> str:
    if file.suffix != ".py":
        return "prompts" if "prompts" in file.parts else "locales"
    return "_".join(file.parts[: 2 if file.parts[0] != "world" and len(file.parts) > 2 else 1])


def _size(files: Iterable[Path]) -> Size:
    texts = [(file, file.read_text(encoding="utf-8")) for file in files]
    lines = [line for _, text in texts for line in text.splitlines()]
    return Size(
        files=len(texts),
        lines=len(lines),
        statements=sum(_statements(text) for file, text in texts if file.suffix == ".py"),
        long_lines=sum(len(line) > WIDEST for line in lines),
    )


def _statements(source: str) -> int:
    return sum(isinstance(node, ast.stmt) and not _is_docstring(node) for node in ast.walk(ast.parse(source)))


def _is_docstring(node: ast.stmt) -> bool:
    """Of a module, class or function, or below an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
