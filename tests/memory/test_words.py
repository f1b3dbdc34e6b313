"""Owns the tests of how what somebody said is found again in the words in which it is remembered."""

import pytest

from service.locales import Language
from service.memory.words import Words, quoted_in

NAMES: dict[Language, str] = {"en": "Aoi", "ja": "葵"}
SAID: dict[Language, str] = {"en": "I rent a room.", "ja": "部屋を借りています。"}


@pytest.mark.parametrize("asked", ["", "?"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_was_said_is_found_in_the_words_it_is_remembered_in(language: Language, asked: str) -> None:
    name, said = NAMES[language], SAID[language]
    shown = Words(speaker_name=name, asked=asked, said=said).rendered(language)
    assert quoted_in(shown, name, language).rstrip("。") == said.rstrip("。")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_turn_that_was_heard_is_quoted_without_the_speakers_name(language: Language) -> None:
    name, said = NAMES[language], SAID[language]
    assert quoted_in(f"{name}: {said}", name, language) == said


def test_a_statement_stays_as_it_is() -> None:
    assert quoted_in("Aoi rents a room.", "Aoi", "en") == "Aoi rents a room."
