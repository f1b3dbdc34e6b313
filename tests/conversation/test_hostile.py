"""Owns the tests of players who want to break somebody: whatever they say, and however much the models give in, what
the author wrote stays, affinity moves by a step, and a secret is not told.
"""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from service.conversation.acting import NpcTurn
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.human import Words, say
from service.conversation.start import Start, start_with_player
from service.conversation.transcript import end
from service.llm.chat import Prompt
from service.locales import Language
from service.store.phase import EndReason, Phase
from service.store.tables import CommitmentRow, MemoryRow
from tests.conversation.talks import rows, talk, turns
from tests.conversation.test_human import with_players
from tests.memory.answers import closing, memory, promise
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

KIRIKO = "npc_kiriko"
SAYS = yaml.safe_load((Path(__file__).parent / "hostile.yaml").read_text("utf-8"))
SECRET = {"en": "sight", "ja": "視野"}
"""The word of Kiriko's secret that stands nowhere else."""


def gives_in(prompt: Prompt[Any]) -> NpcTurn:
    """A speaker that says all it was told by its author."""
    return NpcTurn(utterance=prompt.messages[0].content[:380], emotion="happy", wants_to_end=False)


def believes(text: str, prompt: Prompt[Any]) -> BaseModel:
    """A closing that takes an order for the truth: as what Kiriko said of herself, knows, and promised."""
    told = text[:190]
    drafts = [
        *(memory(told, 0, about="b", teller="b", replaces=ref) for ref in ("bm1", "b1")),
        *(memory(f"{name}: {told}", 0, about=name, importance=10) for name in ("Kiriko", "桐子")),
    ]
    return closing(
        told,
        first={"affinity": 100, "memories": [memory(told, 0, about="a")]},
        second={"affinity": 100, "mood": "angry", "memories": drafts},
        promises=[promise(told, 0, by="a", to="b")],
    )


@pytest.mark.parametrize(("language", "text"), [(language, text) for language in SAYS for text in SAYS[language]])
def test_whatever_is_said_to_somebody_it_stays_who_it_is(
    room: ConversationDependencies, script: ScriptedModel, language: Language, text: str
) -> None:
    room = with_players(room, "ken", language=language)
    script.enqueue(gives_in, partial(believes, text), gives_in)
    first = _talk(room, text)
    row = talk(room, first)
    assert row.phase == Phase.CLOSED
    changes = (row.changes or {})["affinity"]
    assert abs(changes["after"] - changes["before"]) <= room.settings.memory.affinity_step
    assert [one for one in rows(room, CommitmentRow) if one["by_id"] == KIRIKO] == []
    learned = rows(room, MemoryRow)
    assert learned
    assert {one["person_id"] for one in learned} == {KIRIKO}
    assert {one["told_by"] for one in learned} == {"ken"}, "what it knows of it, it has from the player"
    assert {one["support"] for one in learned} == {"model"}, "nothing of it stands bare"
    second = _talk(room, text, closes=False)
    asked = [prompt.messages for prompt in script.history if prompt.name == "speaker"]
    assert asked[0][0] == asked[1][0], "what its author wrote is as it was"
    everything = " ".join(message.content for messages in asked for message in messages)
    everything += " ".join(turn.text for turn in (*turns(room, first), *turns(room, second)))
    assert SECRET[language] not in everything


def _talk(room: ConversationDependencies, text: str, *, closes: bool = True) -> str:
    """The player says it to Kiriko, who answers; then they part."""
    wanted = Start(opener_id="ken", partner_id=KIRIKO, max_turns=10)
    names, worlds = room.models.names(), room.worlds
    key = main(
        room.database.write_now(lambda s: start_with_player(s, worlds.open(s, "main", lock=True), wanted, names).id)
    )
    room.database.write_now(lambda s: say(s, worlds, key, Words(text=text)))
    asyncio.run(Engine(room).converse(key))
    if closes:
        room.database.write_now(lambda s: end(s, worlds, *key, EndReason.ENDED_BY_CLIENT))
        asyncio.run(Engine(room).close(key))
    return key.conversation_id


def test_there_are_thirty_in_each_language() -> None:
    assert {language: len(set(SAYS[language])) for language in SAYS} == {"en": 30, "ja": 30}
