#!/usr/bin/env python3
"""Writes the addon and its example in the words of Godot 3: python3 clients/godot/godot3.py DIRECTORY."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
WORDS = {
    r"@(export|tool)": r"\1",
    r"RefCounted": "Reference",
    r"PackedByteArray": "PoolByteArray",
    r"JSON\.parse_string\(": "parse_json(",
    r"JSON\.stringify\(": "to_json(",
    r"(\w+)\.(\w+)\.connect\((\w+)\)": r'\1.connect("\2", self, "\3")',
    r"text_submitted": "text_entered",
}
"""All that differs, for the scripts use nothing else that is not the same in both."""

PROJECT = 'config_version=4\n\n[application]\n\nconfig/name="Kataribe"\n'


def write_for_godot_3(directory: Path) -> None:
    """Scripts in their folders, and a project of their own."""
    for file in sorted(HERE.rglob("*.gd")):
        text = file.read_text(encoding="utf-8")
        for word, older in WORDS.items():
            text = re.sub(word, older, text)
        place = directory / file.relative_to(HERE)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (directory / "project.godot").write_text(PROJECT, encoding="utf-8")


if __name__ == "__main__":
    write_for_godot_3(Path(sys.argv[1]))
