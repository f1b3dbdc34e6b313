"""Owns the tests of what people ask of the game: what is offered, what comes of it, what is remembered."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel
from sqlmodel import Session

from service.content.actions import GameAction
from service.conversation.acting import NpcTurn
from service.conversation.dependencies import ConversationDependencies
from service.conversation.human import settle
from service.conversation.transcript import end
from service.errors import ActionOver, NotFound
from service.llm.chat import Prompt
from service.llm.schema import schema_text
from service.people.attitude import set_affinity
from service.people.worlds import WorldRepository
from service.runtime.jobs import Jobs
from service.store.events import events_after, of_conversation
from service.store.jobs import enqueue, job_of
from service.store.phase import Audience, CallState, EndReason, Phase
from service.store.tables import ActionCallRow, ConversationKey, MemoryRow, PersonRow, WorldRow
from tests.content.village import GIVE, Entry
from tests.conversation.talks import FAMILY, HELLO, THANKS, pass_minutes, rows, talk, turns
from tests.conversation.test_human import begin, carry_on, speak, with_players
from tests.memory.answers import closing, memory
from tests.runtime.carrying import carried, carrying
from tests.runtime.patience import PATIENCE_SECONDS, until
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

BUN = {"id": "give_item", "args": {"item": "bun"}}
DID = "hand over something you carry (item: bun)"
HERE = "Here is a bun for you, Ken. Mind the crumbs."


def with_actions(
    room: ConversationDependencies, *entries: Entry, people: tuple[str, ...] = ("ken", "rei"), **settings: Any
) -> ConversationDependencies:
    """A room with players, in which people may ask these of the game."""
    played = with_players(room, *people, **settings)
    content = played.worlds.content
    actions = [GameAction.model_validate(one) for one in entries]
    casts = {
        language: replace(cast, game_actions={one.id: one.in_language(language) for one in actions})
        for language, cast in content.casts.items()
    }
    return replace(room, worlds=WorldRepository(replace(content, casts=casts), played.worlds.settings))


def gives(text: str = HERE, action: object = BUN, *, leaves: bool = False) -> dict[str, Any]:
    """Taro's answer, with which he asks something of the game."""
    return {"utterance": text, "emotion": "happy", "wants_to_end": leaves, "action": action}


def calls(room: ConversationDependencies) -> list[dict[str, Any]]:
    """All that was asked of the game."""
    return sorted(rows(room, ActionCallRow), key=lambda call: (call["conversation_id"], call["number"]))


def answers(room: ConversationDependencies, conversation_id: str, *, ok: bool, message: str = "") -> None:
    """The game says what became of what was asked last."""
    asked = calls(room)
    call_id = next((call["id"] for call in asked if call["state"] == CallState.REQUESTED), asked[-1]["id"])
    key = main(conversation_id)
    room.database.write_now(lambda s: settle(s, room.worlds, key, call_id, ok=ok, message=message))


def likes(room: ConversationDependencies, affinity: int) -> None:
    """So much Taro likes Ken from now on."""

    def work(session: Session) -> None:
        world = room.worlds.open(session, "main", lock=True)
        set_affinity(session, world, "npc_taro", "ken", affinity, f"to_{affinity}")

    room.database.write_now(work)


def lapse(room: ConversationDependencies) -> None:
    """The deadline of what was asked last is past."""
    call_id = calls(room)[-1]["id"]

    def work(session: Session) -> None:
        call = session.get_one(ActionCallRow, ("main", call_id))
        call.deadline = 1.0
        enqueue(session, job_of(ConversationKey("main", call.conversation_id)))

    room.database.write_now(work)


def stop(room: ConversationDependencies, conversation_id: str) -> None:
    """A client ends the conversation."""
    room.database.write_now(lambda s: end(s, room.worlds, "main", conversation_id, EndReason.ENDED_BY_CLIENT))


