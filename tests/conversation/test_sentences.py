"""Sentences are cut in both languages as soon as they are certain, and stage directions are taken out of them."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.conversation.utterance import Sentence, cut, strength, within


def told(utterance: str) -> list[str]:
    """The sentences in short: a gesture stands in angle brackets before its sentence."""
    return [f"<{one.gesture}>{one.text}" if one.gesture else one.text for one in cut(utterance, is_whole=True)]


@pytest.mark.parametrize(
    ("utterance", "sentences"),
    [
        ("おはよう。今日は早いね！え？！本当？", ["おはよう。", "今日は早いね！", "え？！", "本当？"]),
        ("「おはよう。」と彼は言った。「うん」って。", ["「おはよう。」と彼は言った。", "「うん」って。"]),
        ("「おはよう」「元気？」はい", ["「おはよう」", "「元気？」", "はい"]),
        ("『行こう！』そう言った", ["『行こう！』", "そう言った"]),
        ("そうか……。えっと……その、船は……　まだだ", ["そうか……。", "えっと……その、船は……", "まだだ"]),
        ("３．５マイルだ．すごい!ほんと?うん", ["３．５マイルだ．", "すごい!", "ほんと?", "うん"]),
        ("Good morning, Mr. Smith. It is 3.5 miles.", ["Good morning, Mr. Smith.", "It is 3.5 miles."]),
        ("Bring rope, e.g. the old one. J. Lee has it.", ["Bring rope, e.g. the old one.", "J. Lee has it."]),
        ("No. It was I. Then No. 5 came.", ["No.", "It was I.", "Then No. 5 came."]),
        ('He said "Stop!" and left. "Wait!" I cried.', ['He said "Stop!" and left.', '"Wait!"', "I cried."]),
        ("Well... I see. It's 5 p.m. Come in.", ["Well... I see.", "It's 5 p.m.", "Come in."]),
        ("one\ntwo  \n\n three", ["one", "two", "three"]),
        ("*smiles* Good morning. (waves)", ["<smiles>Good morning.", "<waves>"]),
        ("Good morning (waves). (nods) *bows* Bye", ["<waves>Good morning.", "<nods bows>Bye"]),
        ("（微笑んで）おはよう。（手を振る。）またね（笑）。", ["<微笑んで>おはよう。", "<手を振る。 笑>またね。"]),
        ("My boat (the red one) is gone. I *really* mean it.", ["My boat (the red one) is gone.", "I really mean it."]),
        ("*Never* do that! 2 * 3 is 6. (half open", ["Never do that!", "2 * 3 is 6.", "(half open"]),
        ("", []),
        ("  ", []),
    ],
)
def test_sentences_end_where_a_reader_of_the_language_would_end_them(utterance: str, sentences: list[str]) -> None:
    assert told(utterance) == sentences


def test_a_sentence_is_certain_as_soon_as_something_else_follows_it_and_the_last_one_at_the_end() -> None:
    assert cut("おはよう。", is_whole=False) == []
    first = Sentence(index=0, text="おはよう。", start=0, end=5, gesture=None, is_final=False)
    assert cut("おはよう。元", is_whole=False) == [first]
    assert [one.is_final for one in cut("おはよう。元気", is_whole=True)] == [False, True]
    assert cut("Good morning. ", is_whole=False) == []
    assert [one.text for one in cut("Good morning. H", is_whole=False)] == ["Good morning."]


@pytest.mark.parametrize(
    ("text", "expected"), [("Go.", 0.5), ("Go!", 0.8), ("行け！！", 1.0), ("そうか……。", 0.3), ("Well...", 0.3)]
)
def test_how_strongly_a_sentence_is_said_shows_in_its_marks(text: str, expected: float) -> None:
    assert strength(text) == expected


PIECES = (
    *"。．！？!?.…「」『』（）()*\"'\n 　とっ3a",
    *(
        "...",
        "Mr.",
        "e.g.",
        "No.",
        "I.",
        "Good morning",
        "おはよう",
        "*smiles*",
        "(waves)",
        "（笑）",
        "って",
        "three",
        "🎣",
    ),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_what_was_told_is_never_taken_back_and_nothing_is_lost(utterance: str) -> None:
    whole = cut(utterance, is_whole=True)
    for length in range(len(utterance) + 1):
        certain = cut(utterance[:length], is_whole=False)
        assert certain == whole[: len(certain)]
    at = 0
    for one in whole:
        assert one.start >= at
        assert not utterance[at : one.start].strip()
        assert letters(one.text + (one.gesture or "")) == letters(utterance[one.start : one.end])
        at = one.end
    assert not utterance[at:].strip()
    assert [one.is_final for one in whole] == [False] * (len(whole) - 1) + [True] * bool(whole)


def letters(text: str) -> list[str]:
    return sorted(filter(str.isalnum, text))


LONG = ("The boat is out. " * 30, "船は沖に出ている。" * 60, "no stop and no end " * 30, "長" * 500)


@pytest.mark.parametrize("text", LONG)
@pytest.mark.parametrize("most", [100, 101, 400])
def test_what_is_kept_of_a_longer_text_is_told_while_it_comes_and_nothing_else(text: str, most: int) -> None:
    kept = within(text, most, is_whole=True)
    assert text.startswith(kept)
    assert most * 3 // 4 <= len(kept) <= most
    told = [within(text[:length], most, is_whole=False) for length in range(len(text) + 1)]
    assert all(after.startswith(before) for before, after in pairwise(told))
    assert kept.startswith(told[-1])
    assert within(kept, most, is_whole=True) == kept
