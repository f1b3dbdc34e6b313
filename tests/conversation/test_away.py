"""Owns the tests of a talk whose model is away: it waits, and goes on by itself."""

import asyncio
from dataclasses import replace

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.transcript import end
from service.errors import ModelRateLimited, ModelServerError, ModelTimeout, ModelUnreachable
from service.store.phase import EndReason, Phase
from tests.conversation.talks import (
    FAMILY,
    FAREWELL,
    HELLO,
    THANKS,
    begin_living,
    hold_living,
    meet,
    recollection,
    replies,
    says,
    talk,
    turns,
)
from tests.runtime.carrying import carried, carrying
from tests.runtime.patience import until
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

AWAY = (
    ModelUnreachable(model="m", base_url="http://127.0.0.1:1", reason="refused"),
    ModelTimeout(model="m", seconds=60),
    ModelRateLimited(model="m", retry_after_seconds=1),
    ModelServerError(model="m", status_code=503, reason="overloaded"),
)
WHOLE = [HELLO, FAMILY, THANKS, FAREWELL]


def patient(room: ConversationDependencies, seconds: float = 60) -> ConversationDependencies:
    """The room, where talks wait so long for a model that is away."""
    llm = room.settings.llm.model_copy(update={"away_seconds": seconds})
    return replace(room, settings=room.settings.model_copy(update={"llm": llm}))


@pytest.mark.parametrize("error", AWAY)
def test_a_talk_waits_for_its_model_and_goes_on_with_the_same_turn(
    room: ConversationDependencies, script: ScriptedModel, error: ModelTimeout
) -> None:
    script.enqueue(says(HELLO), error, replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL))
    conversation_id = meet(room)

    async def run() -> None:
        talking = asyncio.create_task(Engine(patient(room)).converse(main(conversation_id)))
        await until(lambda: talk(room, conversation_id).waits_for_model)
        row = talk(room, conversation_id)
        assert (row.phase, (row.failure or {})["type"]) == (Phase.RUNNING, error.slug)
        assert await talking

    asyncio.run(run())
    row = talk(room, conversation_id)
    assert [turn.text for turn in turns(room, conversation_id)] == WHOLE
    assert (row.end_reason, row.failure, row.calls) == (EndReason.GOAL_ACHIEVED, None, 5)


def test_the_living_world_waits_for_a_talk_and_the_turn_is_of_its_minute(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(says(HELLO), AWAY[0], replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL))
    starts = begin_living(room)
    asyncio.run(hold_living(Engine(patient(room)), starts))
    assert [(turn.text, turn.at - starts) for turn in turns(room, "c1")] == [*zip(WHOLE, range(4), strict=True)]


def test_a_talk_that_has_waited_long_enough_ends(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(says(HELLO), AWAY[0], AWAY[1])
    conversation_id = meet(room)
    asyncio.run(Engine(patient(room, 0.3)).converse(main(conversation_id)))
    row = talk(room, conversation_id)
    assert (row.end_reason, (row.failure or {})["type"]) == (EndReason.MODEL_FAILURE, "model-timeout")
    assert script.unused == 0


def test_a_talk_ends_at_once_whose_model_has_been_away_for_too_long(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    ahead = patient(room, 0.3)
    script.enqueue(AWAY[0], AWAY[0])
    asyncio.run(Engine(ahead).converse(main(meet(room))))
    asked = len(script.history)
    script.enqueue(AWAY[0])
    asyncio.run(Engine(ahead).converse(main(meet(room))))
    assert len(script.history) == asked + 1


def test_a_process_that_stops_while_a_talk_waits_leaves_it_to_the_next(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(says(HELLO), AWAY[0])
    conversation_id = meet(room)

    async def run() -> None:
        async with carrying(patient(room)):
            await until(lambda: talk(room, conversation_id).waits_for_model)
        script.enqueue(replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL), recollection())
        async with carrying(patient(room)) as jobs:
            await carried(room, jobs, main(conversation_id))

    asyncio.run(run())
    assert [turn.text for turn in turns(room, conversation_id)] == WHOLE
    assert talk(room, conversation_id).phase == Phase.CLOSED


def test_a_client_may_end_a_talk_that_waits(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(says(HELLO), AWAY[0])
    conversation_id = meet(room)

    async def run() -> None:
        talking = asyncio.create_task(Engine(patient(room)).converse(main(conversation_id)))
        await until(lambda: talk(room, conversation_id).waits_for_model)
        await room.database.write(lambda s: end(s, room.worlds, *main(conversation_id), EndReason.ENDED_BY_CLIENT))
        assert await talking

    asyncio.run(run())
    assert talk(room, conversation_id).end_reason == EndReason.ENDED_BY_CLIENT
