"""Owns the tests of reading a finished answer."""

import json

import pytest

from service.conversation.acting import CharacterTurn, OpeningTurn
from service.errors import ModelBroken
from service.llm.reply import mend_surrogates, read_answer, without_thought
from tests.llm.prompts import TURN

WHOLE = json.dumps(TURN, ensure_ascii=False)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        json.dumps(TURN, indent=2),
        f"```json\n{WHOLE}\n```",
        f"Sure! Here it is: {WHOLE} I hope {{that}} helps.",
        f'<think>{{"utterance": "no"}}</think>{WHOLE}',
        f"I first thought {{a}} or {{b}}.</think>{WHOLE}",
        f"{WHOLE}{WHOLE}",
        f'An example: {{"a": 1}}. Mine: {WHOLE}',
        f"[{WHOLE}]",
    ],
)
def test_the_one_object_is_found_in_whatever_stands_around_it(text: str) -> None:
    assert read_answer(text, CharacterTurn, "m").model_dump() == TURN


def test_a_key_that_nobody_asked_for_is_passed_over() -> None:
    told = read_answer(json.dumps({**TURN, "confidence": 0.9}), CharacterTurn, "m")
    assert told.model_dump() == TURN


def test_a_thought_inside_what_is_said_is_not_said() -> None:
    for thinks, said in ((" <think> she lies </think> is", "a is"), (" <think> she lies", "a"), ("</think>", "a")):
        answer = json.dumps({**TURN, "utterance": f"a{thinks}"})
        assert read_answer(answer, CharacterTurn, "m").utterance == said


def test_a_raw_line_break_inside_a_string_is_accepted() -> None:
    text = WHOLE.replace("!", "\n")
    assert "\n" in read_answer(text, CharacterTurn, "m").utterance


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Good day, traveller.", "no JSON object"),
        ('{"utterance": "cut of', "no JSON: Unterminated string"),
        (json.dumps({**TURN, "emotion": "hungry"}), "emotion: Input should be"),
        ("{}", "and 1 more"),
        ('{"a":' * 100_000, "nested too deep"),
    ],
)
def test_a_broken_answer_says_shortly_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(ModelBroken) as caught:
        read_answer(text, CharacterTurn, "m")
    assert reason in str(caught.value.facts["reason"])
    assert len(str(caught.value.facts["reason"])) < 300


def test_an_answer_that_is_too_long_is_broken_and_not_quoted() -> None:
    with pytest.raises(ModelBroken) as caught:
        read_answer(json.dumps({**TURN, "goal": "long " * 100, "success_criteria": "Any"}), OpeningTurn, "m")
    assert "at most 200" in str(caught.value.facts["reason"])
    assert "long long" not in str(caught.value.facts["reason"])


def test_a_thought_that_never_ends_is_no_answer() -> None:
    assert without_thought("<think>hm, " + WHOLE) == ""


def test_halves_of_a_pair_are_joined_and_a_lone_half_is_replaced() -> None:
    assert mend_surrogates("\ud83e\udd8a \ud83e") == "🦊 \ufffd"
