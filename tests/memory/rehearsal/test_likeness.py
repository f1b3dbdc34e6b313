"""Likeness without a model: what fits, what holds what, what is worth quoting."""

import pytest

from service.memory.rehearsal.likeness import (
    clip,
    fit,
    holds,
    is_farewell,
    key_phrase,
    sameness,
    sentences,
    tells_something,
)


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("夏祭りのことを聞く", "夏祭りの太鼓は毎年叩くんだよ。", "この町で30年暮らしている"),
        ("Ask about the festivals", "The festival drums are loud.", "I have lived here for thirty years."),
    ],
)
def test_what_shares_its_words_fits_better(query: str, better: str, worse: str) -> None:
    assert fit(query, better) > fit(query, worse)


def test_a_text_holds_a_fact_in_another_ending() -> None:
    assert holds("実はね、双子の娘が町の学校に通っているんだ。", "双子の娘が町の学校に通っている") == 1
    assert holds("I have twin daughters.", "has twin daughters") == 1
    assert holds("I keep bees.", "has twin daughters") == 0


def test_sameness_runs_from_nothing_to_all() -> None:
    assert sameness("潮が引いた", "潮が引いた。") == 1
    assert sameness("abc", "xyz") == 0
    assert sameness("", "") == 1


def test_sentences_keep_their_quotes_together() -> None:
    assert sentences("そうか。「また来い。」と言った!行くぞ") == ["そうか。", "「また来い。」と言った!", "行くぞ"]
    assert sentences('He said: "Go." Then he left. Well?') == ['He said: "Go."', "Then he left.", "Well?"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("双子の娘が町で学んでいる", "双子の娘"),
        ("夏祭りの太鼓は毎年叩くんだよ。", "夏祭りの太鼓"),
        ("この町で30年暮らしているんだ。", ""),
        ("The children beat the drums at the harbour.", "children"),
        ("I mended the old mill wheel.", "old mill wheel"),
        ("So it goes.", ""),
    ],
)
def test_a_key_phrase_is_a_noun_or_nothing(text: str, key: str) -> None:
    found = key_phrase(text)
    assert found == key if key != "children" else found in ("children", "drums", "harbour")


def test_a_key_phrase_avoids_what_it_is_told_to() -> None:
    assert key_phrase("双子の娘が町の学校に通う", ("双子の娘",)) == "町の学校"


@pytest.mark.parametrize("text", ["それでは、また来ますね。", "失礼するよ。", "Goodbye, Taro.", "See you soon."])
def test_farewells_are_known(text: str) -> None:
    assert is_farewell(text)


@pytest.mark.parametrize("text", ["また来てくれたんだね。", "Good to see you."])
def test_a_welcome_is_no_farewell(text: str) -> None:
    assert not is_farewell(text)


def test_greetings_tell_nothing_and_news_does() -> None:
    assert not tells_something("おはようございます、太郎さん。")
    assert not tells_something("Welcome, it is nice to meet you.")
    assert tells_something("粉ひき小屋の水車が折れた。")
    assert tells_something("The mill wheel broke in the storm.")


def test_a_clip_keeps_whole_sentences_where_it_can() -> None:
    assert clip("一つ。二つ。三つ。", 7) == "一つ。二つ。"
    assert clip("x" * 30, 10) == "x" * 9 + "…"
