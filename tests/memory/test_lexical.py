"""Full text finds Japanese and English, and takes any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.memory.lexical import MAX_QUERY_TOKENS, is_named, normal, query_tokens, tokens


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("太郎の家族", "太郎は既婚者で子供が2人いる"),
        ("子供", "太郎は既婚者で子供が2人いる"),
        ("太郎 結婚", "太郎は既婚者で子供が2人いる"),
        ("妻", "花子は太郎の妻だ"),
        ("妻は誰?", "太郎の妻が花子だ"),
        ("ﾊﾟﾝ", "パン屋は朝が早い"),
        ("２人", "子供が2人いる"),
        ("ＡＰＰＬＥ", "She sells apples"),
        ("farm", "the farm's gate"),
        ("married", "IS_MARRIED_TO"),
        ("cities", "a city by the sea"),
        ("boxes", "a box"),
        ("don’t", "I don't know"),
        ("STRASSE", "die Straße"),
        ("who sold the boat", "Taro is selling boats"),
        ("wife", "their wives"),
        ("when did they marry", "Taro married in 2011"),
        ("stopping", "she stopped"),
    ],
)
def test_a_question_shares_a_token_with_the_fact_that_answers_it(query: str, fact: str) -> None:
    assert set(query_tokens(query)) & set(tokens(fact))


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("魚", "太郎は既婚者だ"),
        ("は", "太郎は既婚者だ"),
        ("cat", "catalogue"),
        ("bus", "bu"),
        ("string", "str"),
        ("2000", "200"),
    ],
)
def test_a_question_shares_none_with_a_fact_about_something_else(query: str, fact: str) -> None:
    assert not set(query_tokens(query)) & set(tokens(fact))


@pytest.mark.parametrize("text", ["", " \n\t　", "!?…", "🎉👨‍👩‍👧", '"" * () ^ : -', "\0", "\ud800", "・"])
def test_a_text_without_words_has_no_tokens(text: str) -> None:
    assert tokens(text) == []


def test_a_long_question_is_bounded_and_a_fact_is_not() -> None:
    page = " ".join(f"word{n}" for n in range(500))
    assert query_tokens(page) == tuple(tokens(page)[:MAX_QUERY_TOKENS])
    assert len(tokens(page)) == 500
    assert len(tokens("xy" * 10_000)[0]) == 64


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_a_text_finds_itself_in_any_width_and_case(text: str) -> None:
    assert tokens(normal(text)) == tokens(text)


def test_names_are_compared_without_width_case_and_surrounding_space() -> None:
    assert normal(" ＨＡＮＡＫＯ  Sato\u3000") == "hanako sato" == normal("Hanako Sato")
    assert normal("ﾀﾛｳ") == "タロウ"


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("Bo", "The boathouse burns.", False),
        ("Bo", "That is Bo's boat.", True),
        ("Bo", "Was it you, bo?", True),
        ("Zoë", "The Zoës are away.", False),
        ("Old Gon", "They spoke of old gon.", True),
        ("葵", "葵祭の夜に会おう。", False),
        ("葵", "昨日葵が来た。", True),
        ("太郎", "桃太郎の話をした。", False),
        ("太郎", "太郎さんに会った。", True),
        ("太郎", "太郎様がお着きです。", True),
        ("ボー", "ボートが燃えた。", False),
        ("ボー", "ボーが来た。", True),
        ("Sam", "サムはSamと書く。", True),
        ("!", "Look out!", True),
    ],
)
def test_a_name_is_named_where_it_is_a_word_of_its_own(name: str, text: str, *, named: bool) -> None:
    assert is_named(name, text) is named
