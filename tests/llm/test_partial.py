"""Owns the tests of reading an answer while it is being written."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.llm.reply import PartialString

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS.filter(lambda key: key != "utterance"), VALUES, max_size=3)


def heard(text: str, piece: int) -> list[str]:
    reader = PartialString("utterance")
    return [reader.feed(text[i : i + piece]) for i in range(0, len(text), piece)]


@settings(max_examples=150, deadline=None)
@given(
    before=OBJECTS, spoken=TEXTS, after=OBJECTS, piece=st.integers(1, 9), ascii_only=st.booleans(), spaced=st.booleans()
)
def test_however_it_is_cut_the_text_grows_to_what_a_whole_parse_gives(
    before: dict[str, object], spoken: str, after: dict[str, object], piece: int, ascii_only: bool, spaced: bool
) -> None:
    value = {**before, "utterance": spoken, **after}
    # a key of `before` repeated in `after` keeps its place: the utterance stays where it is
    text = json.dumps(value, ensure_ascii=ascii_only, indent=2 if spaced else None)
    texts = heard(text, piece)
    assert texts[-1] == spoken
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


def test_a_pair_that_the_server_split_into_two_chunks_becomes_one_character() -> None:
    reader = PartialString("utterance")
    assert reader.feed('{"utterance": "\ud83e') == ""
    assert reader.feed('\udd8a"}') == "🦊"


@pytest.mark.parametrize("half", ["\\ud83e", "\\udd8a"])
def test_at_half_a_pair_what_was_heard_before_it_stays(half: str) -> None:
    assert heard(f'{{"utterance": "ab{half}x"}}', 3)[-1] == "ab"


@pytest.mark.parametrize("piece", [1, 4, 1000])
@pytest.mark.parametrize(
    "before",
    [
        "```json\n",
        "Here is my {answer} as asked:\n",
        '<think>Maybe {"utterance": "no"}?</think>',
        '"utterance": "no"}</think>\n',
        'Maybe {"utterance": "a draft"}?</think>',
        'Maybe {"utterance": "a draft", or</think>',
    ],
)
def test_what_stands_before_the_object_is_passed_over(before: str, piece: int) -> None:
    assert heard(before + '{"utterance": "yes", "x": 1}', piece)[-1] == "yes"


def test_nothing_inside_a_think_block_is_reported() -> None:
    assert set(heard('<think>{"utterance": "no"}', 1)) == {""}


def test_only_the_key_of_the_top_level_counts() -> None:
    text = '{"inner": {"utterance": "no"}, "list": [{"utterance": "no"}], "said": "utterance", "utterance": "yes"}'
    assert set(heard(text, 1)) == {"", "y", "ye", "yes"}


def test_of_a_key_that_comes_twice_the_last_counts_as_in_a_whole_parse() -> None:
    assert heard('{"utterance": "no", "utterance": "yes"}', 1)[-1] == "yes"


def test_another_object_after_the_first_is_not_read() -> None:
    assert heard('{"x": 1} {"utterance": "no"}', 1)[-1] == ""


def test_what_stood_before_the_text_is_known_with_its_first_word() -> None:
    reader = PartialString("utterance")
    assert reader.feed('{"emotion": "hap') == ""
    assert reader.before("emotion") is None
    assert reader.feed('py", "utterance": "G') == "G"
    assert reader.before("emotion") == "happy"
    late = PartialString("utterance")
    late.feed('{"utterance": "Good", "emotion": "hap')
    assert late.before("emotion") is None
