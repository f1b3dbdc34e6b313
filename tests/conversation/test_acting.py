"""Owns the tests of the form of answers: the words first, and what hands and faces do apart from them."""

import asyncio

import pytest

from service.conversation.acting import LONGEST_ACT, CharacterTurn, ChatTurn, NpcTurn, OpeningTurn, TalkAnswer
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.prompt import PromptContext
from service.store.events import events_after, of_conversation
from service.store.phase import Audience
from tests.conversation.talks import FAMILY, HELLO, THANKS, meet, replies, says, turns
from tests.conversation.test_human import begin, carry_on, speak, with_players
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

SHRUGS = "holds out a cup, and looks away"
MOVED = {"utterance": FAMILY, "emotion": "sad", "act": SHRUGS, "wants_to_end": True}


LONG = " ".join(f"folds {word} away," for word in dir(str)) * 4
"""No person does all that at once, and no two words of it are the same."""


@pytest.mark.parametrize("form", [ChatTurn, NpcTurn, CharacterTurn, OpeningTurn])
def test_nothing_is_asked_before_the_words(form: type[TalkAnswer]) -> None:
    first, second, *_ = form.model_json_schema()["properties"]
    assert (first, second) == ("utterance", "emotion")
    assert ("act" in form.model_fields) == (form is not ChatTurn)


@pytest.mark.parametrize(("told", "kept"), [("  nods\n twice ", "nods twice"), (None, ""), (7, ""), ("", "")])
def test_an_act_is_one_short_line_and_spoils_no_turn(told: object, kept: str) -> None:
    assert NpcTurn.model_validate({**MOVED, "act": told}).act == kept
    long = NpcTurn.model_validate({**MOVED, "act": LONG}).act
    assert len(long) == LONGEST_ACT
    assert long.endswith("…")


def test_what_one_does_and_shows_is_seen_by_the_other_and_stands_apart_from_the_words(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(says(HELLO), MOVED, says(THANKS))
    conversation_id = meet(room)
    asyncio.run(Engine(room).converse(main(conversation_id)))
    assert [(turn.text, turn.act) for turn in turns(room, conversation_id)] == [
        (HELLO, ""),
        (FAMILY, SHRUGS),
        (THANKS, ""),
    ]
    assert script.history[2].messages[-1].content.startswith(f"Taro (sad): ({SHRUGS}) {FAMILY}\n")


def test_a_game_is_told_the_act_apart_from_the_words(room: ConversationDependencies, script: ScriptedModel) -> None:
    played = with_players(room, "ken")
    script.enqueue(MOVED)
    conversation_id = begin(played)
    speak(played, conversation_id, HELLO)
    carry_on(played, conversation_id)
    of = of_conversation(conversation_id)
    events = played.database.read_now(lambda s: events_after(s, "main", 0, 99, *of, audience=Audience.PARTICIPANTS))
    (said,) = [one.data for one in events if one.kind == "utterance.completed" and one.data["speaker_id"] != "ken"]
    assert (said["text"], said["act"], said["emotion"]) == (FAMILY, SHRUGS, "sad")


def test_who_talks_through_a_chat_client_is_not_asked_for_acts(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    played = with_players(room, "ken")
    script.enqueue(replies(FAMILY, leaves=True), {one: MOVED[one] for one in MOVED if one != "act"})
    for chat_idle_minutes in (None, 5.0):
        conversation_id = begin(played, chat_idle_minutes=chat_idle_minutes)
        speak(played, conversation_id, HELLO)
        carry_on(played, conversation_id)
    game, chat = script.history
    assert (game.answer, chat.answer) == (NpcTurn, ChatTurn)
    assert isinstance(chat.given, PromptContext)
    assert ["act:" in prompt.messages[0].content for prompt in (game, chat)] == [True, False]
