"""What a statement claims by its form: tests of service/memory/claim.py."""

import pytest

from service.memory.claim import clauses, counted, is_assent, is_denial, is_negated, numbers, share, words


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("子供が二人", {"2"}),
        ("ふたりの子", {"2"}),
        ("２人", {"2"}),
        ("two children", {"2"}),
        ("twins", {"2"}),
        ("双子の娘", {"2"}),
        ("十二年", {"12"}),
        ("三百二十人", {"320"}),
        ("三十一年前", {"31"}),
        ("thirty-one years", {"31"}),
        ("eight hundred old words", {"800"}),
        ("八百枚の札", {"800"}),
        ("1,200 coins", {"1200"}),
        ("two or three cats", {"2", "3"}),
        ("one son", {"1"}),
    ],
)
def test_a_number_is_the_same_however_it_is_written(text: str, named: set[str]) -> None:
    assert numbers(text) == named


@pytest.mark.parametrize(
    "text",
    [
        "a couple of children",
        "no one knows",
        "千代さんの手紙",
        "村で一番",
        "十分に眠った",
        "八百屋",
        "子供が何人か",
        "some",
    ],
)
def test_words_that_only_look_like_numbers_name_none(text: str) -> None:
    assert numbers(text) == set()


def test_what_is_counted_is_told_from_what_is_measured() -> None:
    assert counted("双子の娘") == {"娘": {"2"}}
    assert counted("娘は十二歳だ") == {"歳": {"12"}}
    assert counted("twin daughters, 12 years old") == {"daught": {"2"}, "year": {"12"}}


@pytest.mark.parametrize(
    "text",
    [
        "I don’t drink",
        "has never married",
        "酒は飲まない",
        "酒を飲みません",
        "妻を持たず、一人だ",
        "わしは知らん。",
        "No, I do not.",
        "所帯を持たんかった",
    ],
)
def test_a_denial_is_seen(text: str) -> None:
    assert is_negated(text)


@pytest.mark.parametrize(
    "text",
    [
        "No, I have two daughters",
        "いいえ、双子です",
        "雨が降るかもしれない",
        "行かなければならない",
        "必ず来る",
        "みかんが好き",
        "no doubt it rains",
    ],
)
def test_what_only_sounds_like_a_denial_is_none(text: str) -> None:
    assert not is_negated(text)


def test_an_answer_opens_with_yes_or_no() -> None:
    assert is_denial("No, never.")
    assert is_denial("いいえ、縁がなくてね。")
    assert is_assent("Yes, and happily.")
    assert is_assent("ええ、三十年になります。")
    assert not is_denial("Nobody knows.")
    assert not is_assent("ええと、どうかな。")


def test_names_numbers_and_particles_are_no_telling_words() -> None:
    assert words("Taro has two daughters", frozenset({"Taro"})) == {"daught"}
    assert words("太郎さんには娘が二人いる", frozenset({"太郎"})) == {"娘"}
    assert words("Taro is very", frozenset({"Taro"})) == set()


def test_a_text_of_nothing_but_hiragana_still_has_to_be_said() -> None:
    assert words("ねこがすき")
    assert share(words("ねこがすき"), "いぬならいるよ") < 0.5


def test_clauses_part_what_is_affirmed_from_what_is_denied() -> None:
    assert clauses("No, I never married, but I have a son.") == ("i never married", "i have a son")
