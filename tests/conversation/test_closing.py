"""Owns the tests of what happens once after a conversation."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from service.content.load import Content
from service.conversation.closing import close, machine_time, reopen
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.prompt import PromptContext
from service.errors import ModelBroken
from service.llm.chat import Prompt
from service.memory.closing.context import ClosingContext
from service.people.attitude import DIMENSIONS, attitudes_among, moods
from service.people.worlds import WorldRepository
from service.store.events import events_after
from service.store.phase import EndReason, Phase
from service.store.tables import (
    AttitudeChangeRow,
    ConversationRow,
    MemoryOwnerRow,
    MemoryRow,
    MoodRow,
    SummaryRow,
)
from service.store.usage import usage_rows
from tests.conversation.talks import (
    FAMILY,
    FAMILY_TOLD,
    FAREWELL,
    HELLO,
    THANKS,
    engaged,
    meet,
    pass_minutes,
    recollection,
    replies,
    rows,
    says,
    sleeps,
    talk,
    todays,
    turns,
)
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main
from tests.store.statements import statements
from world.time import LATEST, MINUTES_PER_DAY, WorldTime

SETTLED = (SummaryRow, MemoryOwnerRow, MemoryRow, MoodRow)
BROKEN = ModelBroken(model="m", reason="no JSON")

BRINGS = "Aoi is to bring a present for the children Mio and Riku."
CALLS = "Taro calls his children Mio and Riku."
"""How it is remembered."""


def recalled_of(context: PromptContext) -> str:
    """How the talk of the family, which was not verified, is told to its speaker."""
    return f"As you recall your talk with {context.partner_name}: {FAMILY_TOLD}"


def _spoken(room: ConversationDependencies, script: ScriptedModel, **begin: Any) -> str:
    """A talk of four turns whose closing is due."""
    script.enqueue(says(HELLO), replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL))
    conversation_id = meet(room, **begin)
    asyncio.run(Engine(room).converse(main(conversation_id)))
    return conversation_id


def _close(room: ConversationDependencies, conversation_id: str) -> ConversationRow:
    return asyncio.run(close(room, main(conversation_id)))


def _reopen(room: ConversationDependencies, conversation_id: str) -> None:
    room.database.write_now(lambda s: reopen(s, s.get_one(ConversationRow, main(conversation_id))))


def _without(content: Content, *, npc_id: str = "", character_id: str = "") -> Content:
    """The content after its author has taken somebody out."""
    casts = {
        language: replace(
            cast,
            npcs={key: npc for key, npc in cast.npcs.items() if key != npc_id},
            characters={key: who for key, who in cast.characters.items() if key != character_id},
        )
        for language, cast in content.casts.items()
    }
    return replace(content, casts=casts)


def _revised(room: ConversationDependencies, content: Content) -> ConversationDependencies:
    return replace(room, worlds=WorldRepository(content, room.settings.world))


def test_a_closing_is_exactly_one_model_call(room: ConversationDependencies, script: ScriptedModel) -> None:
    conversation_id = _spoken(room, script)
    before = len(script.history)
    script.enqueue(recollection())
    _close(room, conversation_id)
    (prompt,) = script.history[before:]
    assert (prompt.name, prompt.role) == ("closing", "closing")
    assert isinstance(prompt.given, ClosingContext)
    assert [line.text for line in prompt.given.lines] == [HELLO, FAMILY, THANKS, FAREWELL]
    assert prompt.given.goal_achieved


def test_a_closing_stores_what_was_recollected(room: ConversationDependencies, script: ScriptedModel) -> None:
    conversation_id = _spoken(room, script)
    script.enqueue(recollection())
    row = _close(room, conversation_id)
    assert row.phase == Phase.CLOSED
    assert row.closed_at is not None
    assert row.changes is not None
    assert row.changes["affinity"] == {"before": 0, "after": 8}
    assert row.changes["rejected"] == []
    summaries = [(r["person_id"], r["partner_id"], r["summary"], r["at"]) for r in rows(room, SummaryRow)]
    assert summaries == [
        ("aoi", "npc_taro", FAMILY_TOLD, row.ended_at),
        ("npc_taro", "aoi", FAMILY_TOLD, row.ended_at),
    ]
    written = {(r["person_id"], r["kind"]): r for r in rows(room, MemoryRow)}
    assert {key: r["text"] for key, r in written.items()} == {
        ("aoi", "fact"): "Taro has two children called Mio and Riku.",
        ("aoi", "mid_term"): BRINGS,
        ("npc_taro", "self"): CALLS,
    }
    assert {r["told_by"] for r in written.values()} == {"npc_taro"}
    assert {r["conversation_id"] for r in written.values()} == {conversation_id}
    changes = {
        r["owner_id"]: (r["other_id"], r["affinity_delta"], r["intimacy"]) for r in rows(room, AttitudeChangeRow)
    }
    assert changes == {
        "aoi": ("npc_taro", 0, 2),
        "npc_taro": ("aoi", 8, 0),
    }
    assert [(r["person_id"], r["mood"]) for r in rows(room, MoodRow)] == [("aoi", "neutral"), ("npc_taro", "happy")]
    assert todays(room, "aoi") == [conversation_id]
    closed = room.database.read_now(lambda s: events_after(s, "main", 0, 100))[-1]
    assert (closed.kind, closed.data["conversation_id"]) == ("conversation_closed", conversation_id)


def test_a_failed_closing_keeps_the_transcript_and_says_why(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _spoken(room, script)
    script.enqueue(BROKEN)
    row = _close(room, conversation_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSING_FAILED, EndReason.GOAL_ACHIEVED)
    assert row.failure is not None
    assert {key: row.failure[key] for key in row.failure if key != "next_try_at"} == {
        "type": "model-broken",
        "role": "closing",
        "en": BROKEN.sentence("en"),
        "ja": BROKEN.sentence("ja"),
    }
    assert row.failure["next_try_at"] > machine_time()
    assert len(turns(room, conversation_id)) == 4
    assert all(rows(room, table) == [] for table in (*SETTLED, AttitudeChangeRow))
    usage = {row.role: row for row in room.database.read_now(lambda s: usage_rows(s, "main"))}
    assert (usage["closing"].calls, usage["closing"].failures) == (1, 1)
    assert room.database.read_now(lambda s: events_after(s, "main", 0, 100))[-1].kind == "closing_failed"


def test_a_second_closing_changes_nothing_and_asks_nobody(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _spoken(room, script)
    script.enqueue(recollection())
    _close(room, conversation_id)
    asked, before = len(script.history), [rows(room, table) for table in (*SETTLED, ConversationRow)]
    _close(room, conversation_id)
    assert len(script.history) == asked
    assert [rows(room, table) for table in (*SETTLED, ConversationRow)] == before


def test_two_closings_at_the_same_time_store_once(room: ConversationDependencies, script: ScriptedModel) -> None:
    conversation_id = _spoken(room, script)
    script.latency_seconds = 0.05
    script.enqueue(recollection(), recollection(summary="Another account of it."))

    async def both() -> None:
        await asyncio.gather(close(room, main(conversation_id)), close(room, main(conversation_id)))

    asyncio.run(both())
    assert [len(rows(room, table)) for table in SETTLED] == [2, 2, 3, 2]
    assert [r["affinity_delta"] for r in rows(room, AttitudeChangeRow)] == [0, 8]
    assert talk(room, conversation_id).calls == 6  # both were paid


def test_a_closing_that_fails_after_another_has_stored_does_not_undo_it(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _spoken(room, script)

    def settled_meanwhile(prompt: Prompt[Any]) -> BaseModel:
        room.database.write_now(
            lambda s: setattr(s.get_one(ConversationRow, main(conversation_id)), "phase", Phase.CLOSED)
        )
        raise BROKEN

    script.enqueue(settled_meanwhile)
    assert _close(room, conversation_id).phase == Phase.CLOSED
    assert talk(room, conversation_id).failure is None


def test_a_talk_settled_after_sleep_does_not_enter_the_new_day(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _spoken(room, script)
    sleeps(room, "aoi")
    script.enqueue(recollection())
    _close(room, conversation_id)
    assert todays(room, "aoi") == []
    assert len(rows(room, SummaryRow)) == 2


def test_what_was_not_remembered_stands_in_the_next_scene(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    first = _spoken(room, script)
    script.enqueue(BROKEN)
    _close(room, first)
    script.enqueue(says("It is me again.", leaves=True), replies("So it is.", leaves=True))
    asyncio.run(Engine(room).converse(main(meet(room))))
    for context in (prompt.given for prompt in script.history[-2:]):
        assert isinstance(context, PromptContext)
        assert [line.text for line in context.unsettled] == [HELLO, FAMILY, THANKS, FAREWELL]
        assert context.meetings == ()


def test_what_was_remembered_stands_in_the_next_scene_as_a_summary(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    first = _spoken(room, script)
    script.enqueue(recollection())
    _close(room, first)
    pass_minutes(room, 2 * 24 * 60)
    script.enqueue(says("It is me again.", leaves=True), replies("So it is.", leaves=True))
    asyncio.run(Engine(room).converse(main(meet(room))))
    character, npc = (prompt.given for prompt in script.history[-2:])
    assert isinstance(character, PromptContext)
    assert isinstance(npc, PromptContext)
    for context in (character, npc):
        assert context.unsettled == ()
        assert context.times_met == 1
        assert context.meetings
        assert (context.meetings[-1].summary, context.meetings[-1].ago) == (recalled_of(context), "2 days ago")
    assert character.stance == "With Taro you are close."
    assert character.mid_term == ()  # two days have passed
    assert npc.affinity == 8
    assert npc.learned == (CALLS,)


def test_the_days_other_talks_stand_in_the_characters_scene(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    first = _spoken(room, script)
    script.enqueue(recollection())
    _close(room, first)
    script.enqueue(says("Good day, Hamako.", leaves=True), replies("Bye."))
    asyncio.run(Engine(room).converse(main(meet(room, npc_id="npc_hamako"))))
    context = script.history[-2].given
    assert isinstance(context, PromptContext)
    assert f"As you recall your talk with Taro: {FAMILY_TOLD}" in " ".join((*context.heard, *context.today))
    assert context.mid_term == (f"(just now) What Taro has told you: {BRINGS}",)
    assert context.times_met == 0


def test_a_late_closing_of_an_earlier_talk_leaves_the_later_mood_and_stance(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    earlier = _spoken(room, script)
    script.enqueue(BROKEN)
    _close(room, earlier)
    pass_minutes(room, 60)
    later = _spoken(room, script)
    angry = {"affinity": 10, "mood": "angry", "memories": []}
    script.enqueue(recollection(first={"memories": [], "intimacy": -1}, second=angry))
    _close(room, later)
    _reopen(room, earlier)
    script.enqueue(recollection(second={"affinity": 15, "memories": []}))
    _close(room, earlier)
    ended_at = WorldTime(talk(room, later).ended_at or 0)
    stood = room.database.read_now(lambda s: attitudes_among(s, "main", ["aoi", "npc_taro"], ended_at))
    aoi, taro = stood["aoi", "npc_taro"], stood["npc_taro", "aoi"]
    assert (aoi.intimacy, aoi.times_met, aoi.last_met_at) == (-1, 2, ended_at)
    assert (taro.affinity, taro.times_met) == (15, 2)  # what each talk did is added
    felt = room.database.read_now(lambda s: moods(s, room.worlds.open(s, "main"), ["npc_taro"], 6))
    assert felt == {"npc_taro": "angry"}


def test_a_closing_with_an_npc_the_author_took_out_fails_without_a_call(
    room: ConversationDependencies, script: ScriptedModel, village: Content
) -> None:
    conversation_id = _spoken(room, script)
    asked = len(script.history)
    row = _close(_revised(room, _without(village, npc_id="npc_taro")), conversation_id)
    assert row.phase == Phase.CLOSING_FAILED
    assert row.failure is not None
    assert row.failure["type"] == "not-found"
    assert "npc_taro" in row.failure["en"]
    assert len(script.history) == asked
    assert all(usage.role != "closing" for usage in room.database.read_now(lambda s: usage_rows(s, "main")))
    _reopen(room, conversation_id)
    script.enqueue(recollection())
    assert _close(room, conversation_id).phase == Phase.CLOSED  # and goes well when the NPC is back


@pytest.mark.parametrize("gone", [{"npc_id": "npc_taro"}, {"character_id": "aoi"}])
def test_a_talk_with_somebody_the_author_took_out_ends_and_frees_the_other(
    room: ConversationDependencies, script: ScriptedModel, village: Content, gone: dict[str, str]
) -> None:
    conversation_id = meet(room)
    asyncio.run(Engine(_revised(room, _without(village, **gone))).converse(main(conversation_id)))
    row = talk(room, conversation_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSED, EndReason.CONTENT_CHANGED)
    assert row.failure is not None
    assert next(iter(gone.values())) in row.failure["ja"]
    assert engaged(room) == []
    assert script.history == []


def test_no_transaction_is_open_while_the_model_thinks(room: ConversationDependencies, script: ScriptedModel) -> None:
    conversation_id = _spoken(room, script)

    def writes(prompt: Prompt[Any]) -> BaseModel:
        pass_minutes(room, 1)
        return recollection()

    script.enqueue(writes)
    row = _close(room, conversation_id)
    assert row.phase == Phase.CLOSED
    assert row.closed_at == (row.ended_at or 0) + 1


def test_a_closing_judges_from_how_each_stood(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(says(HELLO, leaves=True), replies("Carry my nets down to the pier!", leaves=True))
    before = {"attitude": {"power": -1, "intimacy": 2, "task_oriented": 0}, "memories": []}
    conversation_id = meet(room)
    asyncio.run(Engine(room).converse(main(conversation_id)))
    script.enqueue(recollection(first=before, second={"memories": []}))
    _close(room, conversation_id)
    assert "likes Taro: 0. Mood" in _asked_last(script), "nobody had judged them"
    pass_minutes(room, MINUTES_PER_DAY)
    later = _spoken(room, script)
    script.enqueue(recollection())
    _close(room, later)
    asked = _asked_last(script)
    assert re.search(r"likes Taro: -?\d+ \(power -1, intimacy 2\)\. Mood", asked), (
        "0 is what is taken where nothing is said"
    )
    stood = room.database.read_now(lambda s: attitudes_among(s, "main", ["aoi", "npc_taro"], LATEST))
    assert [getattr(stood["aoi", "npc_taro"], name) for name in DIMENSIONS] == [0, 2, 0], "as it was judged now"


def test_the_event_of_a_closing_tells_in_numbers_how_the_two_stand_now(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _spoken(room, script)
    script.enqueue(recollection())
    _close(room, conversation_id)
    (closed,) = [
        e for e in room.database.read_now(lambda s: events_after(s, "main", 0, 1000)) if e.kind == "conversation_closed"
    ]
    assert closed.data["attitudes"] == {
        "aoi": {"affinity": 0, "power": 0, "intimacy": 2, "task_oriented": 0},
        "npc_taro": {"affinity": 8, "power": 0, "intimacy": 0, "task_oriented": 0},
    }


def test_who_wants_no_attitudes_is_asked_for_none(room: ConversationDependencies, script: ScriptedModel) -> None:
    off = room.settings.memory.model_copy(update={"attitude": "off"})
    room = replace(room, settings=room.settings.model_copy(update={"memory": off}))
    for _ in range(2):
        conversation_id = _spoken(room, script)
        script.enqueue(recollection())
        changes = _close(room, conversation_id).changes
        assert "attitude" not in _asked_last(script).casefold()
        assert changes is not None
        assert (changes["stance"], changes["attitude"]) == ("", None)
    assert {row["intimacy"] for row in rows(room, AttitudeChangeRow)} == {None}


@pytest.mark.parametrize("judged", ["per_conversation", "off"])
def test_what_a_closing_asks_of_one_memory_before_it_asks_the_model_is_read_once(
    room: ConversationDependencies, script: ScriptedModel, judged: str
) -> None:
    memory = room.settings.memory.model_copy(update={"attitude": judged})
    room = replace(room, settings=room.settings.model_copy(update={"memory": memory}))
    for _ in range(2):
        conversation_id = _spoken(room, script)
        until_asked: list[str] = []

        def answers(prompt: Prompt[Any], asked: list[str] = until_asked) -> BaseModel:
            asked.extend(heard)
            return recollection()

        script.enqueue(answers)
        with statements(room.database.engine) as heard:
            _close(room, conversation_id)
    assert sum("FROM memory_owners" in one for one in until_asked) == len(("aoi", "npc_taro"))


def _asked_last(script: ScriptedModel) -> str:
    return "\n".join(message.content for message in script.history[-1].messages)