def asked_for(script: ScriptedModel) -> type[BaseModel]:
    """The form of the last answer."""
    return script.history[-1].answer


def is_offered(script: ScriptedModel) -> bool:
    """Whether the last answer could ask for a bun."""
    return "give_item" in schema_text(asked_for(script))


@asynccontextmanager
async def running(room: ConversationDependencies) -> AsyncIterator[Jobs]:
    """A process that carries conversations, for a while."""
    async with carrying(room) as jobs, asyncio.timeout(PATIENCE_SECONDS):
        yield jobs


@pytest.mark.parametrize(
    ("language", "told", "note"),
    [
        ("en", "  - give_item: hand over something you carry\n", f"(You did it: {DID}: It was warm.)"),
        ("ja", "  - give_item: 持っているものを渡す\n", "(したこと: 持っているものを渡す (item: bun): It was warm.)"),
    ],
)
def test_what_the_speaker_may_do_is_offered_and_what_came_of_it_is_told_before_its_next_words(
    room: ConversationDependencies, script: ScriptedModel, language: str, told: str, note: str
) -> None:
    played = with_actions(room, GIVE, language=language)
    script.enqueue(gives(), gives(FAMILY, None), gives(FAMILY, None))
    conversation_id = begin(played)
    for text in (HELLO, "", THANKS, HELLO):
        if text:
            speak(played, conversation_id, text)
            carry_on(played, conversation_id)
        else:
            (call,) = calls(played)
            assert (call["turn"], call["state"], call["args"]) == (1, CallState.REQUESTED, {"item": "bun"})
            answers(played, conversation_id, ok=True, message="It was\n warm.")
    first, second, third = (prompt.messages for prompt in script.history)
    assert told in first[0].content
    assert second[-1].content.endswith(f"{THANKS}\n\n{note}")
    assert turns(played, conversation_id)[3].note == note
    assert third[: len(second)] == second
    assert note not in third[-1].content
    assert calls(played)[-1]["told_turn"] == 3


def test_the_id_is_one_of_those_that_can_be_done_now(room: ConversationDependencies, script: ScriptedModel) -> None:
    wave = GIVE | {"id": "wave", "arguments": {}, "confirm": False, "cooldownMinutes": 0}
    played = with_actions(room, GIVE, wave)
    script.enqueue(gives(), gives(THANKS, {"id": "wave", "args": {}}), *[gives(FAMILY, None)] * 3)
    conversation_id = begin(played)

    def offered() -> list[str]:
        speak(played, conversation_id, HELLO)
        carry_on(played, conversation_id)
        form = json.loads(schema_text(asked_for(script)))["properties"]["action"]["anyOf"]
        assert all(one["additionalProperties"] is False for one in form[:-1])
        return [one["properties"]["id"]["enum"][0] for one in form if one["type"] == "object"]

    assert offered() == ["give_item", "wave"]
    assert offered() == ["wave"], "the game has still to say whether he gave it"
    answers(played, conversation_id, ok=True)
    assert offered() == ["wave"], "he has just given something"
    assert [call["state"] for call in calls(played)] == [CallState.DONE, CallState.DONE], "nobody need confirm a wave"
    pass_minutes(played, 10)
    assert offered() == ["give_item", "wave"]


