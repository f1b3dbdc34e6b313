"""Owns reading a content file: bytes to plain values, and everything that can be wrong before their form is looked at."""

import errno
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from service.cast.problem import ContentProblem, Key, problem, quote

MOST_BYTES = 5_000_000
"""The most that is read of one file: far more than any game needs, and less than a machine's memory."""

if sys.platform == "win32":
    _FLAGS = os.O_RDONLY | os.O_BINARY
else:  # a pipe that nobody writes to is opened at once, and a terminal does not become ours
    _FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY

_NO_FILE = {errno.ENXIO, errno.EOPNOTSUPP}
"""How the system refuses to open a socket, or a device that is not there."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file's values. Not `readable`: there are none, and `problems` say why. Duplicate keys leave it readable."""

    file: str
    readable: bool
    data: object = None
    problems: tuple[ContentProblem, ...] = ()


class _FastLoader(Composer, SafeConstructor, Resolver):
    """yaml.SafeLoader on libyaml's parser, ten times as fast. Not yaml.CSafeLoader: its deep nesting ends the process."""

    def __init__(self, text: str) -> None:
        parser = yaml.CBaseLoader(text)
        self.check_event, self.peek_event, self.get_event = parser.check_event, parser.peek_event, parser.get_event
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)


class _Pairs(list[tuple[str, object]]):
    """A JSON object with its keys as written, twice where written twice."""


def read_document(directory: Path, file: str) -> Document:
    """Read a .json, .yaml or .yml file; never raises for what is in it."""
    try:
        raw = _bytes_of(directory / file)
    except FileNotFoundError:
        return _unreadable(file, "the file is missing", "ファイルがありません")
    except OSError as exc:
        return _unreadable(file, f"cannot be read: {exc.strerror}", f"読み込めません({exc.strerror})")
    if raw is None:
        return _unreadable(
            file,
            "cannot be read: it is no file (but a folder, a pipe, a socket or a device)",
            "ファイルではないため読み込めません(フォルダ、パイプ、ソケット、デバイスのどれかです)",
        )
    if len(raw) > MOST_BYTES:
        most = MOST_BYTES // 1_000_000
        return _unreadable(
            file,
            f"the file is larger than {most} MB, the most that is read",
            f"ファイルが大きすぎます。読み込めるのは {most} MB までです",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = exc.object[: exc.start].count(b"\n") + 1
        return _unreadable(
            file,
            f"line {line}: found the byte 0x{exc.object[exc.start]:02x}, which is not UTF-8; save the file as UTF-8",
            f"{line}行目: UTF-8ではないバイト 0x{exc.object[exc.start]:02x} があります。UTF-8で保存してください",
        )
    try:
        return _read_json(file, text) if file.endswith(".json") else _read_yaml(file, text)
    except RecursionError:
        return _unreadable(file, "lists or mappings are nested too deeply", "リストやマッピングの入れ子が深すぎます")


def _bytes_of(path: Path) -> bytes | None:
    """What is in the file, at most a byte more than `MOST_BYTES`; None: it is a folder, a pipe, a socket or a device.

    It is looked at when it is open, so that nobody can put something else in its place in between.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as exc:
        if exc.errno in _NO_FILE:
            return None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        raw = bytearray()
        while len(raw) <= MOST_BYTES and (more := os.read(descriptor, MOST_BYTES + 1 - len(raw))):
            raw += more
        return bytes(raw)
    finally:
        os.close(descriptor)


def _unreadable(file: str, en: str, ja: str) -> Document:
    return Document(file=file, readable=False, problems=(problem(file, (), en, ja),))


def _broken(file: str, form: str, line: int, column: int, reason: str, ja: str = "") -> Document:
    return _unreadable(
        file,
        f"line {line}, column {column}: no valid {form}: {reason}",
        f"{line}行{column}列: {form}として読めません({ja or reason})",
    )


def _twice(file: str, key: Key, name: str) -> ContentProblem:
    return problem(
        file,
        key,
        f"the key {quote(name)} is written twice; expected once",
        f"キー {quote(name)} が2度書かれています。1度だけ書いてください",
    )


def _read_json(file: str, text: str) -> Document:
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as exc:
        return _broken(file, "JSON", exc.lineno, exc.colno, exc.msg)
    except ValueError:  # Python refuses to convert integers of thousands of digits
        return _unreadable(file, "found a number with too many digits", "桁数の多すぎる数があります")
    problems: list[ContentProblem] = []
    data = _without_pairs(file, pairs, (), problems)
    return Document(file=file, readable=True, data=data, problems=tuple(problems))


def _without_pairs(file: str, value: object, key: Key, problems: list[ContentProblem]) -> object:
    if isinstance(value, _Pairs):
        plain: dict[str, object] = {}
        for name, item in value:
            if name in plain:
                problems.append(_twice(file, (*key, name), name))
            plain[name] = _without_pairs(file, item, (*key, name), problems)
        return plain
    if isinstance(value, list):
        return [_without_pairs(file, item, (*key, i), problems) for i, item in enumerate(value)]
    return value


def _read_yaml(file: str, text: str) -> Document:
    try:
        loader, root = _compose(text)
        bad = next(_bad_scalars(root, set()), None) if root else None
        if bad is not None:
            mark, value = bad.start_mark, str(bad.value)
            en, ja = f"{quote(value)}; put a text in quotes", f"{quote(value)}: 文章なら引用符で囲んでください"
            return _broken(file, "YAML", mark.line + 1, mark.column + 1, en, ja)
        twice = tuple(_yaml_twice(file, root, (), set()))  # before the values: those write `<<` into the nodes
        data = loader.construct_document(root) if root else None
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return _broken(file, "YAML", line, column, " ".join((exc.problem or "").split()))
    except yaml.reader.ReaderError as exc:
        before = text[: exc.position]
        column = exc.position - before.rfind("\n")
        return _broken(file, "YAML", before.count("\n") + 1, column, _control(text[exc.position]))
    return Document(file=file, readable=True, data=data, problems=twice)


def _compose(text: str) -> tuple[SafeConstructor, yaml.Node | None]:
    """A file's nodes, and who makes values of them. PyYAML's own parser has the last word on what is no YAML."""
    if yaml.__with_libyaml__:
        with suppress(yaml.YAMLError):
            fast = _FastLoader(text)
            return fast, fast.get_single_node()
    loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


def _control(character: str) -> str:
    return f"control character U+{ord(character):04X}"


def _bad_scalars(node: yaml.Node, seen: set[int]) -> Iterator[yaml.ScalarNode]:
    """Scalars PyYAML takes for a number or date and then stumbles over with no YAML error: ``2026-02-30``."""
    if id(node) in seen:  # aliases may even contain themselves
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        try:
            yaml.constructor.SafeConstructor().construct_object(node)
        except yaml.YAMLError:
            return  # safe_load reports it with its own words
        except (ValueError, LookupError, AttributeError, ArithmeticError):
            yield node
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _bad_scalars(child, seen)
    elif isinstance(node, yaml.MappingNode):
        for name, child in node.value:
            yield from _bad_scalars(name, seen)
            yield from _bad_scalars(child, seen)


def _yaml_twice(file: str, node: yaml.Node | None, key: Key, seen: set[int]) -> Iterator[ContentProblem]:
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for i, child in enumerate(node.value):
            yield from _yaml_twice(file, child, (*key, i), seen)
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for name_node, child in node.value:
            name = str(name_node.value) if isinstance(name_node, yaml.ScalarNode) else ""
            if name and name in names:
                yield _twice(file, (*key, name), name)
            names.add(name)
            yield from _yaml_twice(file, child, (*key, name), seen)
