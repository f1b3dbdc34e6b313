"""Files that cannot be read, or sentence a thing twice."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from service.content.files import MOST_BYTES, Unreadable, read_values


def why_unreadable(path: Path) -> tuple[str, str]:
    """What is said of the file, in English and Japanese."""
    with pytest.raises(Unreadable) as why:
        read_values(path)
    return why.value.reason.of("en"), why.value.reason.of("ja")


@pytest.mark.parametrize(
    ("file", "raw", "words"),
    [
        ("maps.json", b'{"a": 1,\n "b": }', "line 2, column 7: no valid JSON: expected a value here"),
        ("maps.json", b"", "line 1, column 1: no valid JSON"),
        ("maps.json", b"[" * 200_000, "nested too deeply"),
        ("maps.json", b"1" * 5000, "too many digits"),
        ("a.yaml", b"[" * 20_000, "nested too deeply"),
        ("a.yaml", b"id: a\n\tname: b", "line 2, column 1: no valid YAML"),
        ("a.yaml", b"id: a\nname: [b", "no valid YAML"),
        ("a.yaml", b"id: a\n---\nid: b", "line 2, column 1: no valid YAML"),
        ("a.yaml", b"name: !!python/name:os.system", "line 1, column 7: no valid YAML"),
        (
            "a.yaml",
            b"id: a\nborn: 2026-02-30",
            'line 2, column 7: found "2026-02-30", which is no date or number; put a text in quotes',
        ),
        ("a.yaml", b"id: !!int ''", 'line 1, column 5: found "", which is no date or number'),
        ("a.yaml", b"? [a]\n: b", "no valid YAML: a key must be a text"),
        ("a.yaml", b"id: a\nname: '\x01'", "line 2, column 8: no valid YAML: control character U+0001"),
        ("a.yaml", "id: a\nname: 花".encode("cp932"), "line 2: found the byte 0x89, which is not UTF-8"),
    ],
)
def test_a_broken_file_is_named_with_line_and_reason(tmp_path: Path, file: str, raw: bytes, words: str) -> None:
    (tmp_path / file).write_bytes(raw)
    en, ja = why_unreadable(tmp_path / file)
    assert words in en
    assert ja != en


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("a.yaml", "id: a\nname：葵\n", "(2行目のキーのあとが全角の「：」です"),
        ("a.yaml", "name：葵\nid: a\n", "(1行目のキーのあとが全角の「：」です"),
        ("a.yaml", "id: a\nname:葵\n", '(2行目のキーの ":" のあとに半角の空白がありません'),
        ("a.yaml", "id: a\nname: [葵\n", "括弧 [ か { が閉じていない"),
        ("a.yaml", "id: a\nname: 「花」: 葵\n", "引用符で囲み"),
        ("a.yaml", "id: a\nname: @葵\n", "found character '@'"),
        ("a.yaml", "id: a\n\tname: 葵\n", "タブ"),
        ("a.yaml", "id: a\nname: !x 葵\n", "could not determine a constructor"),
        ("maps.json", '{"a": 1,}', "最後の項目のあとにはコンマを付けません"),
        ("maps.json", '{"a": "葵', "引用符が閉じていません"),
        ("a.yaml", "id: a\nfacts:\n　- 葵\n", "(3行目の字下げに全角の空白があります"),
        ("a.yaml", 'id: a\nname: "葵\nfacts:\n  - "花"\n', "(2行目で始まる引用符が閉じていません"),
        ("a.yaml", 'id: "a"\nname: "二\n  行"\nfacts:\n  - "花" は\n', "上の続きになっていません"),
        ("maps.json", '{"a"：1}', "全角の「：」があります。半角の : にしてください"),
        ("maps.json", '{"a": ２}', "全角の「２」があります。半角の 2 にしてください"),
        ("maps.json", '{"a": 1、"b": 2}', "全角の「、」があります。半角の , にしてください"),
        ("maps.json", '{"a": 「葵」}', "「 は引用符になりません"),
        ("maps.json", '{"a": [1,]}', "最後の項目のあとにはコンマを付けません"),
    ],
)
def test_why_a_file_cannot_be_read_is_said_in_japanese(tmp_path: Path, file: str, text: str, words: str) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert words in why_unreadable(tmp_path / file)[1]


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    assert why_unreadable(tmp_path / "maps.json") == ("the file is missing", "ファイルがありません")


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
    assert why_unreadable(tmp_path / file) == (
        "cannot be read: it is no file (but a folder, a pipe, a socket or a device)",
        "ファイルではないため読み込めません(フォルダ、パイプ、ソケット、デバイスのどれかです)",
    )


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("id: a\n", encoding="utf-8")
    (tmp_path / "a.yaml").symlink_to("elsewhere")
    assert read_values(tmp_path / "a.yaml") == {"id": "a"}


def test_a_file_larger_than_any_game_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"1".ljust(MOST_BYTES))
    assert read_values(tmp_path / "a.json") == 1
    (tmp_path / "a.json").write_bytes(b"1".ljust(MOST_BYTES + 1))
    assert why_unreadable(tmp_path / "a.json") == (
        "the file is larger than 5 MB, the most that is read",
        "ファイルが大きすぎます。読み込めるのは 5 MB までです",
    )


@pytest.mark.parametrize(
    ("file", "raw", "words"),
    [
        ("a.json", b'{"l": [{"b": 1}, {"id": 1,\n"id": 2}]}', 'the key "id" is written twice in one mapping'),
        (
            "a.yaml",
            b"l:\n- b: 1\n- {b: 1, id: 1}\n- b: 1\n  id: 1\n  id: 2\n",
            'line 6, column 3: the key "id" is written twice',
        ),
    ],
)
def test_a_key_written_twice_is_named(tmp_path: Path, file: str, raw: bytes, words: str) -> None:
    (tmp_path / file).write_bytes(raw)
    en, ja = why_unreadable(tmp_path / file)
    assert words in en
    assert 'キー "id" が2度' in ja


def test_what_is_merged_into_a_mapping_may_be_written_over_in_it(tmp_path: Path) -> None:
    text = "deep: {a: &a {<<: {x: 1}, x: 2}}\nb: {<<: *a, x: 3}\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert read_values(tmp_path / "a.yaml") == {"deep": {"a": {"x": 2}}, "b": {"x": 3}}


@pytest.mark.parametrize(("file", "raw"), [("a.json", b'{"a": "\xe6\x9d\x91"}'), ("a.yaml", b"a: \xe6\x9d\x91\r\n")])
def test_a_byte_order_mark_is_no_error(tmp_path: Path, file: str, raw: bytes) -> None:
    (tmp_path / file).write_bytes(b"\xef\xbb\xbf" + raw)
    assert read_values(tmp_path / file) == {"a": "村"}


def test_an_alias_that_contains_itself_is_read_without_end(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("facts: &a [*a]\n", encoding="utf-8")
    facts = read_values(tmp_path / "a.yaml")
    assert isinstance(facts, dict)
    assert facts["facts"][0] is facts["facts"]
