"""Owns the tests of files that cannot be read, or say a thing twice."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from service.cast.read import MOST_BYTES, read_document


@pytest.mark.parametrize(
    ("file", "raw", "words"),
    [
        ("maps.json", b'{"a": 1,\n "b": }', "line 2, column 7: no valid JSON: Expecting value"),
        ("maps.json", b"", "line 1, column 1: no valid JSON"),
        ("maps.json", b"[" * 200_000, "nested too deeply"),
        ("maps.json", b"1" * 5000, "too many digits"),
        ("a.yaml", b"[" * 20_000, "nested too deeply"),
        ("a.yaml", b"id: a\n\tname: b", "line 2, column 1: no valid YAML"),
        ("a.yaml", b"id: a\nname: [b", "no valid YAML"),
        ("a.yaml", b"id: a\n---\nid: b", "line 2, column 1: no valid YAML"),
        ("a.yaml", b"name: !!python/name:os.system", "line 1, column 7: no valid YAML"),
        ("a.yaml", b"id: a\nborn: 2026-02-30", 'line 2, column 7: no valid YAML: "2026-02-30"; put a text in quotes'),
        ("a.yaml", b"id: !!int ''", "line 1, column 5: no valid YAML"),
        ("a.yaml", b"? [a]\n: b", "no valid YAML: found unhashable key"),
        ("a.yaml", b"id: a\nname: '\x01'", "line 2, column 8: no valid YAML: control character U+0001"),
        ("a.yaml", "id: a\nname: 花".encode("cp932"), "line 2: found the byte 0x89, which is not UTF-8"),
    ],
)
def test_a_broken_file_is_named_with_line_and_reason(tmp_path: Path, file: str, raw: bytes, words: str) -> None:
    (tmp_path / file).write_bytes(raw)
    document = read_document(tmp_path, file)
    assert not document.readable
    (only,) = document.problems
    assert (only.file, only.key_path) == (file, "")
    assert words in only.en
    assert only.ja != only.en


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    (only,) = read_document(tmp_path, "maps.json").problems
    assert only.line("en") == "maps.json: the file is missing"


def _listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(Path.mkdir, id="directory"),
        pytest.param(os.mkfifo, id="FIFO"),
        pytest.param(_listen, id="socket"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), id="link to an endless device"),
        pytest.param(lambda path: path.symlink_to(path.with_name("fifo")), id="link to a FIFO"),
    ],
)
@pytest.mark.parametrize("file", ["maps.json", "a.yaml"])
def test_what_is_no_file_is_named_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object], file: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    os.mkfifo(tmp_path / "fifo")
    make(tmp_path / file)
    (only,) = read_document(tmp_path, file).problems
    assert only.line("en") == f"{file}: cannot be read: it is no file (but a folder, a pipe, a socket or a device)"
    assert (
        only.line("ja")
        == f"{file}: ファイルではないため読み込めません(フォルダ、パイプ、ソケット、デバイスのどれかです)"
    )


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("id: a\n", encoding="utf-8")
    (tmp_path / "a.yaml").symlink_to("elsewhere")
    assert read_document(tmp_path, "a.yaml").data == {"id": "a"}


@pytest.mark.parametrize(("size", "readable"), [(MOST_BYTES, True), (MOST_BYTES + 1, False)])
def test_a_file_larger_than_any_game_is_named_and_not_read(tmp_path: Path, size: int, readable: bool) -> None:
    (tmp_path / "a.json").write_bytes(b"1".ljust(size))
    document = read_document(tmp_path, "a.json")
    assert document.readable == readable
    if not readable:
        (only,) = document.problems
        assert only.en == "the file is larger than 5 MB, the most that is read"
        assert only.ja == "ファイルが大きすぎます。読み込めるのは 5 MB までです"


@pytest.mark.parametrize(
    ("file", "raw"),
    [
        ("a.json", b'{"a": {"id": 1, "id": 2}, "l": [{"b": 1, "b": 2}], "a": 3}'),
        ("a.yaml", b"a: {id: 1, id: 2}\nl:\n- b: 1\n  b: 2\na: 3\n"),
    ],
)
def test_every_key_written_twice_is_named_and_the_rest_is_read(tmp_path: Path, file: str, raw: bytes) -> None:
    (tmp_path / file).write_bytes(raw)
    document = read_document(tmp_path, file)
    assert sorted(p.key_path for p in document.problems) == ["a", "a.id", "l[0].b"]
    assert document.data == {"a": 3, "l": [{"b": 2}]}


@pytest.mark.parametrize(("file", "raw"), [("a.json", b'{"a": "\xe6\x9d\x91"}'), ("a.yaml", b"a: \xe6\x9d\x91\r\n")])
def test_a_byte_order_mark_is_no_error(tmp_path: Path, file: str, raw: bytes) -> None:
    (tmp_path / file).write_bytes(b"\xef\xbb\xbf" + raw)
    assert read_document(tmp_path, file).data == {"a": "村"}


def test_an_alias_that_contains_itself_is_read_without_end(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("facts: &a [*a]\n", encoding="utf-8")
    assert read_document(tmp_path, "a.yaml").problems == ()
