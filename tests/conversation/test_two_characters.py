"""Owns the tests of a talk of two characters: each speaks from its own mind, and each remembers it for itself."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import col

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.prompt import Goal, PromptContext
from service.llm.choose import ROLES, Models
from service.memory.record import Group
from service.offline.model import OfflineModel
from service.people.person import person_row
from service.people.worlds import WorldRepository
from service.store.events import events_after
from service.store.phase import EndReason, Phase
from service.store.tables import (
    AttitudeChangeRow,
    ConversationRow,
    EventRow,
    MemoryRow,
    SummaryRow,
    UsageRow,
)
from tests.conversation.talks import (
    BOAT_TOLD,
    FAMILY_TOLD,
    begin,
    meet,
    pair_recollection,
    pass_minutes,
    place,
    replies,
    rows,
    says,
    talk,
    talk_of_family,
    todays,
    turns,
)
from tests.memory.answers import memory
from tests.runtime.carrying import carried, carrying
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

ASKS = "Hello Mio, I wonder how your boat is doing?"
GREEN = "I have painted my boat green. The hull is next, if you help me to paint the boat."
TOWER = "I will gladly help. I keep a photograph of a tower, have a look at the photograph some day."
GOODBYE = "A tower, how strange! See you soon, then."
SECRET = Goal(goal="Find out whether Mio is trustworthy", success_criteria="Mio keeps a small promise")
AOI, MIO = Group(world_id="main", person_id="aoi"), Group(world_id="main", person_id="mio")

HELPS = "Aoi is to help Mio to paint the boat."
LOOKS = "Mio is to look at the photograph of the tower."
"""How both are remembered."""


def _meet(room: ConversationDependencies, **wanted: Any) -> str:
    place(room)
    place(room, "mio")
    return begin(room, **{"npc_id": "mio", "goal": SECRET, **wanted})


def _spoken(room: ConversationDependencies, script: ScriptedModel, **wanted: Any) -> str:
    """A talk of four turns whose closing is due."""
    script.enqueue(says(ASKS), replies(GREEN), says(TOWER, leaves=True), replies(GOODBYE, leaves=True))
    conversation_id = _meet(room, **wanted)
    asyncio.run(Engine(room).converse(main(conversation_id)))
    return conversation_id


def _settled(room: ConversationDependencies, script: ScriptedModel, **changed: Any) -> ConversationRow:
    conversation_id = _spoken(room, script)
    script.enqueue(pair_recollection(**changed))
    return asyncio.run(close(room, main(conversation_id)))


def _seen(script: ScriptedModel) -> tuple[PromptContext, PromptContext]:
    """The last two scenes, of who began and of who was spoken to."""
    character, partner = (prompt.given for prompt in script.history[-2:])
    assert isinstance(character, PromptContext)
    assert isinstance(partner, PromptContext)
    return character, partner


def test_both_speak_as_characters_in_turn(room: ConversationDependencies, script: ScriptedModel) -> None:
    conversation_id = _spoken(room, script)
    assert [(turn.speaker_id, turn.text) for turn in turns(room, conversation_id)] == [
        ("aoi", ASKS),
        ("mio", GREEN),
        ("aoi", TOWER),
        ("mio", GOODBYE),
    ]
    assert [(prompt.name, prompt.role) for prompt in script.history] == [
        ("speaker", "character"),
    ] * 4
    assert talk(room, conversation_id).end_reason == EndReason.WANTS_TO_END
    assert {row["role"]: row["calls"] for row in rows(room, UsageRow)} == {"character": 4}


def test_the_partner_knows_nothing_that_only_the_first_one_knows(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(*talk_of_family())
    first = meet(room)
    asyncio.run(Engine(room).converse(main(first)))
    asyncio.run(close(room, main(first)))
    room.database.write_now(lambda s: setattr(person_row(s, "main", "aoi", lock=True), "items", ["a stolen letter"]))
    script.enqueue(says(ASKS, leaves=True), replies(GREEN, leaves=True))
    asyncio.run(Engine(room).converse(main(_meet(room))))
    own, heard = script.history[-2:]
    private = [
        SECRET.goal,
        SECRET.success_criteria,
        "a stolen letter",
        "two children called Mio and Riku",
        FAMILY_TOLD,
        *room.worlds.content.cast("en").character("aoi").facts,
    ]
    told = "\n".join(message.content for message in own.messages)
    overheard = "\n".join(message.content for message in heard.messages)
    assert all(words in told for words in private)
    assert not [words for words in private if words in overheard]
    assert "Aoi talks to you:" in overheard
    assert all(fact in overheard for fact in room.worlds.content.cast("en").character("mio").facts)


def test_each_remembers_its_own_view(room: ConversationDependencies, script: ScriptedModel) -> None:
    row = _settled(room, script)
    assert row.phase == Phase.CLOSED
    summary = BOAT_TOLD
    assert [(r["person_id"], r["partner_id"], r["summary"]) for r in rows(room, SummaryRow)] == [
        ("aoi", "mio", summary),
        ("mio", "aoi", summary),
    ]
    assert todays(room, "aoi") == todays(room, "mio") == [row.id]
    noted = {r["person_id"]: (r["text"], r["partner_id"]) for r in rows(room, MemoryRow) if r["kind"] == "mid_term"}
    assert noted == {"aoi": (HELPS, "mio"), "mio": (LOOKS, "aoi")}
    changes = {
        (r["owner_id"], r["other_id"]): (r["affinity_delta"], r["intimacy"], r["met"])
        for r in rows(room, AttitudeChangeRow)
    }
    assert changes == {
        ("aoi", "mio"): (5, 2, True),
        ("mio", "aoi"): (9, 1, True),
    }


def test_nobody_remembers_what_was_never_said_and_the_log_tells_whose_it_would_have_been(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    row = _settled(room, script, first={"memories": [memory("Mio keeps a tower.", 9, about="b")]})
    assert row.changes is not None
    assert [rejected["reason"] for rejected in row.changes["rejected"]] == ["no_such_turn"]
    assert row.changes["partner"]["rejected"] == []
    (event,) = room.database.read_now(lambda s: events_after(s, "main", 0, 50, col(EventRow.kind) == "fact_rejected"))
    assert (event.person_id, event.data["statement"]) == ("aoi", "Mio keeps a tower.")
    assert "Mio keeps a tower." not in [one["text"] for one in rows(room, MemoryRow)]


def test_what_was_remembered_stands_in_both_ones_next_scenes(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _spoken(room, script)
    script.enqueue(pair_recollection(), says("It is me again.", leaves=True), replies("So it is.", leaves=True))

    async def run() -> str:
        async with carrying(room) as jobs:
            await carried(room, jobs, main(conversation_id))
        pass_minutes(room, 24 * 60)
        place(room)
        place(room, "mio")
        second = begin(room, character_id="mio", npc_id="aoi", goal=SECRET)
        await Engine(room).converse(main(second))
        return second

    asyncio.run(run())
    mio, aoi = _seen(script)
    for context in (mio, aoi):
        assert context.meetings
        recalled = f"As you recall your talk with {context.partner_name}: {BOAT_TOLD}"
        assert (context.meetings[-1].summary, context.meetings[-1].ago) == (recalled, "yesterday morning")
        assert context.times_met == 1
    assert "Aoi keeps a photograph of a tower" in " ".join(mio.known), "beside what was said and bears on her goal"
    assert len(set(mio.known)) == len(mio.known)
    assert aoi.known == ("What Mio has told you: Mio has painted her boat green (yesterday morning).",)
    assert (mio.stance, aoi.stance) == ("You rather like Aoi; you are on easy terms.", "With Mio you are close.")
    assert mio.mid_term == ()
    assert aoi.mid_term == (f"(yesterday morning) What Mio has told you: {HELPS}",)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_rehearsal_holds_and_remembers_such_a_talk(room: ConversationDependencies, language: str) -> None:
    model = OfflineModel()
    world = room.settings.world.model_copy(update={"language": language})
    rehearsed = replace(
        room, worlds=WorldRepository(room.worlds.content, world), models=Models(dict.fromkeys(ROLES, model))
    )
    conversation_id = _meet(rehearsed, goal=None)

    async def run() -> ConversationRow:
        await Engine(rehearsed).converse(main(conversation_id))
        return await close(rehearsed, main(conversation_id))

    row = asyncio.run(run())
    assert row.phase == Phase.CLOSED
    assert len(turns(room, conversation_id)) >= 4
    assert row.changes is not None
    assert row.goal is not None
    assert row.goal not in row.changes["summary"]
    assert row.changes["facts"] or row.changes["partner"]["facts"]
    assert row.changes["partner"]["summary"] == row.changes["summary"]
