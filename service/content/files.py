"""Where content lies, which files it has, how their bytes become plain values, and why a file is no JSON or YAML. The
bundled content is copied into a directory of the user's own, all of it or nothing.
"""

import json
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from service.content.fields import quote
from service.errors import Invalid, system_reason
from service.locales import Language, Phrase

_FOUND = {
    "Expecting value": "value",
    "Expecting property name": "name",
    "Illegal trailing comma": "last_comma",
    "Expecting ',' delimiter": "comma",
    "Expecting ':' delimiter": "colon",
    "Extra data": "more",
    "Unterminated string": "open_quote",
    "found unexpected end of stream": "open_quote",
    "Invalid control character": "line_break",
    "Invalid \\": "escape",
    "found unknown escape character": "escape",
    "mapping values are not allowed here": "second_colon",
    "could not find expected ':'": "no_colon",
    "found character '\\t'": "tab",
    "found character": "special",
    "expected <block end>": "indent",
    "expected the node content": "open_bracket",
    "expected ',' or": "open_bracket",
    "found undefined alias": "alias",
    "found unhashable key": "key",
    "but found another document": "document",
}
"""How a parser's message begins, and the sentence that says it."""

_QUOTES = frozenset("“”„‟＂「」『』‘’")
"""What writers of Japanese and word processors write for a quote."""

_WIDE_COMMA = {"、": ",", "，": ","}

_OPENED = re.compile(r"""\s*(?:- +)*(?:\w+: +)?(?P<text>"(?:[^"\\]|\\.)*)$""")
"""A line with a text in quotes that goes on in the next."""

_WIDE_SPACE = re.compile(r"[ -]*\u3000")
"""A line that is indented by a full-width space."""

_KEY = re.compile(r"\s*(?:- )?\w+(?:(?P<wide>：)|:(?=[^\s/]))")
"""A line whose key has no colon that counts: a full-width one, or one without the space that belongs behind it."""


def why_no_yaml(problem: str, text: str, line: int) -> Phrase:
    """Why the YAML `text` cannot be read, where the parser met `problem` in that line, counted from 0: the line's own
    key or indent, or those of the one above it, where they are at fault, or a quote above that is still open.
    """
    for number, words in list(enumerate(text.splitlines(), 1))[max(line - 1, 0) : line + 1]:
        if key := _KEY.match(words):
            return Phrase("content.syntax.wide_colon" if key["wide"] else "content.syntax.no_space", number=number)
        if _WIDE_SPACE.match(words):
            return Phrase("content.syntax.wide_space", number=number)
    opened = _opened_above(text.splitlines()[:line]) if problem.startswith("expected <block end>") else None
    return why_broken(problem) if opened is None else Phrase("content.syntax.quote_of", number=opened)


def _opened_above(lines: list[str]) -> int | None:
    """The line, counted from 1, of the quote that is open at their end."""
    opened = next((i for i in range(len(lines) - 1, -1, -1) if _OPENED.match(lines[i])), None)
    if opened is None or sum(words.count('"') for words in lines[opened:]) % 2 == 0:
        return None
    return opened + 1


def why_no_json(problem: str, text: str, position: int) -> Phrase:
    """Why the JSON `text` cannot be read, where the parser met `problem` at that character: its width, where that is at
    fault.
    """
    found, before = text[position : position + 1], text[:position].rstrip()
    if found in _QUOTES and found:
        return Phrase("content.syntax.no_quote", found=found)
    wanted = _WIDE_COMMA.get(found) or unicodedata.normalize("NFKC", found)
    if found != wanted and wanted.isascii():
        return Phrase("content.syntax.wide", found=found, wanted=wanted)
    if found in ("]", "}") and before.endswith(","):
        return Phrase("content.syntax.last_comma")
    return why_broken(problem)


def why_broken(problem: str) -> Phrase:
    """What a parser of JSON or YAML says, in our words; what we have no words for, as it says it."""
    found = next((key for begin, key in _FOUND.items() if problem.startswith(begin)), "other")
    return Phrase(f"content.syntax.{found}", problem=problem)


MAPS_FILE, ACTIONS_FILE = "maps.json", "actions.json"
NPCS, CHARACTERS, LORE, SCENES, FRAGMENTS = "npcs", "characters", "lore", "scenes", "fragments"
GROUPS, CAST_TESTS, PICTURES = "groups", "cast-tests", "pictures"
PROMPTS, PROMPT_SUFFIX = "prompts", ".j2"
PERSON_SUFFIXES = (".yaml", ".yml")
PICTURE_TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".avif": "image/avif",
}
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