@pytest.mark.parametrize(
    ("wanted", "is_told", "is_possible"),
    [
        ({"who": ["npc_taro"], "scope": {"maps": ["elsewhere"]}}, False, False),
        ({"who": ["npc_hamako"]}, False, False),
        ({"who": ["character"]}, False, False),
        ({"scope": {"nodes": ["tavern_door"]}}, False, False),
        ({"requires": {"affinity": 5}}, True, False),
        ({"requires": {"affinity": 4}}, True, True),
        ({"requires": {"item": "rope"}}, True, False),
        ({"requires": {"item": "bread"}}, True, True),
        ({"requires": {"flags": {"oven_is_hot": True}}}, True, True),
        ({"requires": {"flags": {"oven_is_hot": 1}}}, True, False),
        ({"requires": {"flags": {"shop_is_shut": False}}}, True, True),
        ({"requires": {"flags": {"shop_is_shut": True}}}, True, False),
    ],
)
def test_what_is_not_allowed_is_not_offered(
    room: ConversationDependencies, script: ScriptedModel, wanted: Entry, is_told: bool, is_possible: bool
) -> None:
    played = with_actions(room, GIVE | wanted)

    def work(session: Session) -> None:
        session.add(PersonRow(world_id="main", person_id="npc_taro", items=["bread"]))
        played.worlds.open(session, "main", lock=True)
        session.get_one(WorldRow, "main").flags = {"oven_is_hot": True}

    played.database.write_now(work)
    likes(played, 4)
    script.enqueue({"utterance": FAMILY, "emotion": "happy", "wants_to_end": False})
    conversation_id = begin(played)
    speak(played, conversation_id, HELLO)
    carry_on(played, conversation_id)
    assert ("give_item" in script.history[-1].messages[0].content, is_offered(script)) == (is_told, is_possible)
    assert (script.history[-1].answer is NpcTurn) == (not is_told)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"id": "give_item", "args": {"item": "boat"}}, "arguments"),
        ({"id": "give_item", "args": {}}, "arguments"),
        ({"id": "give_item", "args": {"item": "bun", "count": 6}}, "arguments"),
        ({"id": "give_item", "args": {"item": "bun", "to": "ken"}}, "arguments"),
        ({"id": "fly", "args": {}}, "not_offered"),
        ("give_item", "not_offered"),
    ],
)
def test_what_does_not_fit_is_not_asked_and_the_conversation_goes_on(
    room: ConversationDependencies, script: ScriptedModel, action: object, reason: str
) -> None:
    played = with_actions(room, GIVE)
    script.enqueue(gives(HERE, action), gives(FAMILY, None))
    conversation_id = begin(played)
    for text in (HELLO, THANKS):
        speak(played, conversation_id, text)
        assert not carry_on(played, conversation_id)
    (call,) = calls(played)
    assert (call["state"], call["reason"], call["args"]) == (CallState.FAILED, reason, {})
    assert bool(call["why"]) == (reason == "arguments")
    assert "(You tried, and it did not happen: " in script.history[-1].messages[-1].content
    assert len(turns(played, conversation_id)) == 4


