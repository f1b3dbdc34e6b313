"""A promise is what its maker said: a place or a time that was not said stays blank, and only a plain plan for a time
moves the world.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from service.memory.promise import ValidPromise
from service.memory.validate import validate_extraction
from service.store.event_kinds import RejectionReason
from tests.memory.answers import commitment
from tests.memory.scenes import answer, scene
from world.time import WorldTime, parse_time


def judged(lines: Sequence[str], fields: Mapping[str, Any]) -> ValidPromise | RejectionReason:
    """Mio speaks first; Taro is said to have promised it."""
    language = "ja" if lines[0][0] > "z" else "en"
    extraction = answer(commitments=[commitment(**{"to": "a", **fields})])
    _, taro = validate_extraction(extraction, scene(language, tuple(lines)), affinity_step=15).sides
    return taro.commitments[0] if taro.commitments else taro.rejected[0].reason


def kept(lines: Sequence[str], **fields: Any) -> ValidPromise:
    """The same, of a promise that is kept."""
    found = judged(lines, fields)
    assert isinstance(found, ValidPromise)
    return found


ASKED = "Will you mend the roof?"
FIVE = parse_time("2026-04-02T17:00")


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        (
            (ASKED, "I will mend the roof tomorrow at five. At the mill, yes?"),
            {"what": "mend the roof", "where": "the mill", "when": "2026-04-02T17:00"},
        ),
        (
            ("屋根を直してくれますか?", "明日の夕方五時、水車小屋で屋根を直すよ。"),
            {"what": "屋根を直す", "where": "水車小屋", "when": "2026-04-02T17:00"},
        ),
    ],
)
def test_place_and_time_that_were_said_are_kept(lines: tuple[str, str], fields: dict[str, str]) -> None:
    promise = kept(lines, turn=1, mode="planned", **fields)
    assert (promise.place, promise.due_at, promise.has_hour, promise.is_firm) == (fields["where"], FIVE, True, True)
    assert lines[1][:8] in promise.words


@pytest.mark.parametrize("when", ["2026-04-02T16:00", "2026-04-03T17:00", "soon", ""])
def test_a_time_that_was_not_said_stays_blank(when: str) -> None:
    promise = kept((ASKED, "I will mend the roof tomorrow at five."), what="mend the roof", turn=1, when=when)
    assert promise.due_at is None
    assert not promise.is_firm


def test_a_day_without_an_hour_is_due_at_its_end() -> None:
    promise = kept((ASKED, "I will mend the roof tomorrow."), what="mend the roof", turn=1, when="2026-04-02T10:00")
    assert (promise.due_at, promise.has_hour) == (parse_time("2026-04-03T00:00"), False)


@pytest.mark.parametrize(
    ("lines", "what", "taken_back", "meant"),
    [
        (
            (ASKED, "On Friday at five. No, wait, Friday is the wedding. I will mend the roof on Saturday at six."),
            "mend the roof",
            "2026-04-03T17:00",
            "2026-04-04T18:00",
        ),
        (
            (ASKED, "I will mend the roof on Friday at five. No, wait, at six."),
            "mend the roof",
            "2026-04-03T17:00",
            "2026-04-03T18:00",
        ),
        (
            ("屋根を直してくれますか?", "金曜の五時に。あ、いや、金曜は婚礼だった。土曜の六時に屋根を直すよ。"),
            "屋根を直す",
            "2026-04-03T17:00",
            "2026-04-04T18:00",
        ),
    ],
)
def test_a_time_that_was_put_right_is_kept_as_it_was_put_right(
    lines: tuple[str, str], what: str, taken_back: str, meant: str
) -> None:
    assert kept(lines, turn=1, what=what, when=taken_back).due_at is None
    assert kept(lines, turn=1, what=what, when=meant).due_at == parse_time(meant)


def test_what_was_said_of_another_day_leaves_a_promise_firm() -> None:
    line = "Friday was meant for the wedding. I will mend the roof on Saturday at six."
    assert kept((ASKED, line), turn=1, what="mend the roof", when="2026-04-04T18:00", mode="planned").is_firm


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("I will mend the roof tomorrow at five.", "the mill"),
        ("I will mend the roof tomorrow at five. Leave the gate open.", "the gate"),
    ],
)
def test_a_place_that_was_not_said_as_one_stays_blank(line: str, where: str) -> None:
    assert kept((ASKED, line), what="mend the roof", turn=1, where=where).place == ""


@pytest.mark.parametrize(
    "line",
    [
        "If the rain stops I will mend the roof tomorrow at five.",
        "I can't say. Perhaps I will mend the roof tomorrow at five.",
        "They say the smith will mend the roof tomorrow at five.",
        "I was to mend the roof tomorrow at five, as I said.",
        "Oh sure, I will mend the roof tomorrow at five, and the moon too, ha ha.",
        "We'll see. I will mend the roof tomorrow at five or not.",
        "雨がやんだら、明日の五時に屋根を直すよ。",
        "行けたら行くよ、明日の五時に屋根を直しに。",
        "噂では大工が明日の五時に屋根を直すそうだ。",
    ],
)
def test_what_speaks_against_it_leaves_words_that_move_nothing(line: str) -> None:
    asked, what = (ASKED, "mend the roof") if line[0] <= "z" else ("屋根を直してくれますか?", "屋根を直す")
    promise = kept((asked, line), what=what, turn=1, mode="planned", when="2026-04-02T17:00")
    assert (promise.due_at, promise.place, promise.is_firm) == (None, "", False)


def test_a_yes_to_a_question_promises_what_was_asked() -> None:
    lines = ("Shall we meet at the mill tomorrow at five?", "Yes, gladly.")
    for turn in (0, 1):
        promise = kept(lines, what="meet at the mill", turn=turn, where="the mill", when="2026-04-02T17:00")
        assert (promise.turn, promise.place, promise.due_at) == (1, "the mill", FIVE)


@pytest.mark.parametrize("answered", ["I'd rather not.", "Ah.", "We'll see how the week goes."])
def test_any_other_answer_promises_nothing_that_was_asked(answered: str) -> None:
    lines = ("Shall we meet at the mill tomorrow at five?", answered)
    assert judged(lines, {"what": "meet at the mill", "turn": 0, "when": "2026-04-02T17:00"}) is (
        RejectionReason.NOT_SAID_BY_ITSELF
    )
    found = judged(lines, {"what": "meet at the mill", "turn": 1, "when": "2026-04-02T17:00"})
    assert not isinstance(found, ValidPromise) or found.due_at is None


@pytest.mark.parametrize("mode", ["joking", "hypothetical", "hearsay", "asked"])
def test_what_the_model_does_not_take_for_a_plan_is_no_promise(mode: str) -> None:
    lines = (ASKED, "I will mend the roof tomorrow at five.")
    assert judged(lines, {"what": "mend the roof", "turn": 1, "mode": mode}) is RejectionReason.NOT_MEANT


def test_an_assertion_moves_the_world_only_with_the_form_of_a_plan() -> None:
    fields = {"what": "mend the roof", "turn": 1, "mode": "asserted", "when": "2026-04-02T17:00"}
    assert kept((ASKED, "I will mend the roof tomorrow at five."), **fields).is_firm
    assert kept(
        (ASKED, "Today at five I mend the roof."), **{**fields, "when": "2026-04-01T17:00"}
    ).due_at == WorldTime(FIVE - 1440)
