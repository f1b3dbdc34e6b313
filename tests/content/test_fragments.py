"""Owns the tests of fragments: what joins a person, what its own file decides, and what two cannot both say."""

from pathlib import Path
from typing import Any

import pytest

from service.content.check import examine
from service.content.load import load_content
from service.content.made import check_made, read_made, with_made
from service.errors import ProfileWrong
from tests.content.village import Village

SAILOR: dict[str, Any] = {
    "age": 30,
    "occupation": {"title": "sailor", "organization": "the harbour"},
    "bigFive": {"openness": "high", "neuroticism": "low"},
    "skills": ["knots", "rowing"],
    "preferences": {"likes": ["salt"], "dislikes": ["fog"]},
    "facts": ["has been around the cape"],
    "lines": ["Ahoy."],
    "customPrompt": "Swears mildly.",
    "goals": [{"goal": "See the south.", "importance": 7}],
}


def village(*used: str, **fragments: dict[str, Any]) -> Village:
    made = Village()
    made.people |= {f"fragments/{name}.yaml": values for name, values in fragments.items()}
    made.baker["use"] = list(used)
    return made


def test_a_person_has_what_its_fragments_say_and_its_own_word_wins(tmp_path: Path) -> None:
    made = village("sailor", "reader", sailor=SAILOR, reader={"skills": ["rowing", "reading"], "residence": "a loft"})
    made.baker.update(age=41, skills=["baking", "knots"], bigFive={"openness": "low"})
    made.baker["occupation"] = {"title": "baker"}
    baker = load_content(made.write(tmp_path)).cast("en").npcs["baker"]
    assert baker.identity == (
        "is 41 years old",
        "occupation: baker (the harbour)",
        "lives in a loft",
        "low openness",
        "low neuroticism",
    )
    told = [line.text for line in baker.persona]
    assert told == ["baking", "knots", "rowing", "reading", "salt", "fog"]
    assert baker.facts == ("The oven was built in 1950.", "has been around the cape")
    assert (baker.lines, baker.custom_prompt) == (("Fresh rye!", "Ahoy."), "Never gives credit.")
    assert [goal.goal for goal in baker.goals] == ["See the south."]


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        ({"age": 30}, {"age": 41}, "age"),
        ({"residence": "a loft"}, {"residence": {"en": "a barn"}}, "residence"),
        ({"bigFive": {"openness": "high"}}, {"bigFive": {"openness": "low"}}, "bigFive.openness"),
        ({"occupation": "sailor"}, {"occupation": {"title": "cook"}}, "occupation.title"),
        ({"voice": {"a": 1}}, {"voice": {"a": 2}}, "voice"),
    ],
)
def test_two_fragments_that_differ_are_named_with_the_key_unless_the_person_decides(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], path: str
) -> None:
    made = village("one", "other", one=one, other=other)
    (wrong,) = examine(made.write(tmp_path / "differ")).problems
    assert (wrong.file, wrong.key_path) == ("npcs/baker.yaml", path)
    assert "fragments/one.yaml and fragments/other.yaml" in wrong.message("en")
    assert "fragments/one.yaml と fragments/other.yaml" in wrong.message("ja")
    made.baker.update(one)
    assert examine(made.write(tmp_path / "decided")).problems == []


def test_a_key_that_a_file_leaves_empty_on_purpose_is_empty(tmp_path: Path) -> None:
    made = village("nobody", "sailor", nobody={"occupation": None}, sailor=SAILOR)
    (wrong,) = examine(made.write(tmp_path / "differ")).problems
    assert wrong.key_path == "occupation"
    made.baker["occupation"] = {"title": "baker"}
    baker = load_content(made.write(tmp_path / "own")).cast("en").npcs["baker"]
    assert baker.identity[1] == "occupation: baker (the harbour)"
    made.baker["occupation"] = None
    assert "harbour" not in str(load_content(made.write(tmp_path / "none")).cast("en").npcs["baker"].identity)


@pytest.mark.parametrize(
    ("fragments", "used", "file", "path", "words"),
    [
        ({"sailor": SAILOR}, "sailr", "npcs/baker.yaml", "use[0]", '(did you mean "sailor"?)'),
        ({"sailor": {"name": "Jo"}}, "sailor", "fragments/sailor.yaml", "name", "unknown key"),
        (
            {"sailor": {"relationships": [{"person": "bakr", "description": "x"}]}},
            "sailor",
            "fragments/sailor.yaml",
            "relationships[0].person",
            '(did you mean "baker"?)',
        ),
    ],
)
def test_what_is_wrong_in_a_fragment_or_its_use_is_named_where_it_stands(
    tmp_path: Path, fragments: dict[str, Any], used: str, file: str, path: str, words: str
) -> None:
    (wrong,) = examine(village(used, **fragments).write(tmp_path)).problems
    assert (wrong.file, wrong.key_path) == (file, path)
    assert words in wrong.message("en")


def test_who_is_made_at_run_time_has_its_fragments_too(tmp_path: Path) -> None:
    content = load_content(village(sailor=SAILOR).write(tmp_path))
    made = read_made("mika", b'{"kind": "player", "name": "Mika", "age": 19, "use": ["sailor"]}')
    check_made(content.checked, (), made)
    mika = with_made(content.cast("ja"), "ja", [made]).players["mika"]
    assert mika.identity[:2] == ("19歳である", "職業はsailor(the harbour)")
    with pytest.raises(ProfileWrong) as found:
        check_made(content.checked, (), read_made("mika", b'{"kind": "player", "name": "Mika", "use": ["sailr"]}'))
    assert "sailor" in found.value.found[0].reason.of("en")
