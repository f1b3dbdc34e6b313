"""Owns the tests that an export of all that a world has lived holds what its people remember and have promised."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.errors import BadLine
from service.export.story import Imported, StorySpan, read_story, story, written
from service.memory.memory_store import MemoryStore
from service.memory.record import Group
from service.store.policy import exported
from service.store.tables import CommitmentRow, WorldRow
from tests.runtime.promised import appointment
from tests.runtime.way_back import NAMES
from tests.runtime.worlds import fill
from tests.scripted_model import ScriptedModel
from world.time import WorldTime


def lines_of(room: ConversationDependencies, world_id: str = "main") -> list[bytes]:
    """The export of the world."""
    return room.database.read_now(
        lambda s: [written(line) for line in story(s, world_id, NAMES, StorySpan(), place="here")]
    )


def read_in(room: ConversationDependencies, lines: Iterable[bytes], world_id: str = "again") -> Imported:
    return room.database.write_now(lambda s: read_story(s, world_id, Path("story.jsonl"), lines))


@pytest.fixture
def lines(room: ConversationDependencies, script: ScriptedModel) -> list[bytes]:
    fill(room, script)
    promise = appointment("aoi", "npc_taro", None, WorldTime(600), WorldTime(500))
    room.database.write_now(lambda s: s.add(CommitmentRow(**promise.model_dump() | {"world_id": "main"})))
    return lines_of(room)


def test_a_world_that_is_read_in_holds_all_that_it_held(room: ConversationDependencies, lines: list[bytes]) -> None:
    told = {line["table"] for line in map(json.loads, lines[1:])}
    assert told == {table.name for table, _ in exported()}
    read_in(room, lines)
    assert lines_of(room, "again")[1:] == lines[1:]


def test_its_people_remember_there_what_they_remembered(room: ConversationDependencies, lines: list[bytes]) -> None:
    read_in(room, lines)
    memory = MemoryStore(room.database)  # nobody has held it in mind while rows were put beside it
    for person_id in ("aoi", "mio", "npc_taro"):
        groups = [Group(world_id=world_id, person_id=person_id) for world_id in ("main", "again")]
        now = room.database.read_now(lambda s: room.worlds.open(s, "main")).now
        here, there = [asyncio.run(memory.items(group, now, forgotten=True)) for group in groups]
        assert here
        assert sorted(map(repr, there)) == sorted(map(repr, here))


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ({"table": "worlds"}, "a row of 'worlds' is not known"),
        ({"row": {}}, "is missing"),
        ({"importance": "much"}, "importance: found"),
        ({"conversation_id": 5}, "conversation_id: found"),
        ({"subject_id": "a/b"}, "subject_id: found"),
        ({"via": ["a b"]}, "via: found"),
        ({"known_from": 2 * 10**9}, "from and to"),
        ({"text": "\0"}, "can be written down"),
        ({"revision": 3}, "revision is not known"),
        ({}, "cannot stand there"),
    ],
)
def test_a_row_that_is_none_is_told_with_its_line_and_nothing_is_kept(
    room: ConversationDependencies, lines: list[bytes], spoilt: dict[str, Any], said: str
) -> None:
    fact = next(line for line in map(json.loads, lines) if line.get("table") == "memories")
    line = {**fact, **spoilt} if spoilt.keys() <= fact.keys() else {**fact, "row": {**fact["row"], **spoilt}}
    with pytest.raises(BadLine, match=f"line {len(lines) + 1}") as bad:
        read_in(room, [*lines, json.dumps(line).encode()])
    assert said in bad.value.sentence("en")
    assert room.database.read_now(lambda s: s.get(WorldRow, "again")) is None
