"""Holds people of authored parts to their plan, and to being different from one another."""

import re

import pytest

from service.content.profile import CharacterProfile
from service.locales import languages
from service.offline.phrases import lines_of, phrases
from studio.generate.near import Distinct
from studio.generate.people.asking import MadePerson, words_of
from studio.generate.people.distinct import Crowd, Persona
from studio.generate.people.parts import Slot, parts
from studio.generate.people.rehearsal import person
from tests.studio.generate.people.worlds import plan_of, rehearsed, village


def slot(**more: object) -> Slot:
    given: dict[str, object] = {
        "number": 3, "seed": 12, "age": 40, "sex": "female", "work": "baker", "temper": "shy", "household": 0,
    }  # fmt: skip
    return Slot(**(given | more))  # type: ignore[arg-type]


def persona_of(made: MadePerson) -> Persona:
    traits = "\n".join((made.personality, *made.tendencies))
    return Persona(made.name, traits, "\n".join(made.lines), words_of(made))


@pytest.mark.parametrize("language", languages())
def test_of_two_hundred_people_no_two_are_alike(language: str) -> None:
    crowd, wording = Crowd(), list[str]()
    near = Distinct(lambda number: wording[number])
    for _, made in rehearsed(plan_of(200, 1, language), language, village()):
        assert crowd.join(persona_of(made)) is None, made.name
        wording.append(words_of(made))
        assert near.add(len(wording) - 1, wording[-1]) is None, made.name


@pytest.mark.parametrize("language", languages())
def test_an_offline_speaker_finds_a_line_for_everything(language: str) -> None:
    words = phrases(language)
    for one, made in rehearsed(plan_of(60, 2, language), language, village()):
        profile = CharacterProfile(
            id="x", name=made.name, personality=made.personality, home="x", lines=tuple(made.lines)
        )
        kinds = {kind for kind in ("greeting", "farewell", "question", "statement") if lines_of(profile, kind, words)}
        assert len(kinds) == 4, (one, kinds, made.lines)


@pytest.mark.parametrize("language", languages())
def test_nobody_has_lived_through_what_it_is_too_young_for(language: str) -> None:
    late = {one.what for one in parts(language).adult.pasts if one.since > 20}
    assert late
    for number in range(60):
        assert late.isdisjoint(person(slot(age=20, number=number), language, set()).experiences)
        small = person(slot(age=4, work="", number=number), language, set())
        assert not {*small.facts, *small.lines} & {*parts(language).pupil.facts, *parts(language).pupil.lines}
        child = person(slot(age=9, work="", number=number), language, set())
        assert set(child.experiences) <= {one.what for one in parts(language).child.pasts}


@pytest.mark.parametrize("language", languages())
def test_every_part_has_both_registers_where_it_has_one_and_no_mark_is_left(language: str) -> None:
    texts = [*_texts(parts(language).model_dump())]
    assert all(text.count("[") == text.count("]") <= text.count("|") <= 2 * text.count("[") for text in texts)
    assert all(
        set(re.findall(r"{(\w+)}", text)) <= {"me", "work", "place", "one", "other", "given", "family"}
        for text in texts
    )
    for _, made in rehearsed(plan_of(60, 4, language), language, village()):
        assert not re.search(r"[\[\]{}|]|[？！]。|。。", str([*_texts(made.model_dump())])[1:-1])


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for one in inner for text in _texts(one)]


def test_every_language_has_the_same_tempers_works_sexes_and_ties() -> None:
    shapes = [
        (set(one.tempers), set(one.works), set(one.sexes), set(one.ties), set(one.day), one.works["baker"].ages)
        for one in map(parts, languages())
    ]
    assert shapes.count(shapes[0]) == len(shapes)
    both = list(map(parts, languages()))
    assert all(one.tempers[name].traits == both[0].tempers[name].traits for one in both for name in one.tempers)
    assert all(one.works[name].ages == both[0].works[name].ages for one in both for name in one.works)
