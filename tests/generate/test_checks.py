"""Holds the checks of a dialogue to what each of them refuses."""

import pytest

from service.generate.stage import Said, fault

FINE = [Said("a", "The bell rang under the water last night."), Said("b", "I heard it too, down by the old quay.")]


@pytest.mark.parametrize(
    ("turns", "language", "found"),
    [
        (FINE, "en", None),
        (FINE[:1], "en", "empty"),
        ([*FINE, Said("a", "  ")], "en", "empty"),
        ([*FINE, Said("a", "The bell rang under the water last night!")], "en", "repeats"),
        ([*FINE, Said("b", "The bell rang under the water last night!")], "en", None),
        ([*FINE, Said("a", "As an AI language model I cannot hear bells.")], "en", "out_of_character"),
        ([*FINE, Said("a", "昨夜、水の中で鐘が鳴ったんだ。")], "en", "language"),
        ([Said("a", "昨夜、水の中で鐘が鳴ったんだ。"), Said("b", "The bell rang under the water.")], "ja", "language"),
        (
            [Said("a", "昨夜、水の中で鐘が鳴ったんだ。"), Said("b", "昨天夜里我听到了水下的钟声响起来了。")],
            "ja",
            "language",
        ),
        ([Said("a", "昨夜、水の中で鐘が鳴ったんだ。"), Said("b", "OK, Taro!")], "ja", None),
    ],
)
def test_a_dialogue_is_refused_for_what_no_turn_may_be(turns: list[Said], language: str, found: str | None) -> None:
    assert fault(turns, language) == found


def test_a_person_that_its_author_made_a_machine_may_say_so() -> None:
    turns = [*FINE, Said("a", "As an AI I do not sleep.")]
    assert fault(turns, "en", ["A robot that keeps the lighthouse"]) is None
