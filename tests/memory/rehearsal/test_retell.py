"""Authored facts in other mouths: the wrapping must read right in both languages."""

import pytest

from service.locales import Language
from service.memory.rehearsal.retell import person_clause, said, told, wished


@pytest.mark.parametrize(
    ("fact", "plain", "polite"),
    [
        ("既婚者", "既婚者なんだ。", "既婚者なんです。"),
        (
            "双子の娘が町の学校に通っている",
            "双子の娘が町の学校に通っているんだ。",
            "双子の娘が町の学校に通っているんです。",
        ),
        ("昨年妻を亡くした", "昨年妻を亡くしたんだ。", "昨年妻を亡くしたんです。"),
        ("本をよく読んだ", "本をよく読んだんだ。", "本をよく読んだんです。"),
        ("パン屋だ", "パン屋なんだ。", "パン屋なんです。"),
        ("地元民である", "地元民なんだ。", "地元民なんです。"),
        ("足が悪い", "足が悪いんだ。", "足が悪いんです。"),
        ("太郎は町で30年暮らしている", "町で30年暮らしているんだ。", "町で30年暮らしているんです。"),
        ("毎朝四時に起きます。", "毎朝四時に起きます。", "毎朝四時に起きます。"),
    ],
)
def test_a_japanese_fact_is_told_plainly_or_politely(fact: str, plain: str, polite: str) -> None:
    assert told(fact, "太郎", "ja") == plain
    assert told(fact, "太郎", "ja", polite=True) == polite


@pytest.mark.parametrize(
    ("fact", "spoken"),
    [
        ("has twin daughters at the village school", "I have twin daughters at the village school."),
        ("is married", "I am married."),
        ("lost his wife last winter", "I lost my wife last winter."),
        ("runs the bakery and bakes at dawn", "I run the bakery and bake at dawn."),
        ("no longer makes house calls after dark", "I no longer make house calls after dark."),
        ("Taro never eats fish", "I never eat fish."),
        ("The bakery opens at six.", "The bakery opens at six."),
        ("two children", "One thing about me: two children."),
    ],
)
def test_an_english_fact_is_told_in_the_first_person(fact: str, spoken: str) -> None:
    assert told(fact, "Taro", "en") == spoken


def test_what_cannot_be_turned_safely_is_quoted() -> None:
    assert '"Taro has a daughter who bakes her own bread."' in told(
        "has a daughter who bakes her own bread", "Taro", "en"
    )
    assert "既婚者" in told("既婚者", "Taro", "en")
    assert "married" in told("married", "太郎", "ja")


@pytest.mark.parametrize(
    ("language", "fact", "clause"),
    [("ja", "既婚者", "既婚者だ"), ("ja", "パン屋である", "パン屋だ"), ("en", "keeps bees", "Taro keeps bees")],
)
def test_a_fact_is_reported_of_somebody(language: Language, fact: str, clause: str) -> None:
    assert said(fact, "Taro" if language == "en" else "太郎", language) == clause


def test_a_fact_is_said_back_to_the_one_it_is_about() -> None:
    assert person_clause("is married to a weaver", "Taro", "you") == "you are married to a weaver"


@pytest.mark.parametrize(
    ("language", "wish", "own"),
    [
        ("ja", "祖母がなぜ村を去ったのかを知る", "祖母がなぜ村を去ったのかを知りたい"),
        ("ja", "弟を見つける", "弟を見つけたい"),
        ("ja", "図鑑を完成させる", "図鑑を完成させたい"),
        ("ja", "鐘の音を聞く", "鐘の音を聞きたい"),
        ("ja", "世界平和", ""),
        ("en", "Find out why her grandmother Chiyo left", "find out why my grandmother Chiyo left"),
        ("en", "Get Genzo to rest his back", ""),
    ],
)
def test_a_goal_of_life_is_spoken_as_a_wish_or_not_at_all(language: Language, wish: str, own: str) -> None:
    assert wished(wish, language) == own
