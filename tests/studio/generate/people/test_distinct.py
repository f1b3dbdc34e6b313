"""Holds that no two people are alike: not by name, however it is written, nor by traits, speech or words."""

import pytest

from studio.generate.people.asking import MadePerson, words_of
from studio.generate.people.distinct import Crowd, Fault, Persona
from tests.studio.generate.people.somebody import somebody


def persona(person: MadePerson) -> Persona:
    return Persona.of(person, words_of(person))


ADA = persona(somebody(0, name="Ada Reed"))


@pytest.mark.parametrize(
    ("there", "name"),
    [
        ("Ada Reed", "ada reed"),
        ("Ada Reed", "Ada  Reed"),
        ("マルタ", "まるた"),
        ("佐藤 葵", "佐藤葵"),
        ("Ｍｉｏ", "Mio"),
    ],
    ids=["case", "spaces", "kana", "japanese_space", "width"],
)
def test_a_name_is_the_same_however_it_is_written(there: str, name: str) -> None:
    crowd = Crowd([Persona(there, "a", "b", "c")])
    assert crowd.join(persona(somebody(1, name=name))) == Fault("same_name", there)
    assert crowd.join(persona(somebody(1, name="Bram Reed"))) is None
    assert crowd.join(persona(somebody(1, name="Bram Reed"))) == Fault("same_name", "Bram Reed")


def test_people_may_be_told_apart_by_what_they_are_like_how_they_speak_and_all_their_words() -> None:
    other = persona(somebody(1, name="Bram"))
    crowd = Crowd([ADA])
    assert crowd.join(other._replace(traits=f"{ADA.traits}!")) == Fault("same_traits", "Ada Reed")
    assert crowd.join(other._replace(speech=ADA.speech.upper())) == Fault("same_speech", "Ada Reed")
    assert crowd.join(other._replace(wording=ADA.wording)) == Fault("same_wording", "Ada Reed")
    assert crowd.join(other) is None
    assert crowd.join(other._replace(name="Cleo")) == Fault("same_traits", "Bram")
