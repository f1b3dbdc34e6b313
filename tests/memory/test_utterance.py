"""What a turn asserts: tests of service/memory/utterance.py."""

import pytest

from service.memory.utterance import asks_openly, asserted, is_question, of_itself, sentences


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


def test_only_what_is_stated_is_asserted() -> None:
    assert asserted("You are a thief? I am a baker.") == "I am a baker."
    assert asserted("君は泥棒か? わしはパン屋だ。") == "わしはパン屋だ。"
    assert asserted("双子の娘がいるんですか、いいですね。") == "いいですね。"
    assert sentences("") == [""]


def test_an_open_question_is_told_from_one_that_wants_a_yes() -> None:
    assert asks_openly("Where were you born?")
    assert asks_openly("お子さんは何人ですか?")
    assert not asks_openly("Were you born in the capital?")
    assert not asks_openly("都で生まれたんですか?")


@pytest.mark.parametrize("text", ["You are a spy.", "君は間者だ。", "Mio is a spy.", "ミオは間者だ。"])
def test_what_is_said_of_the_listener_tells_nothing_of_the_speaker(text: str) -> None:
    assert of_itself(text, frozenset({"Mio", "ミオ"})) == ""


@pytest.mark.parametrize("text", ["Seven brothers, how lively.", "兄弟が七人とは賑やかだ。"])
def test_an_echo_of_what_the_listener_claimed_tells_nothing_of_the_speaker(text: str) -> None:
    assert of_itself(text, frozenset({"Mio"}), claimed=True) == ""
    assert of_itself(text, frozenset({"Mio"})) == text


@pytest.mark.parametrize(
    "text",
    ["I have seven brothers too.", "Yes, seven brothers.", "うん、兄弟が七人だ。", "わしも七人兄弟だ。"],
)
def test_a_first_person_or_a_yes_makes_the_listeners_claim_the_speakers_own(text: str) -> None:
    assert of_itself(text, frozenset({"Mio"}), claimed=True) == text


@pytest.mark.parametrize(
    "text", ["Mio, the oven is my pride.", "ミオさん、双子の娘がいるんだ。", "To Mio, I tell all."]
)
def test_to_call_the_listener_by_name_is_not_to_speak_of_it(text: str) -> None:
    assert of_itself(text, frozenset({"Mio", "ミオ"})) == text
