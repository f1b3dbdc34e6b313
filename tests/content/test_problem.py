"""How a problem reads."""

from datetime import date

import pytest

from service.content.fields import Key, closest, found, key_path, problem, quote
from service.locales import Phrase


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ((), ""),
        (("maps", 0, "edges", 3, "minutes"), "maps[0].edges[3].minutes"),
        (("a b", "c"), '["a b"].c'),
        (("facts", 1, "日本"), "facts[1].日本"),
    ],
)
def test_a_key_path_reads_like_the_file_is_nested(key: Key, path: str) -> None:
    assert key_path(key) == path


def test_a_problem_is_one_line_in_each_language() -> None:
    it = problem("maps.json", ("maps", 0), "content.edge_to_itself", node='"mill"')
    assert it.line("en").startswith('maps.json: maps[0]: the edge leads from "mill" to itself')
    assert it.line("ja").startswith('maps.json: maps[0]: "mill" から自分自身への道')


def test_a_problem_of_a_whole_file_has_no_key_path() -> None:
    assert problem("maps.json", (), "content.missing_file").line("en") == "maps.json: the file is missing"


@pytest.mark.parametrize("text", ["a\nb", "a\u2028b", "\ud800", "\x1b[31m", "x" * 500, 'say "hi"'])
def test_a_quoted_text_stays_on_one_short_printable_line(text: str) -> None:
    quoted = quote(text)
    quoted.encode()
    assert quoted.isprintable()
    assert len(quoted) < 100


def test_an_endless_value_is_named_and_not_printed() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert str(found(endless)) == "a list"
    assert Phrase("errors.invalid", field="f", reason=found({"a": endless})).of("ja") == "f: マッピング"
    assert len(str(found(16**9000))) < 60


def test_values_only_yaml_knows_are_named() -> None:
    assert found(date(2026, 4, 1)) == '"2026-04-01"'


@pytest.mark.parametrize(
    ("word", "guess"), [("v99", "v09"), ("Square", "square"), ("sqare", "square"), ("zzz", None), ("", None)]
)
def test_the_closest_name_is_guessed(word: str, guess: str | None) -> None:
    assert closest(word, ["v01", "v09", "square"]) == guess
