"""Marks that need no model: a fault is 0 in its dimension, and likeness to earlier lines falls evenly."""

import pytest

from service.content.profile import NpcProfile
from service.locales import Language
from service.memory.secrets import Discretion
from service.quality.checks import Dimension, Exchange, Standard, by_rule

SECRET = "Taro once hid a stolen lantern beneath the old bridge."


def standard(language: Language = "en", **more: str) -> Standard:
    facts = ("Taro has two children.",) if language == "en" else ("太郎は大工だ。",)
    taro = NpcProfile(id="t", name="Taro", personality="Calm.", facts=facts, lines=("Mind the step.",), **more)
    return Standard(speaker=taro, language=language, discretion=Discretion(kept=(SECRET,)))


@pytest.mark.parametrize(
    ("line", "language", "wrong"),
    [
        ("As an AI language model I have no lantern to give.", "en", "persona"),
        ("**Tools** you need: a saw.", "en", "persona"),
        ("わたしは大工で、毎日この町で家を建てています。", "en", "fluency"),
        ("I have lived by the river with my two children.", "ja", "fluency"),
        ("I once hid a stolen lantern beneath the old bridge.", "en", "suitability"),
        ("Good evening to you, and mind the step there.", "en", "similarity"),
    ],
)
def test_a_fault_is_nothing_in_its_dimension(line: str, language: Language, wrong: Dimension) -> None:
    before = [Exchange("Hello.", "Good evening to you and mind the step there!")]
    marks, is_wrong = by_rule(Exchange("What next?", line), before, standard(language))
    assert is_wrong
    assert marks[wrong].score == 0
    assert set(marks) == {wrong, "similarity"}


def test_the_reason_of_a_secret_does_not_tell_it() -> None:
    marks, _ = by_rule(Exchange("", SECRET), [], standard())
    assert marks["suitability"].reason == "gives away what it keeps to itself"


def test_a_line_like_none_before_has_the_highest_mark_and_one_that_is_rather_like_one_a_lower() -> None:
    before = [Exchange("", "The ferry leaves at nine from the western quay, if the fog lifts.")]
    new, _ = by_rule(Exchange("", "My sister bakes bread with seeds in it."), before, standard())
    like, is_wrong = by_rule(
        Exchange("", "The ferry leaves at ten from the western quay, unless it rains."), before, standard()
    )
    assert new["similarity"].score == 9
    assert 0 < like["similarity"].score < 7
    assert not is_wrong
