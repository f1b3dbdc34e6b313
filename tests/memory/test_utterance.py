"""The sentences of a turn: tests of service/memory/utterance.py."""

import pytest

from service.memory.utterance import asks_openly, is_question, sentences


@pytest.mark.parametrize(
    "text",
    [
        "You are a thief?",
        "君は泥棒か?",
        "双子の娘がいるんですか、",
        "どこの生まれですか。",
        "元気かい。",
        "本当？",
        "来ませんか",
        "お元気ですか。",
    ],
)
def test_a_question_is_known_by_its_mark_or_its_ending(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", ["I am a baker.", "鹿がいる。", "なるほど、静かだね。", "確かに。", "アリスか。"])
def test_a_statement_is_no_question(text: str) -> None:
    assert not is_question(text)


def test_who_takes_in_what_was_said_asks_only_with_a_question_mark() -> None:
    assert not is_question("なるほど、双子の娘ですか。")
    assert not is_question("そうなんですか。")
    assert is_question("なるほど、双子の娘ですか?")


def test_a_text_has_at_least_one_sentence() -> None:
    assert sentences("You are a thief? I am a baker.") == ["You are a thief?", "I am a baker."]
    assert sentences("双子の娘がいるんですか、いいですね。") == ["双子の娘がいるんですか、", "いいですね。"]
    assert sentences("") == [""]


def test_an_open_question_is_told_from_one_that_wants_a_yes() -> None:
    assert asks_openly("Where were you born?")
    assert asks_openly("お子さんは何人ですか?")
    assert not asks_openly("Were you born in the capital?")
    assert not asks_openly("都で生まれたんですか?")
