"""A decision that is checked counts when it does; it may be made anew, and its choice with it."""

import asyncio
from dataclasses import replace
from typing import Any

from service.conversation.dependencies import ConversationDependencies
from service.decision.choose import Chosen, choose
from service.decision.situation import AgentState, LastAsked
from service.errors import ModelTimeout
from service.quality.checked import DecisionChecks
from service.settings import QualitySettings
from tests.decision.desks import NINE, PLANNED, decides, decision_context, desk_of, snapshot_of, world_of
from tests.quality.checks_of import judged, marks
from tests.scripted_model import ScriptedModel


def chosen(room: ConversationDependencies, state: AgentState = PLANNED, **rules: Any) -> Chosen:
    """What Aoi decides at nine."""
    world = world_of(room)
    settings = QualitySettings(**{"share": "all", **rules})
    desk = replace(desk_of(room), quality=DecisionChecks(settings, room.models))
    return asyncio.run(choose(desk, world.at(NINE), snapshot_of(world), state))


def row_of(decided: Chosen) -> Any:
    assert decided.checked is not None
    return decided.checked.row


def test_a_decision_that_does_counts_and_its_marks_go_with_it(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(decides(1))
    script.enqueue(marks(), role="quality")
    decided = chosen(room)
    row = row_of(decided)
    offers = decision_context(script.history[0]).offers
    assert (row.id, row.role, row.at, row.outcome, row.lowest) == (f"aoi@{NINE}", "decision", NINE, "passed", 9)
    assert row.line == f"{offers[0].text} / So be it."
    assert (decided.usage.calls, row.calls) == (1, 1)
    asked = judged(script.history[1].given)
    assert asked.is_decision
    assert all(offer.text in asked.told for offer in offers)


def test_one_that_does_not_is_made_anew_and_another_choice_may_be_taken(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(decides(1, thought="I hate my work."), decides(2, thought="The guests come first."))
    script.enqueue(marks(suitability=(3, "She loves her work.")), marks(), role="quality")
    decided = chosen(room)
    again = script.history[2]
    assert again.messages[-1].content == "That cannot be: She loves her work. Answer again."
    assert again.messages[-2].content.startswith('{"thought":"I hate my work."')
    options = decision_context(script.history[0]).offers
    assert decided.option.action_id == options[1].option.action_id
    assert decided.made[-1].basis["chosen"] == 2
    assert decided.agent_state.thought == "The guests come first."
    assert (decided.usage.calls, row_of(decided).calls, row_of(decided).outcome) == (1, 3, "again")


def test_thoughts_in_another_language_need_no_judge(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(decides(1, thought="今日はとてもよい天気なので働こう。"), decides(1))
    script.enqueue(marks(), role="quality")
    row = row_of(chosen(room))
    assert row.refused[0]["marks"]["fluency"] == [0, "is in another language"]


def test_who_goes_on_with_the_same_may_think_the_same_and_who_does_something_else_may_not(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(decides(1))
    script.enqueue(marks(), role="quality")
    chosen(room)
    first, second = decision_context(script.history[0]).offers[:2]
    thought = "The guests of the inn want their supper early tonight."
    last = LastAsked(action_id=first.option.action_id, facility_id=first.option.facility_id)
    before = replace(PLANNED, thought=thought, last_asked=last)
    similarity = {}
    for offer in (first, second):
        script.enqueue(decides(offer.number, thought=thought))
        script.enqueue(marks(), role="quality")
        row = row_of(chosen(room, before, attempts=0))
        similarity[offer.number] = row.marks["similarity"][0]
    assert similarity == {first.number: 9, second.number: 0}


def test_a_correction_changes_the_thought_and_not_what_is_done(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(decides(2, thought="I hate my work."))
    corrected = {"thought": "There is work to do.", "goal": "Something", "success_criteria": ""}
    script.enqueue(marks(2), corrected, marks(), role="quality")
    decided = chosen(room, attempts=0, correct=True)
    assert decided.made[-1].basis["chosen"] == 2
    assert (decided.agent_state.thought, row_of(decided).outcome) == ("There is work to do.", "corrected")
    assert decided.agent_state.goal is None


def test_a_judge_that_fails_spoils_no_decision(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(decides(1))
    script.enqueue(ModelTimeout(model="judge", seconds=60), role="quality")
    decided = chosen(room)
    assert (decided.by, row_of(decided).outcome, row_of(decided).failure) == ("model", "unscored", "model-timeout")


def test_a_decision_that_is_not_sampled_or_cannot_be_used_is_not_checked(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(decides(1), decides(99), decides(99))
    assert chosen(room, decision="off").checked is None
    decided = chosen(room)
    assert (decided.by, decided.checked) == ("fallback", None)
    assert all(one.role != "quality" for one in script.history)
