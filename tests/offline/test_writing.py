"""Owns the tests of what is written without a model."""

import random

import pytest

from service.conversation.writing import WriteContext
from service.locales import Language
from service.offline.writing import write
from tests.offline.talks import PEOPLE

KNOWN = {
    "en": ('(2 days ago) Ken said: "I blow glass."', 'I have not forgotten: Ken said: "I blow glass."'),
    "ja": ("(2日前) ケン「ガラス職人です。」", "忘れてはいません。ケン「ガラス職人です。」"),
}


@pytest.mark.parametrize("language", KNOWN)
def test_a_letter_says_what_is_remembered_as_a_person_would(language: Language) -> None:
    known, told = KNOWN[language]
    _, taro = PEOPLE[language]
    context = WriteContext(
        language=language, form="letter", writer=taro, place="", now="", mood="happy", to_name="Ken", known=(known,)
    )
    assert told in write(context, random.Random(1)).text.splitlines()
