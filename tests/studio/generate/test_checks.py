"""Holds the checks of a dialogue to what each of them refuses."""

import pytest

from studio.generate.dialogues import fault

FINE = [("a", "The bell rang under the water last night."), ("b", "I heard it too, down by the old quay.")]


@pytest.mark.parametrize(
    ("turns", "language", "found"),
    [
        (FINE, "en", None),
        (FINE[:1], "en", "empty"),
        ([*FINE, ("a", "  ")], "en", "empty"),
        ([*FINE, ("a", "The bell rang under the water last night!")], "en", "repeats"),
        ([*FINE, ("b", "The bell rang under the water last night!")], "en", None),
        ([*FINE, ("a", "As an AI language model I cannot hear bells.")], "en", "out_of_character"),
        ([*FINE, ("a", "昨夜、水の中で鐘が鳴ったんだ。")], "en", "language"),
        ([("a", "昨夜、水の中で鐘が鳴ったんだ。"), ("b", "The bell rang under the water.")], "ja", "language"),
        (
            [("a", "昨夜、水の中で鐘が鳴ったんだ。"), ("b", "昨天夜里我听到了水下的钟声响起来了。")],
            "ja",
            "language",
        ),
        ([("a", "昨夜、水の中で鐘が鳴ったんだ。"), ("b", "OK, Taro!")], "ja", None),
    ],
)
def test_a_dialogue_is_refused_for_what_no_turn_may_be(
    turns: list[tuple[str, str]], language: str, found: str | None
) -> None:
    assert fault(turns, language) == found


def test_a_person_that_its_author_made_a_machine_may_say_so() -> None:
    turns = [*FINE, ("a", "As an AI I do not sleep.")]
    assert fault(turns, "en", ["A robot that keeps the lighthouse"]) is None
