"""Owns docs/files.md, the list of every file, made from the files' first sentences: `python -m tests.docs.files`
writes it anew.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "files.md"
_HEAD = """# Every file

What each file owns, by its own first sentence. `python -m tests.docs.files` writes this list anew; a test fails where
it says something else.
"""
_LONGEST = 200


def page() -> str:
    """The whole page, with the list as it should be."""
    return "\n".join([_HEAD, *_lines()])


def _lines() -> Iterator[str]:
    room = None
    for top in ("service", "world", "studio", "kataribe"):
        for file in sorted((ROOT / top).rglob("*.py"), key=lambda one: (one.parent.as_posix(), one.name)):
            found = ast.get_docstring(ast.parse(file.read_text("utf-8")))
            if file.name == "__init__.py" or found is None:
                continue
            if file.parent != room:
                room = file.parent
                yield f"\n**{room.relative_to(ROOT).as_posix()}/**\n"
            yield f"- `{file.name}`: {_owned(found)}"
    yield ""


def _owned(docstring: str) -> str:
    """What the file owns: its first sentence, as far as a line is long."""
    first = " ".join(docstring.split("\n\n")[0].split()).removeprefix("Owns ").removesuffix(" Pure.").removesuffix(".")
    parts = re.split(r"(?<=[.:;]) ", first)
    told = parts[0]
    for part in parts[1:]:
        if len(told) + len(part) >= _LONGEST:
            break
        told = f"{told} {part}"
    return told.rstrip(".:;")


if __name__ == "__main__":
    FILE.write_text(page(), "utf-8")
