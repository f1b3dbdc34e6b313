"""The small talk: what is said in both registers, and that nothing of it is taken for something told."""

import pytest

from service.locales import Language
from service.offline.phrases import phrases
from tests.offline.talks import LANGUAGES

SLOTS = {"you": "Mio", "name": "Ken", "me": "Taro", "ago": "2 days ago", "said": "The mill broke.", "topic": "the bell"}
SLOTS |= {"relation": "my friend", "place": "the mill", "hours": "08:00-18:00"}
FAREWELLS = {"bye", "bye_back", "bye_cold"}


def wordings(language: Language) -> list[tuple[str, str]]:
    words = phrases(language)
    found = [key.split(".") for key in words.texts if key.startswith(("polite.", "plain."))]
    return [
        (key, text)
        for _, key in found
        for r in ("polite", "plain")
        for text in words.wordings(f"{r}.{key}", fact="F", **SLOTS)
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_small_talk_tells_nothing(language: Language) -> None:
    told = {key: phrases(language).told(text) for key, text in wordings(language)}
    assert {key for key, passages in told.items() if passages} == {"fact", "relation", "place", "open"}
    assert told["fact"] == ["F"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_goodbyes_and_only_they_are_known_as_goodbyes(language: Language) -> None:
    known = {key for key, text in wordings(language) if phrases(language).has("farewell", text)}
    unknown = {key for key, text in wordings(language) if not phrases(language).has("farewell", text)}
    assert known == FAREWELLS
    assert unknown.isdisjoint(FAREWELLS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_whoever_speaks_can_say_everything(language: Language) -> None:
    keys = {
        register: {key for key in phrases(language).texts if key.startswith(register)}
        for register in ("polite", "plain")
    }
    assert {key.removeprefix("polite") for key in keys["polite"]} == {
        key.removeprefix("plain") for key in keys["plain"]
    }