def node_of(text: str) -> Any:
    """The yaml.Node of the text of YAML, or of JSON: what it says, with the places where it stands there.

    Raises: yaml.YAMLError: it is none.
    """
    return (_FastLoader if yaml.__with_libyaml__ else _Loader)(text).get_single_node()


CONTENT_NAMES = (MAPS_FILE, ACTIONS_FILE, NPCS, CHARACTERS, FRAGMENTS, LORE, SCENES, PICTURES)
_COPIED = (*CONTENT_NAMES, CAST_TESTS)
_BEGINS_IN = re.compile(rb'("language":\s*)"\w+"')
_OPTIONAL = (ACTIONS_FILE, FRAGMENTS, LORE, SCENES, CAST_TESTS, PICTURES)


class ContentExists(Invalid):
    """Facts: `directory`, `names`."""


class ContentUnwritable(Invalid):
    """Facts: `directory`, `reason`."""


def init_content(target: Path, *, source: Path | None = None, language: Language | None = None) -> list[Path]:
    """Copy maps.json, npcs/ and characters/, and, where there are any, actions.json, fragments/, lore/, scenes/,
    cast-tests/ and pictures/ (of `source`, else the bundled ones) into `target`, which is made if need be. Its worlds
    begin in `language` (None: in that of `source`).

    Returns the files written, sorted.

    Raises:
        ContentExists: one of them is there already.
        ContentUnwritable: the directory or a file cannot be made.
    """
    names = [name for name in _COPIED if os.path.lexists(target / name)]
    if names:
        raise ContentExists(directory=str(target), names=", ".join(names))
    try:
        files = dict(_copied(source or bundled_content()))
    except OSError as exc:
        raise ContentUnwritable(directory=str(target), reason=system_reason(exc)) from exc
    if language is not None:
        files[MAPS_FILE] = _BEGINS_IN.sub(rf'\g<1>"{language}"'.encode(), files[MAPS_FILE], count=1)
    return sorted(write_all(target, files))


def _copied(source: Path) -> Iterator[tuple[str, bytes]]:
    """Raises: OSError."""
    for found in (source / name for name in _COPIED if name not in _OPTIONAL or (source / name).exists()):
        for path in found.iterdir() if found.is_dir() else (found,):
            if not path.is_dir() and not path.name.startswith("."):
                yield path.relative_to(source).as_posix(), path.read_bytes()


def write_all(directory: Path, files: Mapping[str, str | bytes | None]) -> list[Path]:
    """Write the files in place of what was there (None: nothing is to be there), all or none of them. Who reads one
    meanwhile finds it whole, as it was or as it is to be.

    Raises:
        ContentUnwritable: the system refuses it, or a link leads out of the directory.
    """
    if out := [name for name in files if not (directory / name).resolve().is_relative_to(directory.resolve())]:
        raise ContentUnwritable(directory=str(directory), reason=Phrase("content.leads_out", file=quote(out[0])))
    made = sorted({folder for name in files for folder in (directory / name).parents if not folder.exists()})
    moved: list[tuple[Path, Path]] = []
    try:
        for folder in made:
            folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".kataribe-write-") as aside:
            new, old = Path(aside, "new"), Path(aside, "old")
            for name, told in files.items():
                for root in (new, old):
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                if told is not None:
                    (new / name).write_bytes(told.encode() if isinstance(told, str) else told)
            try:
                for name, told in files.items():
                    there = directory / name
                    if is_old := os.path.lexists(there):
                        shutil.copy2(there, old / name)
                    if told is not None:
                        os.replace(new / name, there)
                    elif is_old:
                        there.unlink()
                    if is_old or told is not None:
                        moved.append((old / name, there) if is_old else (there, new / name))
            except BaseException:  # also when it is stopped by hand
                for now, then in reversed(moved):
                    os.replace(now, then)
                raise
    except OSError as exc:
        for folder in filter(Path.is_dir, reversed(made)):
            folder.rmdir()
        raise ContentUnwritable(directory=str(directory), reason=system_reason(exc)) from exc
    return [directory / name for name, told in files.items() if told is not None]
