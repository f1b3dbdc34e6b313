"""Owns the tests of forgetting: a whole world, or all that one character lived through."""

import asyncio
from typing import Any

import pytest
from sqlmodel import col, delete

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.errors import WorldInUse
from service.memory.forgetting import forget_world
from service.runtime.made_people import forget_character, place_person, remove_person
from service.store.phase import Phase
from service.store.tables import ConversationRow, OverheardRow
from tests.conversation.talks import rows, talk
from tests.runtime.worlds import command, converse_silently, fill, marked, of_world, snapshot
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main


def _forget(room: ConversationDependencies, world_id: str) -> None:
    room.database.write_now(lambda s: forget_world(s, world_id))


def test_every_row_of_the_world_goes_and_the_other_world_stays_as_it_was(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    before = snapshot(room)
    filled = {name for name, found in of_world(before, "main").items() if found}
    empty = {"commitments", "talks", "vectors", "spent"}
    assert set(before) - filled == {*empty, "installation", "api_keys"}
    _forget(room, "main")
    after = snapshot(room)
    assert not any(of_world(after, "main").values())
    assert of_world(after, "other") == of_world(before, "other")


def test_a_character_forgets_all_it_lived_through_and_others_nothing(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    overheard = delete(OverheardRow).where(col(OverheardRow.person_id) == "mio")  # it would remember what Aoi said
    room.database.write_now(lambda s: s.execute(overheard))
    before = snapshot(room)
    command(room, lambda s, world_session: forget_character(s, room.memory, world_session, "aoi"))
    after = snapshot(room)
    told = of_world(after, "main")["events"][-1]
    assert (told["kind"], told["person_id"], told["data"]) == ("forgot", "aoi", {})
    parts = of_world(before, "main")["participants"]
    talks = {row["conversation_id"] for row in parts if row["person_id"] == "aoi"}
    assert talks
    for name in ("turns", "participants"):
        assert [row for row in before[name] if row["conversation_id"] not in talks] == after[name]
    for name in ("memories", "summaries", "attitude_changes"):
        kept = [row for row in before[name] if row["world_id"] != "main" or "aoi" not in row.values()]
        assert len(kept) < len(before[name]), f"{name} held nothing to forget"
        assert kept == after[name]
    assert [row for row in before["conversations"] if row["id"] not in talks] == after["conversations"]
    assert [row for row in before["moods"] if (row["world_id"], row["person_id"]) != ("main", "aoi")] == after["moods"]
    thought = {(row["world_id"], row["person_id"]) for row in after["memories"] if row["kind"] == "insight"}
    assert thought == {("other", "aoi"), ("other", "npc_taro")}, "nor does Taro think anything of it any more"
    of_itself = [row for row in after["memories"] if row["kind"] == "self"]
    assert of_itself == [row for row in before["memories"] if row["kind"] == "self"], "what he told of himself stays"
    for name in ("movements", "usage"):
        assert after[name] == before[name]


def test_who_is_removed_everywhere_leaves_nothing_but_that_it_was_removed(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    command(room, lambda s, session: place_person(s, session, "mika", "quay_west"))
    of_mika = marked("main", "aoi@5", "aoi", marks={"persona": [3, "She would not wait for Mika."]})
    room.database.write_now(lambda s: s.add(of_mika))
    before = snapshot(room)

    def naming(rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
        found = {name: [row for row in some if "mika" in str(row).lower()] for name, some in rows.items()}
        return {name: some for name, some in found.items() if some and name != "kept_rows"}  # snapshots stay

    assert naming(of_world(before, "main")).keys() == {"events", "people", "made_people", "movements", "quality"}
    command(room, lambda s, session: remove_person(s, room.worlds, room.memory, session, "mika", everywhere={}))
    after = snapshot(room)
    left = naming(of_world(after, "main"))
    assert [row["kind"] for row in left.pop("events")] == ["person_removed"]
    assert left == {}
    assert of_world(after, "other") == of_world(before, "other")
    others = [row for row in of_world(before, "main")["events"] if row["person_id"] != "mika"]
    assert of_world(after, "main")["events"][:-1] == others


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.CLOSING])
def test_a_world_in_which_they_talk_is_not_forgotten(
    room: ConversationDependencies, script: ScriptedModel, phase: Phase
) -> None:
    conversation_id = converse_silently(room, script, "main")
    if phase == Phase.CLOSING:
        asyncio.run(Engine(room).converse(main(conversation_id)))
    assert talk(room, conversation_id).phase == phase
    before = snapshot(room)
    with pytest.raises(WorldInUse) as refused:
        _forget(room, "main")
    assert refused.value.facts == {"world_id": "main", "count": 1}
    assert snapshot(room) == before
    _forget(room, "other")


def test_a_failed_closing_does_not_keep_a_world_alive(room: ConversationDependencies, script: ScriptedModel) -> None:
    conversation_id = converse_silently(room, script, "main")
    room.database.write_now(
        lambda s: setattr(s.get_one(ConversationRow, main(conversation_id)), "phase", Phase.CLOSING_FAILED)
    )
    _forget(room, "main")
    assert not any(of_world(snapshot(room), "main").values())


def test_talks_of_the_living_world_do_not_keep_it_from_being_forgotten(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = converse_silently(room, script, "main")
    room.database.write_now(
        lambda s: setattr(s.get_one(ConversationRow, main(conversation_id)), "clock_policy", "minute")
    )
    _forget(room, "main")
    assert rows(room, ConversationRow) == []
