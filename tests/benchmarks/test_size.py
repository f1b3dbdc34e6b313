"""The size of the code counts what is written to run, and what is written to be read apart."""

from pathlib import Path

from benchmarks.size import measure

SOURCE = '''"""A module."""

LIMIT = 3
"""Of something."""


def double(n: int) -> int:
    """Twice."""
    return 2 * n
'''


def test_statements_are_counted_without_docstrings_and_texts_apart(tmp_path: Path) -> None:
    for name, text in {
        "world/time.py": SOURCE,
        "service/app.py": "run = 1; stop = 2\n",
        "service/api/dependencies.py": f"name = 'x' {' ' * 120} # wide\n",
        "service/api/prompts/en/ask.j2": "Who\nare you?\n",
        "service/locales/en.yaml": "hello: Hello\n",
        "tests/test_app.py": SOURCE,
        "service/api/page.html": "<p>\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    figures = measure(tmp_path)
    shown = {
        room: tuple(figures[f"{room}_{figure}"] for figure in ("files", "lines", "statements", "long_lines"))
        for room in ("world", "service", "service_api", "total", "prompts", "locales")
    }
    assert shown == {
        "world": (1, 9, 3, 0),
        "service": (1, 1, 2, 0),
        "service_api": (1, 1, 1, 1),
        "total": (3, 11, 6, 1),
        "prompts": (1, 2, 0, 0),
        "locales": (1, 1, 0, 0),
    }
    assert len(figures) == 4 * len(shown)
