"""Where content lies, which files it has, and how their bytes become plain values."""

import json
import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from service.content.problem import quote
from service.content.syntax import why_no_json, why_no_yaml
from service.errors import system_reason
from service.locales import Language, Phrase

MAPS_FILE, ACTIONS_FILE = "maps.json", "actions.json"
NPCS, CHARACTERS, LORE, SCENES, FRAGMENTS = "npcs", "characters", "lore", "scenes", "fragments"
GROUPS, CAST_TESTS = "groups", "cast-tests"
PROMPTS, PROMPT_SUFFIX = "prompts", ".j2"
PERSON_SUFFIXES = (".yaml", ".yml")
MOST_FILES = 10_000
"""The most that one folder may hold: far more people than any game has."""
MOST_BYTES = 5_000_000
"""The most that is read of one file: far more than any game needs, and less than a machine's memory."""

_PACKAGE = Path(__file__).resolve().parent.parent


class Unreadable(Exception):
    """A file or folder that has no values; `reason` is the sentence that says why."""

    def __init__(self, sentence: str, /, **facts: object) -> None:
        self.reason = Phrase(sentence, **facts)
        super().__init__(self.reason)


def bundled_content(package: Path = _PACKAGE) -> Path:
    """The content that travels with Kataribe: inside the installed `package`, else in the checkout around it."""
    bundled = package / "_bundled"
    return bundled if bundled.is_dir() else package.parent


def small_content(language: Language) -> Path:
    """An empty stage in that language: one map, one NPC, one character, two actions."""
    return Path(__file__).parent / "small" / language


def person_files(directory: Path, folder: str) -> list[str]:
    """The files of people in a folder of the content directory, relative to that directory, sorted.

    Raises:
        Unreadable: it is no folder, cannot be listed, or holds more than `MOST_FILES`.
    """
    return [file for file in files_in(directory, folder) if file.endswith(PERSON_SUFFIXES)]


def files_in(directory: Path, folder: str) -> list[str]:
    """What is in a folder of the content directory, hidden files aside, relative to that directory, sorted.

    Raises:
        Unreadable: it is no folder, cannot be listed, or holds more than `MOST_FILES`.
    """
    try:
        with os.scandir(directory / folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_FILES + 1)]
    except OSError as exc:
        raise Unreadable("content.not_listed", reason=system_reason(exc)) from exc
    if len(names) > MOST_FILES:
        raise Unreadable("content.too_many_files", most=MOST_FILES)
    return sorted(f"{folder}/{name}" for name in names if not name.startswith("."))


def read_values(path: Path) -> object:
    """What a .json, .yaml or .yml file says.

    Raises:
        Unreadable: it is missing, no file, too large, no UTF-8, no JSON or YAML, or says one key twice.
    """
    return values_of(read_text(path), path.suffix)


def values_of(text: str, suffix: str) -> object:
    """What the text of a file of that suffix says.

    Raises:
        Unreadable: it is no JSON or YAML, or says one key twice.
    """
    try:
        return read_json(text) if suffix == ".json" else _read_yaml(text)
    except RecursionError as exc:
        raise Unreadable("content.nested_too_deeply") from exc


def read_text(path: Path) -> str:
    """What is in a file.

    Raises:
        Unreadable: it is missing, no file, too large, or no UTF-8.
    """
    raw = read_bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line, byte = raw[: exc.start].count(b"\n") + 1, f"0x{raw[exc.start]:02x}"
        raise Unreadable("content.no_utf8", line=line, byte=byte) from exc


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """What is in a file of at most so many bytes.

    Raises:
        Unreadable: it is missing, no file, or too large.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for, and a device never ends
            raise Unreadable("content.no_file")
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except FileNotFoundError as exc:
        raise Unreadable("content.missing_file") from exc
    except OSError as exc:
        raise Unreadable("content.not_read", reason=system_reason(exc)) from exc
    if len(raw) > most:
        raise Unreadable("content.too_large", megabytes=most // 1_000_000)
    return raw


def read_json(text: str) -> object:
    """Raises: Unreadable: it is no JSON, or says one key twice."""
    try:
        return json.loads(text, object_pairs_hook=_mapping)
    except json.JSONDecodeError as exc:
        raise Unreadable(
            "content.broken", form="JSON", line=exc.lineno, column=exc.colno, reason=why_no_json(exc.msg, text, exc.pos)
        ) from exc
    except ValueError as exc:  # Python refuses to convert integers of thousands of digits
        raise Unreadable("content.too_many_digits") from exc


def _mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping: dict[str, object] = {}
    for name, value in pairs:
        if name in mapping:
            raise Unreadable("content.key_twice", name=quote(name))
        mapping[name] = value
    return mapping


class _Strict(Composer, SafeConstructor):
    """Says where a key is written twice, and where a date or number is none (``2026-02-30``)."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        names: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in names:
                raise Unreadable("content.key_twice_at", **_place(key.start_mark), name=quote(key.value))
            names.add(key.value)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, ArithmeticError) as exc:
            raise Unreadable("content.bad_scalar_at", **_place(node.start_mark), text=quote(str(node.value))) from exc


def _place(mark: yaml.Mark | None) -> dict[str, int]:
    """Counted from 1; what has no place is where the file begins."""
    return {"line": mark.line + 1 if mark else 1, "column": mark.column + 1 if mark else 1}


class _FastLoader(_Strict, Resolver):
    """yaml.SafeLoader on libyaml's parser, ten times as fast. Not yaml.CSafeLoader: its deep nesting ends the
    process.
    """

    def __init__(self, text: str) -> None:
        parser = yaml.CBaseLoader(text)
        self.check_event, self.peek_event, self.get_event = parser.check_event, parser.peek_event, parser.get_event
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)


class _Loader(_Strict, yaml.SafeLoader):
    """PyYAML's own parser has the last word on what is no YAML."""


def _read_yaml(text: str) -> object:
    if yaml.__with_libyaml__:
        with suppress(yaml.YAMLError):
            return _FastLoader(text).get_single_data()
    try:
        return _Loader(text).get_single_data()
    except yaml.MarkedYAMLError as exc:
        place = _place(exc.problem_mark or exc.context_mark)
        why = why_no_yaml(" ".join((exc.problem or "").split()), text, place["line"] - 1)
        raise Unreadable("content.broken", form="YAML", **place, reason=why) from exc
    except yaml.reader.ReaderError as exc:
        line, column = text.count("\n", 0, exc.position) + 1, exc.position - text.rfind("\n", 0, exc.position)
        reason = f"control character U+{ord(text[exc.position]):04X}"
        raise Unreadable("content.broken", form="YAML", line=line, column=column, reason=reason) from exc
