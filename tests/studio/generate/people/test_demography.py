"""Holds the file of a demography to its form: whatever is wrong is told with its file, its key path and what was
expected.
"""

from pathlib import Path

import pytest

from service.content.load import read_form
from studio.generate.dataset import PlanRefused
from studio.generate.people.plan import DemographyFile, check_demography, years_of
from tests.studio.generate.people.worlds import written


def read(directory: Path, text: str) -> DemographyFile:
    file = written(directory, text)
    return read_form(
        DemographyFile, file, lambda demography: check_demography(demography, file.name), refused=PlanRefused
    )


def errors(directory: Path, text: str, language: str = "en") -> str:
    with pytest.raises(PlanRefused) as refused:
        read(directory, text)
    return refused.value.sentence(language)


def test_shares_may_add_up_to_one_or_to_a_hundred_and_a_list_has_equal_shares(tmp_path: Path) -> None:
    found = read(tmp_path, "age: {'0-15': 20, '16-59': 50, '60-90': 30}\nsex: [woman, man]\nwork: {baker: 1}\n")
    assert found.age["16-59"] == 50
    assert found.sex == {"woman": 0.5, "man": 0.5}


def test_thirds_may_be_written_with_three_digits(tmp_path: Path) -> None:
    assert len(read(tmp_path, "temper: {a: 0.333, b: 0.333, c: 0.333}").temper) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sex: {woman: 0.5, man: 0.4}", "demography.yaml: sex: the shares add up to 0.9; expected 1, or 100"),
        (
            "more: {speech: {dialect: 0.7}}",
            "demography.yaml: more.speech: the shares add up to 0.7; expected 1, or 100",
        ),
        ("ties: {households: {alone: 1, flat: 0}}", 'demography.yaml: ties.households.flat: unknown household "flat"'),
        ("age: {young: 1}", 'demography.yaml: age.young: found "young"; expected years from 0 to 120'),
        ("age: ['30-20']", 'demography.yaml: age.30-20: found "30-20"; expected years'),
        ("age: ['10-20', '20-30']", 'demography.yaml: age.20-30: "20-30" meets "10-20"'),
        ("temper: [merry]\ntempers: {mery: {openness: high}}", 'tempers.mery: unknown temper "mery"'),
        ("work: {baker: lots}", 'demography.yaml: work.baker: found "lots"; expected a number'),
        ("work: {baker: -1}", "demography.yaml: work.baker: found the number -1; expected 0 or more"),
        ("sex: [man, man]", "demography.yaml: sex: found a list; expected a mapping from values to shares"),
        ("sexes: [man]", 'demography.yaml: sexes: unknown key "sexes"'),
        ("count: 0", "demography.yaml: count: found the number 0; expected 1 or more"),
        ("npcs: 1.5", "demography.yaml: npcs: found the number 1.5; expected 1 or less"),
        ("- age", "demography.yaml: found a list; expected a mapping"),
    ],
    ids=lambda text: text[:24] if ":" in text[:12] else "",
)
def test_what_is_wrong_is_told_with_its_place_and_what_was_expected(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in errors(tmp_path, text)


def test_it_is_told_in_japanese_too(tmp_path: Path) -> None:
    assert "sex: 割合の合計が 0.9 です。1(または100)になるようにしてください" in errors(
        tmp_path, "sex: {woman: 0.5, man: 0.4}", "ja"
    )


def test_years_are_a_range_or_one_year() -> None:
    assert years_of("18-29") == range(18, 30)
    assert years_of(" 40 ") == range(40, 41)
    assert years_of("18〜29") == range(18, 30)
    assert [years_of(text) for text in ("", "x", "9-1", "1-200", "-3")] == [None] * 5
