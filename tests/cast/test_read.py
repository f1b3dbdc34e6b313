"""Owns the tests of files that cannot be read, or say a thing twice."""

from pathlib import Path

import pytest

from service.cast.read import read_document


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


def test_a_directory_in_place_of_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").mkdir()
    (only,) = read_document(tmp_path, "a.yaml").problems
    assert only.en.startswith("cannot be read: ")
    assert str(tmp_path) not in only.en


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
