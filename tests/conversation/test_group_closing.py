"""What five who talk take away, each what it perceived: tests of the closing of more than two."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from sqlmodel import SQLModel, col, select

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.llm.scripted import ScriptedModel
from service.locales import Language, languages
from service.memory.recall import recall
from service.memory.store import Group, HeardTurn, Kind
from service.people.attitude import attitudes_of
from service.store.phase import Phase
from service.store.tables import (
    CommitmentRow,
    EventRow,
    FactRow,
    MidTermRow,
    MoodRow,
    SelfFactRow,
    SummaryRow,
)
from tests.conversation.talks import talk
from tests.memory.whispers import FIVE, KNOWING, OTHERS, Whisper, tells_everybody, whispered
from tests.store.conversations import main

MEMORY: tuple[type[SQLModel], ...] = (SummaryRow, FactRow, MidTermRow, SelfFactRow)


def closed(room: ConversationDependencies, script: ScriptedModel, language: Language) -> Whisper:
    told = whispered(room, language)
    script.enqueue(tells_everybody)
    assert asyncio.run(close(room, main("table"))).phase == Phase.CLOSED
    return told


def written_of(room: ConversationDependencies, person_id: str, tables: Iterable[Any] = MEMORY) -> str:
    """All that is stored of what the person remembers."""
    found = room.database.read_now(
        lambda s: [
            row.model_dump() for table in tables for row in s.exec(select(table).where(table.person_id == person_id))
        ]
    )
    promised = select(CommitmentRow).where((col(CommitmentRow.by_id) == person_id) | (CommitmentRow.to_id == person_id))
    return str(found + room.database.read_now(lambda s: [row.model_dump() for row in s.exec(promised)]))


async def asked(room: ConversationDependencies, person_id: str, query: str) -> str:
    """All that the person can be made to remember by that question, of whatever kind."""
    world = await room.database.read(lambda s: room.worlds.open(s, "main"))
    memory = await recall(room.database, room.memory, world, person_id, None, query=query, limit=50)
    group = Group(world_id="main", person_id=person_id)
    found = await room.memory.recall(group, query, at=world.now, kinds=set(Kind), limit=50)
    return str((memory.facts, memory.turns, memory.insights, memory.recent.today, memory.recent.mid_term, found))


@pytest.mark.parametrize("language", languages())
def test_a_whisper_that_two_of_five_know_is_known_to_these_two(
    room: ConversationDependencies, script: ScriptedModel, language: Language
) -> None:
    told = closed(room, script, language)
    for person_id in OTHERS:
        known = written_of(room, person_id) + asyncio.run(asked(room, person_id, told.asked))
        assert not [word for word in told.telling if word in known], person_id
    for person_id in KNOWING:
        assert told.lines[2] in written_of(room, person_id)
        assert told.lines[2] in asyncio.run(asked(room, person_id, told.asked))


@pytest.mark.parametrize("language", languages())
def test_what_was_done_is_remembered_by_who_saw_it(
    room: ConversationDependencies, script: ScriptedModel, language: Language
) -> None:
    told = closed(room, script, language)
    for person_id in FIVE:
        sees = person_id in ("npc_taro", "npc_hamako")
        known = written_of(room, person_id) + asyncio.run(asked(room, person_id, told.act))
        assert (told.acted in known) is sees, person_id
        turns = [one.turn for one in asyncio.run(items(room, person_id)) if isinstance(one, HeardTurn)]
        assert sorted(turns) == [0, *((1, 2, 3) if person_id in KNOWING else ()), 4, *((5,) if sees else ())]


async def items(room: ConversationDependencies, person_id: str) -> list[Any]:
    world = await room.database.read(lambda s: room.worlds.open(s, "main"))
    return list(await room.memory.items(Group(world_id="main", person_id=person_id), world.now))


def test_each_keeps_what_it_perceived_of_the_whole(room: ConversationDependencies, script: ScriptedModel) -> None:
    told = closed(room, script, "en")
    rows = room.database.read_now(lambda s: {row.person_id: row for row in s.exec(select(SummaryRow))})
    assert [rows[one].summary for one in OTHERS] == [told.summary] * 3
    assert all(told.lines[2] in rows[one].summary for one in KNOWING)
    assert [rows[one].topics for one in FIVE] == [
        *[["key", "chapel", "boat"]] * 2,
        ["boat"],
        *[["coin", "boat"]] * 2,
    ]
    assert [(rows[one].partner_id, rows[one].others) for one in ("aoi", "npc_taro")] == [
        ("ren", ["mio", "npc_taro", "npc_hamako"]),
        ("npc_hamako", ["aoi", "ren", "mio"]),
    ]


def test_each_likes_each_other_one_by_its_own_number(room: ConversationDependencies, script: ScriptedModel) -> None:
    closed(room, script, "en")
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    towards = room.database.read_now(lambda s: attitudes_of(s, "main", FIVE, world.now))
    assert {one: sorted(of) for one, of in towards.items()} == {one: sorted({*FIVE} - {one}) for one in FIVE}
    assert {(of.affinity, of.times_met) for others in towards.values() for of in others.values()} == {(3, 1)}
    moods = room.database.read_now(lambda s: [row.person_id for row in s.exec(select(MoodRow))])
    assert sorted(moods) == sorted(FIVE)


def test_what_it_changed_is_told_for_each(room: ConversationDependencies, script: ScriptedModel) -> None:
    told = closed(room, script, "en")
    changes = talk(room, "table").changes
    assert changes is not None
    assert list(changes["people"]) == list(FIVE)
    mio = changes["people"]["mio"]
    assert mio["summary"] == told.summary
    assert mio["towards"]["ren"]["affinity"] == {"before": 0, "after": 3}
    reasons = {one["reason"] for one in mio["rejected"]}
    assert reasons == {"not_perceived"}
    assert changes["summary"] == changes["people"]["aoi"]["summary"]
    (event,) = room.database.read_now(
        lambda s: s.exec(select(EventRow).where(EventRow.kind == "conversation_closed")).all()
    )
    assert event.data["towards"]["mio"]["ren"] == {"affinity": 3}


def test_the_prompt_marks_what_not_all_perceived(room: ConversationDependencies, script: ScriptedModel) -> None:
    told = closed(room, script, "en")
    (prompt,) = script.history
    asked_with = prompt.messages[-1].content
    assert f"0 Aoi: {told.lines[0]}" in asked_with
    assert f"2 Aoi (whisper, heard by b): {told.lines[2]}" in asked_with
    assert f"(does, seen by d: {told.act})" in asked_with
    assert prompt.max_tokens == 6000
    assert "Aoi likes b: 0; c: 0; d: 0; e: 0. Mood:" in asked_with
