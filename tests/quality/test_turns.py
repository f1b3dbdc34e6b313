"""A turn that is checked is said when it does; whatever a judge does, the talk goes on, and the cost stands apart."""

import asyncio
from dataclasses import replace

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.errors import ModelBroken, ModelTimeout
from service.quality.checked import TurnChecks
from service.settings import QualitySettings
from service.store.phase import Audience
from service.store.tables import ConversationKey
from tests.conversation.live import Recorded, spoken
from tests.conversation.scenes import acts, begin_scene, play
from tests.conversation.talks import (
    FAMILY,
    FAREWELL,
    HELLO,
    THANKS,
    begin_living,
    events_told_to,
    hold_living,
    limited,
    meet,
    replies,
    says,
    turns,
)
from tests.conversation.test_human import begin, carry_on, speak, with_players
from tests.quality.checks_of import checked, checking, judged, marks, spent
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

OUT = "As an AI language model, I have no family."
DULL = marks(4, "It says nothing of a family.")


def talk(room: ConversationDependencies, world_id: str = "main") -> str:
    """Aoi and Taro talk to the end; the answer is the conversation's id."""
    conversation_id = meet(room, world_id=world_id)
    asyncio.run(Engine(room).converse(ConversationKey(world_id, conversation_id)))
    return conversation_id


def of_talk(script: ScriptedModel, *judge: object) -> None:
    """A talk of four turns, with these answers of the judge."""
    script.enqueue(says(HELLO), replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL))
    script.enqueue(*judge, role="quality")  # type: ignore[arg-type] # what a judge answers


def prompts(script: ScriptedModel) -> list[tuple[str, tuple[str, ...]]]:
    """What speakers were sent."""
    asked = (one for one in script.history if one.name == "speaker")
    return [(one.role, tuple(message.content for message in one.messages)) for one in asked]


def test_a_line_that_does_is_said_and_its_marks_are_kept(room: ConversationDependencies, script: ScriptedModel) -> None:
    of_talk(script, *[marks()] * 4)
    conversation_id = talk(checking(room))
    assert [turn.text for turn in turns(room, conversation_id)] == [HELLO, FAMILY, THANKS, FAREWELL]
    kept = checked(room)
    assert [(row.turn, row.person_id, row.role, row.outcome, row.lowest) for row in kept] == [
        (0, "aoi", "character", "passed", 9),
        (1, "npc_taro", "npc", "passed", 9),
        (2, "aoi", "character", "passed", 9),
        (3, "npc_taro", "npc", "passed", 9),
    ]
    assert kept[0].marks["persona"] == [9, "It fits."]
    assert kept[0].at == turns(room, conversation_id)[0].at
    assert spent(room) == {"character": (2, 0), "npc": (2, 0), "quality": (4, 0)}


