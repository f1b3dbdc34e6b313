"""Owns the tests of prompts as records: what was sent once is sent again, and can be read afterwards."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.why import prompt_of
from service.errors import NotFound
from service.llm.chat import Message
from service.people.person import person_row
from service.store.tables import ConversationRow, PromptRow, WorldRow
from tests.conversation.talks import (
    FAMILY,
    FAREWELL,
    HELLO,
    THANKS,
    meet,
    opens,
    replies,
    rows,
    says,
    turns,
)
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

MORE = "And does Harue still sing in the evenings?"
SINGS = "When the nets are mended, she sings the whole night."


def _announce(session: Session) -> None:
    world = session.get_one(WorldRow, "main")
    world.notices = [{"text": "The bridge is closed", "at": world.now, "until": world.now + 600}]


def _sent_to(script: ScriptedModel, role: str) -> list[tuple[Message, ...]]:
    return [prompt.messages for prompt in script.history if prompt.role == role]


def _asked(room: ConversationDependencies, conversation_id: str, turn: int) -> tuple[Message, ...]:
    return room.database.read_now(
        lambda s: prompt_of(s, room.worlds.open(s, "main"), s.get_one(ConversationRow, main(conversation_id)), turn)[1],
    )


def test_what_each_turn_was_asked_with_can_be_read_letter_by_letter(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    """The opener sets its goal itself, and repeats itself once: the second answer is taken, with the note it came
    of.
    """
    script.enqueue(
        opens(HELLO), replies(FAMILY), says(HELLO), says(MORE), replies(SINGS, leaves=True), says(THANKS, leaves=True)
    )
    conversation_id = meet(room, goal=None)
    asyncio.run(Engine(room).converse(main(conversation_id)))
    sent = [prompt.messages for prompt in script.history]
    taken = [sent[0], sent[1], *sent[3:]]
    assert [_asked(room, conversation_id, i) for i in range(5)] == taken
    assert "(You said nearly this before." in taken[2][-1].content
    for missing in (5, 99):
        with pytest.raises(NotFound):
            _asked(room, conversation_id, missing)


def _without_reminder(prompt: Sequence[Message]) -> list[Message]:
    """The prompt but for its last block, in whose place the next one has its own."""
    *before, last = prompt
    return [*before, replace(last, content=last.content.partition("\n(You now remember:")[0].rstrip())]


@pytest.mark.parametrize("role", ["character", "npc"])
def test_each_prompt_of_a_conversation_begins_with_the_one_before(
    room: ConversationDependencies, script: ScriptedModel, role: str
) -> None:
    said = [
        says(HELLO),
        replies(FAMILY),
        says(MORE),
        replies(SINGS),
        says(THANKS, leaves=True),
        replies(FAREWELL, leaves=True),
    ]
    script.enqueue(*said)
    asyncio.run(Engine(room).converse(main(meet(room))))
    asked = _sent_to(script, role)
    assert len(asked) == 3
    kept = [_without_reminder(one) for one in asked]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(kept))


def test_after_a_restart_the_prompt_is_the_one_that_was_begun(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    """Whatever has changed since: weather, memory, what one carries."""
    script.enqueue(says(HELLO), replies(FAMILY), says(MORE, leaves=True), replies(SINGS, leaves=True))
    conversation_id = meet(room)

    def changes(session: Session) -> None:
        session.get_one(WorldRow, "main").weather = "hail"
        aoi = person_row(session, "main", "aoi")
        aoi.items = ["a lantern"]
        session.add(aoi)

    async def run() -> None:
        await Engine(room).turn(main(conversation_id), 0, None)
        await Engine(room).turn(main(conversation_id), 1, None)
        room.database.write_now(changes)
        await Engine(room).converse(main(conversation_id))

    asyncio.run(run())
    first, second = _sent_to(script, "character")
    assert second[: len(first)] == first
    npc_first, npc_second = _sent_to(script, "npc")
    assert npc_second[: len(npc_first)] == npc_first


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_announced_between_two_turns_is_told_to_whoever_speaks_next_and_once(
    room: ConversationDependencies, script: ScriptedModel, *, restarted: bool
) -> None:
    """Though the clock stands, and in the minute of the speaker's own last words."""
    script.enqueue(says(HELLO), replies(FAMILY), says(MORE), replies(SINGS), says(THANKS), replies(FAREWELL))
    conversation_id = meet(room, max_turns=6)

    async def run() -> None:
        engine = Engine(room)
        for turn in range(6):
            if turn == 2:
                room.database.write_now(_announce)
            engine = Engine(room) if restarted else engine
            await engine.turn(main(conversation_id), turn, None)

    asyncio.run(run())
    told = "(Announced: The bridge is closed)"
    assert [told in turn.note for turn in turns(room, conversation_id)] == [False, False, True, True, False, False]


def test_a_conversation_that_was_read_in_has_no_prompts(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(says(HELLO, leaves=True), replies("Bye."))
    conversation_id = meet(room)
    asyncio.run(Engine(room).converse(main(conversation_id)))
    assert len(rows(room, PromptRow)) == 2
    room.database.write_now(lambda s: s.delete(s.get_one(PromptRow, ("main", conversation_id, "aoi"))))
    with pytest.raises(NotFound):
        _asked(room, conversation_id, 0)
