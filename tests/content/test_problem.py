"""How a problem reads."""

from datetime import date

import pytest

from service.content.fields import closest, found, quote
from service.locales import Phrase


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