def test_what_speakers_are_sent_is_the_same_letter_by_letter_off_not_sampled_and_passed(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    sent = []
    rooms = {"main": room, "none": checking(room, share="off", decision="all"), "all": checking(room)}
    for world_id, checks in rooms.items():
        script.history.clear()
        of_talk(script, *[marks()] * 4 if world_id == "all" else [])
        talk(checks, world_id)
        sent.append(prompts(script))
    assert len(sent[0]) == 4
    assert sent[0] == sent[1] == sent[2]
    assert [len(checked(room, world_id)) for world_id in rooms] == [0, 0, 4]


def test_a_fault_needs_no_judge_and_the_line_is_said_anew_with_its_reason(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    foreign = "I build, you see: わたしは大工で、毎日この町で家を建てています。"
    script.enqueue(
        says(HELLO), replies(foreign), replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL)
    )
    script.enqueue(*[marks()] * 4, role="quality")
    conversation_id = talk(checking(room))
    said = turns(room, conversation_id)
    assert said[1].text == FAMILY
    row = checked(room)[1]
    assert (row.outcome, row.line, row.refused[0]["line"], row.refused[0]["marks"]["fluency"]) == (
        "again",
        FAMILY,
        foreign,
        [0, "is in another language"],
    )
    first, again, later = [one for _, one in prompts(script)[1:4]]
    assert "is in another language" in again[-1]
    assert again[-1].startswith(first[-1])
    assert again[:-1] == first[:-1]
    assert said[1].note == ""
    assert "another language" not in "".join(later)
    assert spent(room) == {"character": (2, 0), "npc": (2, 0), "quality": (5, 0)}


def test_after_two_attempts_the_best_is_said_and_a_correction_is_asked_for_only_where_it_is_allowed(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    answers = [replies("Nice day."), replies("It is warm out here."), replies("The fog is gone now.")]
    script.enqueue(says(HELLO), *answers, says(THANKS, achieved=True, leaves=True), replies(FAREWELL))
    script.enqueue(marks(), DULL, marks(5, "Dull."), DULL, marks(), marks(), role="quality")
    conversation_id = talk(checking(room))
    assert turns(room, conversation_id)[1].text == "It is warm out here."
    row = checked(room)[1]
    assert (row.outcome, row.lowest, row.calls, len(row.refused)) == ("best", 5, 5, 2)
    script.enqueue(says("Good evening, Taro. How are they?"), *answers)
    script.enqueue(says("I see, that is good to hear.", achieved=True, leaves=True), replies("See you soon."))
    corrected = {"utterance": "My wife Harue and our two children are all well."}
    script.enqueue(marks(), DULL, DULL, DULL, corrected, marks(), marks(), marks(), role="quality")
    again = talk(checking(room, correct=True))
    assert turns(room, again)[1].text == corrected["utterance"]
    assert checked(room)[5].outcome == "corrected"
    asked = next(one for one in script.history if one.name == "correct")
    assert judged(asked.given).parts == (("utterance", "Nice day."),)


@pytest.mark.parametrize(
    "error", [ModelTimeout(model="judge", seconds=60), ModelBroken(model="judge", reason="nonsense")]
)
def test_a_judge_that_fails_spoils_no_turn_and_that_is_counted(
    room: ConversationDependencies, script: ScriptedModel, error: ModelBroken
) -> None:
    of_talk(script, error, marks(), marks(), marks())
    conversation_id = talk(checking(room))
    assert len(turns(room, conversation_id)) == 4
    first = checked(room)[0]
    assert (first.outcome, first.lowest, first.marks, first.failure) == ("unscored", None, {}, error.slug)


def test_a_role_may_have_a_share_of_its_own(room: ConversationDependencies, script: ScriptedModel) -> None:
    of_talk(script, marks(), marks())
    talk(checking(room, share="off", npc="all"))
    assert [row.role for row in checked(room)] == ["npc", "npc"]


def test_the_judge_is_told_who_speaks_what_it_knows_and_what_was_said(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    of_talk(script, *[marks()] * 4)
    talk(checking(room))
    asked = [one for one in script.history if one.role == "quality"][1]
    text = "\n".join(message.content for message in asked.messages)
    assert HELLO in text
    assert FAMILY in text
    assert judged(asked.given).speaker.personality in text
    assert "Place: " in text
    assert text.count("<context>") == text.count("</context>") == 2


def test_a_budget_that_is_spent_leaves_turns_unmarked_and_keeps_room_for_the_closing(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    limits = limited(room, script, max_calls_per_day=3)
    of_talk(script, marks())
    conversation_id = talk(replace(limits, quality=TurnChecks(QualitySettings(share=1), limits.models)))
    assert [turn.text for turn in turns(room, conversation_id)] == [HELLO]
    kept = checked(room)
    assert [(row.outcome, row.failure) for row in kept] == [("passed", None)]
    assert sum(one.role == "quality" for one in script.history) == 1


def test_a_scene_is_checked_too_what_is_done_with_what_is_said(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, "aoi", "npc_taro", max_turns=2)
    script.enqueue(acts("I wonder.", act="looks at the wall"), acts(act="shrugs", leaves=True))
    script.enqueue(marks(), marks(), role="quality")
    play(checking(room), scene_id, 2)
    assert [row.line for row in checked(room)] == ["(looks at the wall) I wonder.", "(shrugs)"]


def test_a_talk_of_the_living_world_is_checked_and_a_kill_between_attempts_leaves_nothing_twice(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    starts = begin_living(room, max_turns=2)
    script.enqueue(says(HELLO), says(HELLO, leaves=True), replies(FAREWELL, leaves=True))

    def killed(_: object) -> object:
        raise RuntimeError("the process is gone")

    script.enqueue(killed, marks(), marks(), role="quality")  # type: ignore[arg-type] # it ends the process
    checks = checking(room)
    with pytest.raises(RuntimeError, match="gone"):
        asyncio.run(hold_living(Engine(checks), starts))
    assert not checked(room)
    asyncio.run(hold_living(Engine(checks), starts))
    assert [(row.turn, row.at) for row in checked(room)] == [(0, starts), (1, starts + 1)]
    assert spent(room)["quality"] == (2, 0)


def test_nobody_is_told_words_of_it_before_it_is_said(room: ConversationDependencies, script: ScriptedModel) -> None:
    stream = Recorded()
    checks = replace(checking(room, share="off", character="all"), stream=stream)
    conversation_id = meet(checks)
    of_talk(script, *[marks()] * 2)
    with stream.followed() as told:
        asyncio.run(Engine(checks).converse(main(conversation_id)))
    assert {one.turn for one in spoken(told)} == {1, 3}
    assert [turn.text for turn in turns(room, conversation_id)] == [HELLO, FAMILY, THANKS, FAREWELL]


def test_the_partner_of_a_human_is_checked_and_begins_to_speak_once(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    played = checking(with_players(room, "ken"))
    conversation_id = begin(played)
    speak(played, conversation_id, "Good evening. Who lives with you?")
    script.enqueue(replies("It is a day."), replies(FAMILY))
    script.enqueue(DULL, marks(), role="quality")
    assert not carry_on(played, conversation_id)
    assert turns(room, conversation_id)[1].text == FAMILY
    assert [(row.person_id, row.turn, row.outcome) for row in checked(room)] == [("npc_taro", 1, "again")]
    kinds = [row["kind"] for row in events_told_to(room, Audience.PARTICIPANTS)]
    assert kinds.count("utterance.started") == 1, kinds


def test_who_stops_a_check_pays_for_what_was_asked(room: ConversationDependencies, script: ScriptedModel) -> None:
    checks = checking(room)
    conversation_id = meet(checks)
    script.enqueue(says(HELLO))

    async def stop() -> None:
        holding = asyncio.create_task(Engine(checks).converse(main(conversation_id)))

        def stopping(_: object) -> object:
            holding.cancel()
            return marks()

        script.enqueue(stopping, role="quality")  # type: ignore[arg-type] # it stops who asks
        script.latency_seconds = 0.2
        with pytest.raises(asyncio.CancelledError):
            await holding

    asyncio.run(stop())
    assert spent(room) == {"character": (1, 1), "quality": (1, 1)}
    assert not checked(room)
