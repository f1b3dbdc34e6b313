"""Owns the tests of who knows what from whom: a rumour through several hands, on the service's own database."""

import asyncio
from collections.abc import Sequence

import pytest

from service.conversation.context_builder import build_contexts
from service.conversation.dependencies import ConversationDependencies
from service.conversation.transcript import read_transcript
from service.locales import Language, languages
from service.memory.record import Group, Memory
from tests.conversation.talks import begin, place
from tests.memory.rumours import HANDS, RUMOURS, goes_round, tell
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main


async def _nothing(_: Sequence[str]) -> None:
    """Nothing is to be delivered."""


def _remembered(room: ConversationDependencies, person_id: str) -> list[Memory]:
    dump = asyncio.run(room.memory.export(Group(world_id="main", person_id=person_id)))
    return list(dump.memories)


@pytest.mark.parametrize("language", languages())
def test_a_rumour_keeps_who_told_it_and_whom_that_one_named(
    room: ConversationDependencies, script: ScriptedModel, language: Language
) -> None:
    asyncio.run(goes_round(room, script, language, _nothing))
    found = [_remembered(room, person_id) for person_id in HANDS[1:]]
    assert [[(one.told_by, one.via, one.text) for one in each] for each in found] == [
        [("aoi", (), RUMOURS[language].statement)],
        [("mio", ("aoi",), RUMOURS[language].statement)],
        [("ren", ("mio",), RUMOURS[language].statement)],
    ]
    assert _remembered(room, HANDS[0]) == []


def test_the_next_prompt_says_from_whom_it_was_heard(room: ConversationDependencies, script: ScriptedModel) -> None:
    asyncio.run(goes_round(room, script, "en", _nothing))
    for person_id in HANDS[2:]:
        place(room, person_id)
    key = main(begin(room, character_id="sota", npc_id="ren"))
    said = room.database.read_now(lambda s: read_transcript(s, room.worlds, key))
    assert said is not None
    opener = asyncio.run(build_contexts(room, said)).records[0]
    assert "The old bridge by the mill is broken in the middle, as Mio has it (30 minutes ago)" in opener.context


def test_what_is_told_again_by_another_is_remembered_of_both(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    asyncio.run(goes_round(room, script, "en", _nothing))
    asyncio.run(tell(room, script, "aoi", "sota", RUMOURS["en"], 0))
    assert [(one.told_by, one.via) for one in _remembered(room, "sota")] == [("ren", ("mio",)), ("aoi", ())]
