"""Which of what is known a closing's model is shown: tests of service/memory/shown.py."""

import pytest

from service.llm.chat import estimate_tokens
from service.locales import Language
from service.memory.extraction import KnownFact
from service.memory.shown import SHOWN_TOKENS
from tests.memory.scenes import authored, scene

MARK: dict[Language, str] = {"en": " (a plan)", "ja": "(予定)"}
NAMES: dict[Language, tuple[str, str]] = {"en": ("Taro", "Harue"), "ja": ("太郎", "ハルエ")}
BOAT: dict[Language, str] = {"en": 'Taro said: "I own no boat."', "ja": "太郎「わしは舟を持っとらん。」"}
TWINS: dict[Language, str] = {
    "en": 'Taro said: "I have no daughters, and no time either."',
    "ja": "太郎「双子も娘もおらん。」",
}
CATS: dict[Language, str] = {"en": 'Taro said: "I like cats."', "ja": "太郎「猫が好きだ。」"}
languages = pytest.mark.parametrize("language", ["en", "ja"])


def remembered(*words: str, subject: str) -> tuple[KnownFact, ...]:
    return tuple(
        KnownFact(ref=f"m{i}", statement=f"key {i}", subject=subject, words=one) for i, one in enumerate(words, 1)
    )


def shown(*memories: KnownFact, language: Language) -> list[str]:
    where = scene(language, memories=memories)
    return [one.ref for one in where.shown_memories(where.participants[0])]


@languages
def test_the_same_words_are_shown_once_and_what_bears_most_on_the_talk_first(language: Language) -> None:
    taro, _ = NAMES[language]
    twice = BOAT[language] + MARK[language]
    known = remembered(CATS[language], BOAT[language], twice, TWINS[language], subject=taro)
    assert shown(*known, language=language) == ["m4", "m2"]


@languages
def test_of_those_who_took_no_part_nothing_can_be_over_and_nothing_is_shown(language: Language) -> None:
    _, harue = NAMES[language]
    assert shown(*remembered(BOAT[language], subject=harue), language=language) == []


@languages
def test_no_more_is_shown_than_there_is_room_for_and_the_best_always(language: Language) -> None:
    taro, _ = NAMES[language]
    many = remembered(*(BOAT[language].replace(".", f" {i}.").replace("。", f"{i}。") for i in range(20)), subject=taro)
    where = scene(language, memories=many)
    kept = where.shown_memories(where.participants[0])
    assert 1 < len(kept) < len(many)
    assert sum(estimate_tokens(one.shown) for one in kept) <= SHOWN_TOKENS
    long = remembered(BOAT[language] * 20, subject=taro)
    assert shown(*long, language=language) == ["m1"]


def test_facts_stand_in_their_order_and_who_somebody_is_whatever_is_talked_about() -> None:
    who = KnownFact(ref="n0", statement="34 years old", authored=True, always=True)
    facts = (who, *authored("bakes bread", "goes out with the boat", "has daughters"))
    where = scene(npc_facts=facts)
    assert [one.ref for one in where.shown_facts(where.participants[1])] == ["n0", "n2", "n3"]