def test_the_game_says_what_became_of_it_once_and_in_time(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    played = with_actions(room, GIVE)
    script.enqueue(gives())
    conversation_id, other = begin(played), begin(played, player_id="rei", waived=True)
    key = main(conversation_id)
    with pytest.raises(NotFound):
        played.database.write_now(lambda s: settle(s, played.worlds, key, "none", ok=True, message=""))
    speak(played, conversation_id, HELLO)
    carry_on(played, conversation_id)
    with pytest.raises(NotFound):
        answers(played, other, ok=True)
    answers(played, conversation_id, ok=False)
    for ok in (True, False):
        with pytest.raises(ActionOver, match="is failed already"):
            answers(played, conversation_id, ok=ok)
    script.enqueue(gives())
    speak(played, conversation_id, THANKS)
    carry_on(played, conversation_id)
    lapse(played)
    with pytest.raises(ActionOver, match="is expired already"):
        answers(played, conversation_id, ok=True)
    assert talk(played, conversation_id).awaits == "ken"


@pytest.mark.parametrize("ok", [True, False, None])
def test_only_what_is_confirmed_is_remembered(
    room: ConversationDependencies, script: ScriptedModel, ok: bool | None
) -> None:
    played = with_actions(room, GIVE)
    told = [memory("Taro gave Ken a bun.", 1, about="b", teller="b")]
    script.enqueue(
        gives("I gave Ken a bun.", leaves=True),
        closing("Taro gave Ken a bun.", second={"memories": told}),
    )
    conversation_id = begin(played)
    speak(played, conversation_id, HELLO)

    async def run() -> None:
        async with running(played) as runner:
            await until(lambda: talk(played, conversation_id).phase == Phase.CLOSING)
            await asyncio.sleep(0.1)
        async with running(played) as runner:  # whatever stops meanwhile, it is asked for once
            await asyncio.sleep(0.1)
            assert len(script.history) == 1, "it is not closed before the game has spoken"
            if ok is None:
                lapse(played)
            else:
                answers(played, conversation_id, ok=ok)
            await carried(played, runner, main(conversation_id))

    asyncio.run(run())
    (call,) = calls(played)
    assert call["state"] == {True: CallState.DONE, False: CallState.FAILED, None: CallState.EXPIRED}[ok]
    known = [(row["person_id"], row["text"], row["support"]) for row in rows(played, MemoryRow)]
    seen = ("npc_taro", f"Taro did this: {DID}", "perceived")
    assert (seen in known) == bool(ok)
    assert any(support == "perceived" for *_, support in known) == bool(ok), "what was only said does not stand bare"
    shown = script.history[-1].messages[-1].content
    assert (f"(done: Taro did this: {DID})" in shown, "(did not happen: " in shown) == (bool(ok), not ok)


def test_an_answer_may_wait_for_the_game(room: ConversationDependencies, script: ScriptedModel) -> None:
    played = with_actions(room, GIVE | {"awaitResult": True, "cooldownMinutes": 0})
    script.enqueue(gives(), gives(), gives(FAMILY, None))
    conversation_id = begin(played)

    def said() -> int:
        return len(turns(played, conversation_id))

    async def run() -> None:
        async with running(played):
            speak(played, conversation_id, HELLO)
            await until(lambda: said() == 2)
            speak(played, conversation_id, THANKS)
            await asyncio.sleep(0.1)
        async with running(played):  # a new process waits on
            await asyncio.sleep(0.1)
            assert (said(), len(script.history)) == (3, 1)
            answers(played, conversation_id, ok=False, message="The bag is stuck.")
            await until(lambda: said() == 4)
            speak(played, conversation_id, HELLO)
            lapse(played)
            await until(lambda: said() == 6)

    asyncio.run(run())
    told = played.database.read_now(
        lambda s: events_after(s, "main", 0, 100, *of_conversation(conversation_id), audience=Audience.PARTICIPANTS)
    )
    of_game = [(one.kind, one.data.get("reason")) for one in told if one.kind.startswith("action.")]
    assert of_game == [
        ("action.requested", None),
        ("action.failed", "client"),
        ("action.requested", None),
        ("action.failed", "deadline"),
    ]
    kinds = [one.kind for one in told]
    asked = kinds.index("action.requested")
    assert kinds[asked - 1] == "utterance.completed", "words first"
    assert told[asked].data["call_id"] == calls(played)[0]["id"]
    assert "it did not happen: " in script.history[1].messages[-1].content
    assert "The bag is stuck." in script.history[1].messages[-1].content
    assert "nothing came of it" in script.history[2].messages[-1].content
    assert [call["state"] for call in calls(played)] == [CallState.FAILED, CallState.EXPIRED]


def test_what_is_no_longer_allowed_when_the_words_are_said_is_not_asked(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    played = with_actions(room, GIVE | {"requires": {"affinity": 0}})

    def meanwhile(prompt: Prompt[Any]) -> BaseModel:
        likes(played, -1)
        answer: BaseModel = prompt.answer.model_validate(gives())
        return answer

    script.enqueue(meanwhile)
    conversation_id = begin(played)
    speak(played, conversation_id, HELLO)
    carry_on(played, conversation_id)
    assert is_offered(script)
    assert [(call["state"], call["reason"]) for call in calls(played)] == [(CallState.FAILED, "not_offered")]
