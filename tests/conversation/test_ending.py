"""Owns the tests of who speaks next and when it is over."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.conversation.turn_taking import OPENER, PARTNER, ending
from service.conversation.turn_taking import next_step as step_of
from service.store.phase import EndReason, Speaker
from service.store.tables import ConversationRow, TurnRow
from tests.store.conversations import conversation_row

PAIR = ("aoi", "npc_taro")


def said(seat: int, **more: Any) -> TurnRow:
    """A turn of who sits there."""
    return TurnRow(speaker_id=PAIR[seat], **more)


def _row(max_turns: int) -> ConversationRow:
    two = {"id": "c1", "world_id": "main", "character_id": PAIR[0], "npc_id": PAIR[1]}
    return conversation_row(**two, max_turns=max_turns)


def next_step(turns: list[TurnRow], max_turns: int) -> int | EndReason:
    """The next step of a talk of two."""
    return step_of(_row(max_turns), turns)


def _turns(*, count: int, **last: Any) -> list[TurnRow]:
    plain = [said(i % 2) for i in range(count - 1)]
    return [*plain, said((count - 1) % 2, **last)]


def test_a_goal_that_is_achieved_is_answered_and_then_its_owner_says_goodbye() -> None:
    turns = [*_turns(count=3, goal_achieved=True), said(PARTNER)]
    assert next_step(turns[:3], 10) == PARTNER
    assert next_step(turns, 10) == OPENER
    assert next_step([*turns, said(OPENER)], 10) == EndReason.GOAL_ACHIEVED
    assert [ending(_row(10), turns[:count])[0] for count in (2, 3, 4)] == [10, 5, 5]


def test_a_goal_achieved_with_a_goodbye_still_leaves_the_partner_its_farewell() -> None:
    turns = _turns(count=3, goal_achieved=True, wants_to_end=True)
    assert next_step(turns, 10) == PARTNER
    assert next_step([*turns, said(PARTNER)], 10) == EndReason.GOAL_ACHIEVED


def test_the_farewell_does_not_pass_the_limit() -> None:
    turns = _turns(count=3, goal_achieved=True)
    assert next_step(turns, 4) == PARTNER
    assert next_step([*turns, said(PARTNER)], 4) == EndReason.GOAL_ACHIEVED
    assert next_step(turns, 3) == EndReason.GOAL_ACHIEVED


@pytest.mark.parametrize(("count", "other"), [(3, PARTNER), (2, OPENER)])
@pytest.mark.parametrize("of_both", [True, False])
def test_a_goodbye_is_answered_once(count: int, other: int, of_both: bool) -> None:
    turns = _turns(count=count, wants_to_end=True)
    assert next_step(turns, 10) == other
    assert next_step([*turns, said(other, wants_to_end=of_both)], 10) == EndReason.WANTS_TO_END


def test_a_models_goodbye_to_a_human_is_the_last_word() -> None:
    row = _row(10)
    row.participants[OPENER].speaker = Speaker.HUMAN
    assert step_of(row, _turns(count=2, wants_to_end=True)) == EndReason.WANTS_TO_END


def test_no_word_ends_the_talk_of_a_chat_client() -> None:
    row = _row(10)
    row.chat_idle_minutes = 30
    assert step_of(row, [said(OPENER), said(PARTNER, wants_to_end=True), said(OPENER)]) == PARTNER


def test_a_goodbye_on_the_last_turn_is_a_goodbye_not_a_limit() -> None:
    assert next_step(_turns(count=4, wants_to_end=True), 4) == EndReason.WANTS_TO_END


@settings(max_examples=200, deadline=None)
@given(
    max_turns=st.integers(1, 12),
    flags=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=13, max_size=13),
)
def test_whatever_is_said_it_ends_within_the_limit_with_speakers_in_turn(
    max_turns: int, flags: list[tuple[bool, bool]]
) -> None:
    turns: list[TurnRow] = []
    while not isinstance(step := next_step(turns, max_turns), EndReason):
        goal, leaves = flags[len(turns)]
        turns.append(said(step, goal_achieved=goal and step == OPENER, wants_to_end=leaves))
        assert len(turns) <= max_turns
    assert [PAIR.index(turn.speaker_id) for turn in turns] == ([OPENER, PARTNER] * 7)[: len(turns)]
    assert (step == EndReason.GOAL_ACHIEVED) == any(turn.goal_achieved for turn in turns[1:])
