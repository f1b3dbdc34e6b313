"""Owns the tests of who knows what from whom: a rumour through several hands, on the service's own database."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.conversation.gather import gather
from service.conversation.transcript import read_transcript
from service.llm.scripted import ScriptedModel
from service.locales import Language, languages
from service.memory.record import Fact, Group, Kind
from service.store.tables import FactRow, MemoryOwnerRow, MidTermRow, MoodRow, ParticipantRow, SelfFactRow, SummaryRow
from tests.conversation.talks import begin, place, rows
from tests.memory.rumours import HANDS, RUMOURS, goes_round, tell
from tests.store.conversations import main
from world.time import WorldTime


async def _nothing(_: Sequence[str]) -> None:
    """Nothing is to be delivered."""


def _remembered(room: ConversationDependencies, person_id: str) -> list[Fact]:
    dump = asyncio.run(room.memory.export(Group(world_id="main", person_id=person_id)))
    return list(dump.facts)


@pytest.mark.parametrize("language", languages())
def test_a_rumour_keeps_its_source_over_three_people(
    room: ConversationDependencies, script: ScriptedModel, language: Language
) -> None:
    asyncio.run(goes_round(room, script, language, _nothing))
    facts = [_remembered(room, person_id) for person_id in HANDS[1:]]
    assert [len(found) for found in facts] == [1, 1, 1]
    assert [found[0].chain for found in facts] == [HANDS[:1], HANDS[:2], HANDS[:3]]
    assert [found[0].heard_from for found in facts] == list(HANDS[:3])
    assert [found[0].confidence for found in facts] == [0.8, 0.64, 0.51]
    assert tuple(found[0].words for found in facts) == RUMOURS[language].remembered
    assert [found[0].mode for found in facts] == ["asserted", "hearsay", "hearsay"]
    assert not any(found[0].held for found in facts)
    assert _remembered(room, HANDS[0]) == []


def test_the_next_prompt_says_from_whom_it_was_heard(room: ConversationDependencies, script: ScriptedModel) -> None:
    asyncio.run(goes_round(room, script, "en", _nothing))
    for person_id in HANDS[2:]:
        place(room, person_id)
    key = main(begin(room, character_id="sota", npc_id="ren"))
    said = room.database.read_now(lambda s: read_transcript(s, room.worlds, key))
    assert said is not None
    opener = asyncio.run(gather(room, said)).records[0]
    assert "(30 minutes ago) Heard from Ren, who had it by way of Mio from Aoi: " in opener.context


def test_who_hears_it_from_nearer_its_beginning_remembers_that_too(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    rumour = RUMOURS["en"]
    asyncio.run(goes_round(room, script, "en", _nothing))
    asyncio.run(tell(room, script, "ren", "sota", rumour.told[2], rumour))
    asyncio.run(tell(room, script, "aoi", "sota", rumour.told[0], rumour))
    facts = _remembered(room, "sota")
    assert [(fact.chain, fact.tellings) for fact in facts] == [(HANDS[:3], 2), (HANDS[:1], 1)]


def test_what_the_teller_learned_only_later_is_no_source(room: ConversationDependencies, script: ScriptedModel) -> None:
    rumour = RUMOURS["en"]
    asyncio.run(tell(room, script, "mio", "ren", rumour.told[2], rumour))
    asyncio.run(tell(room, script, "aoi", "mio", rumour.told[0], rumour))
    assert [fact.chain for fact in _remembered(room, "ren")] == [("mio",)]


def test_who_hears_back_what_it_told_is_told_so(room: ConversationDependencies, script: ScriptedModel) -> None:
    rumour = RUMOURS["en"]
    asyncio.run(tell(room, script, "aoi", "mio", rumour.told[0], rumour))
    asyncio.run(tell(room, script, "mio", "aoi", rumour.told[1], rumour))
    asyncio.run(tell(room, script, "aoi", "ren", rumour.told[0], rumour))
    assert [fact.chain for fact in _remembered(room, "aoi")] == [("aoi", "mio")]
    assert [fact.chain for fact in _remembered(room, "ren")] == [("aoi",)]


def test_another_thing_said_of_the_same_has_no_source(room: ConversationDependencies, script: ScriptedModel) -> None:
    rumour = RUMOURS["en"]
    asyncio.run(tell(room, script, "aoi", "mio", rumour.told[0], rumour))
    other = replace(rumour, statement="The old bridge by the mill was painted green last summer")
    asyncio.run(tell(room, script, "mio", "ren", "The old bridge by the mill was painted green last summer.", other))
    assert [fact.chain for fact in _remembered(room, "ren")] == [("mio",)]


def test_only_who_was_present_remembers(room: ConversationDependencies, script: ScriptedModel) -> None:
    place(room, "ren")  # he stands beside them, and is no part of it
    asyncio.run(tell(room, script, "aoi", "mio", RUMOURS["en"].told[0], RUMOURS["en"]))
    assert {row["person_id"] for row in rows(room, ParticipantRow)} == {"aoi", "mio"}
    remembering = (FactRow, SummaryRow, MidTermRow, SelfFactRow, MoodRow, MemoryOwnerRow)
    assert {row["person_id"] for table in remembering for row in rows(room, table)} == {"aoi", "mio"}
    assert _remembered(room, "ren") == []
    heard = room.memory.recall(
        Group(world_id="main", person_id="ren"), "bridge", at=WorldTime(2**40), kinds=set(Kind), limit=10
    )
    assert asyncio.run(heard) == []
