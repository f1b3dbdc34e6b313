"""Owns the tests of the way back: a world that is kept, brought back, and goes on twice from there."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, LargeBinary, update
from sqlmodel import Session

from service.content.load import Content
from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.scenes import join, leave
from service.conversation.transcript import held as row_of
from service.errors import RestoredMeanwhile, SnapshotUnusable, WorldExists
from service.history.rewind import PastMoment, rewound
from service.llm.choose import ROLES, Models
from service.memory.record import Group, Kind
from service.people.worlds import WorldRepository
from service.runtime.carried import jobs_of
from service.runtime.jobs import Jobs
from service.runtime.snapshots import branch, keep, made_at, read_snapshot, remove, restore, rows_of, snapshots
from service.store.phase import Phase
from service.store.tables import (
    CommitmentRow,
    ConversationKey,
    ConversationRow,
    JobRow,
    KeptRow,
    SnapshotRow,
    TurnRow,
    VectorRow,
)
from service.store.world_rows import Rows, read_rows, replace_rows, story_tables, world_in
from tests.conversation.scenes import acts, begin_scene, play
from tests.conversation.talks import meet, rows, talk_of_family
from tests.runtime.lives import hamlet
from tests.runtime.patience import until
from tests.runtime.way_back import exported, held, kill_restores, retold, walk
from tests.runtime.worlds import fill, marked, tick
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main
from world.time import WorldTime


def save(room: ConversationDependencies, name: str, world_id: str = "main") -> None:
    asyncio.run(keep(room, world_id, name))


def load(room: ConversationDependencies, name: str, world_id: str = "main") -> None:
    kept = room.database.read_now(lambda s: read_snapshot(s, world_id, name))
    room.database.write_now(lambda s: restore(s, world_id, kept, made_at(s, world_id, name)))


def part(room: ConversationDependencies, to_world: str, moment: PastMoment | None = None) -> None:
    found = asyncio.run(rows_of(room, "main"))
    at = found if moment is None else rewound(found, moment)
    room.database.write_now(lambda s: branch(s, "main", at, made_at(s, "main", None), to_world))


def talked(room: ConversationDependencies, script: ScriptedModel, world_id: str = "main") -> ConversationKey:
    """Ren has talked with Taro, and both remember it."""
    script.enqueue(*talk_of_family())
    key = ConversationKey(world_id, meet(room, character_id="ren", world_id=world_id))
    asyncio.run(Engine(room).converse(key))
    asyncio.run(close(room, key))
    return key


def test_what_was_kept_is_there_again_and_another_world_is_not_touched(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    before, told, other = held(room), exported(room), held(room, "other")
    save(room, "quiet")
    talked(room, script)
    assert exported(room) != told
    load(room, "quiet")
    assert (held(room), exported(room), held(room, "other")) == (before, told, other)


def all_rows(room: ConversationDependencies, name: str) -> Rows:
    return room.database.read_now(lambda s: read_snapshot(s, "main", name))


def test_rows_come_out_as_they_went_in_whatever_became_of_them(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    """They were changed, removed, and are there anew; every column of every table."""
    fill(room, script)
    vector = VectorRow(
        world_id="main", person_id="aoi", kind="fact", item_id="x", model="m", vector=bytes(range(256)), revision=1
    )
    room.database.write_now(lambda s: s.add(vector))
    save(room, "whole")
    whole = all_rows(room, "whole")
    odd = {float: 1790000000.1234567, bool: True, int: 7}

    def spoil(session: Session) -> None:
        for table in story_tables():
            if table.name in ("worlds", "made_people"):  # to save a world it must be one
                continue
            for column in table.c:
                is_free = not (column.primary_key or column.foreign_keys or isinstance(column.type, JSON | LargeBinary))
                is_unique = any(index.unique and column.name in index.c for index in table.indexes)
                if is_free and not is_unique and column.name != "person_id":
                    value = odd.get(column.type.python_type, "\"o'\\ \u7d42")
                    session.execute(update(table).where(world_in(table) == "main").values({column.name: value}))

    room.database.write_now(spoil)
    save(room, "odd")
    spoilt = all_rows(room, "odd")
    for name in ("odd", "nothing", "whole"):
        assert all_rows(room, "whole") == whole
        assert all_rows(room, "odd") == spoilt != whole
        room.database.write_now(lambda s: replace_rows(s, "main", {}, read_rows(s, "main")))
        if name == "odd":
            save(room, "nothing")
        assert [name for name, some in all_rows(room, "nothing").items() if some] == ["worlds"], "it has begun anew"
        back = all_rows(room, name)
        room.database.write_now(lambda s: replace_rows(s, "main", back, {}))  # noqa: B023 - run here
    for gone in ("odd", "before", "nothing"):
        room.database.write_now(lambda s: remove(s, "main", gone))  # noqa: B023 - run here
        assert all_rows(room, "whole") == whole
    room.database.write_now(lambda s: remove(s, "main", "whole"))
    assert [row for row in rows(room, KeptRow) if row["world_id"] == "main"] == []


def test_no_search_finds_what_came_later(room: ConversationDependencies, script: ScriptedModel) -> None:
    fill(room, script)
    save(room, "before Ren")
    key = talked(room, script)
    ren, at = (
        Group(world_id="main", person_id="ren"),
        WorldTime(room.database.read_now(lambda s: s.get_one(ConversationRow, key)).closed_at or 0),
    )

    def found() -> set[str]:
        asked = room.memory.recall(ren, "Taro has two children called Mio and Riku", at=at, kinds=set(Kind), limit=50)
        return {one.item.conversation_id for one in asyncio.run(asked) if hasattr(one.item, "conversation_id")}

    assert key.conversation_id in found()
    load(room, "before Ren")
    assert key.conversation_id not in found()


def test_saved_in_the_middle_of_a_talk_or_a_closing_it_goes_on_from_there(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    spoken = talk_of_family()
    key = ConversationKey("main", meet(room))
    script.enqueue(*spoken[:2])
    engine = Engine(room)
    for turn in (0, 1):
        asyncio.run(engine.turn(key, turn, None))
    save(room, "two turns")
    script.enqueue(*spoken[2:])
    asyncio.run(engine.converse(key))
    save(room, "closing")
    asyncio.run(engine.close(key))
    whole = retold(room)
    for name, left in (("closing", spoken[4:]), ("two turns", spoken[2:])):
        load(room, name)
        assert room.database.read_now(lambda s: s.get_one(ConversationRow, key)).phase != Phase.CLOSED
        script.enqueue(*left)
        anew = Engine(room)
        asyncio.run(anew.converse(key))
        asyncio.run(anew.close(key))
        assert retold(room) == whole


def test_what_was_asked_on_the_abandoned_timeline_can_write_nothing(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    """As another replica does, whose model answers late."""
    key = ConversationKey("main", meet(room))
    script.enqueue(*talk_of_family()[:1])
    asyncio.run(Engine(room).turn(key, 0, None))
    save(room, "one turn")
    script.enqueue(*talk_of_family()[1:2])

    class Late:
        name = "late"

        async def complete(self, prompt: Any, on_text: Any = None) -> Any:
            answer = await script.complete(prompt, on_text)
            await room.database.write(
                lambda s: restore(s, "main", read_snapshot(s, "main", "one turn"), made_at(s, "main", "one turn"))
            )
            return answer

        async def aclose(self) -> None: ...

    late = replace(room, models=Models(dict.fromkeys(ROLES, Late())))
    with pytest.raises(RestoredMeanwhile):
        asyncio.run(Engine(late).turn(key, 1, None))
    assert [row["turn"] for row in rows(room, TurnRow)] == [0]


def test_a_branch_holds_all_of_it_and_each_goes_on_by_itself(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    part(room, "what-if")
    assert held(room, "what-if") == held(room)
    before = held(room)
    talked(room, script, "what-if")
    assert held(room) == before
    with pytest.raises(WorldExists):
        part(room, "what-if")


def test_before_a_turn_nothing_is_known_of_what_was_said_later(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    key = talked(room, script)
    script.enqueue(*talk_of_family())
    later = ConversationKey("main", meet(room, character_id="mio"))
    asyncio.run(Engine(room).converse(later))
    asyncio.run(close(room, later))
    now = room.database.read_now(lambda s: room.worlds.open(s, "main")).now
    turns = ((key.conversation_id, 0), (key.conversation_id, 1), (later.conversation_id, 0))
    checks = [marked("main", f"{of}/{turn}", "npc_taro", conversation_id=of, turn=turn, at=now) for of, turn in turns]
    checks.append(marked("main", f"nagi@{now}", "nagi", at=now))
    room.database.write_now(lambda s: s.add_all([type(one)(**one.model_dump()) for one in checks]))
    whole = held(room)
    part(room, "what-if", PastMoment(conversation_id=key.conversation_id, turn=1))
    then = held(room, "what-if")
    assert [row["turn"] for row in then["turns"]] == [0]
    assert [row["id"] for row in whole["quality"]] == sorted(one.id for one in checks)
    assert [row["id"] for row in then["quality"]] == [f"{key.conversation_id}/0"]
    assert [(row["id"], row["phase"]) for row in then["conversations"]] == [(key.conversation_id, "running")]
    assert {row["person_id"] for row in then["participants"] if row["engaged"]} == {"ren", "npc_taro"}
    for name in ("memories", "summaries", "attitude_changes", "moods"):
        assert whole[name], name
        assert not then[name], name
    assert held(room) == whole
    branched = ConversationKey("what-if", key.conversation_id)
    script.enqueue(*talk_of_family()[1:])
    asyncio.run(Engine(room).converse(branched))
    asyncio.run(close(room, branched))
    assert {row["text"] for row in held(room, "what-if")["memories"]} == {row["text"] for row in whole["memories"]}


def test_before_a_turn_of_a_scene_those_are_there_who_were_and_it_stands(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, "aoi", "npc_taro", "mio")
    script.enqueue(*[acts(f"Line {number}.", leaves=number == 5) for number in range(8)])
    play(room, scene_id, 3)
    room.database.write_now(lambda s: join(s, *row_of(s, room.worlds, main(scene_id)), "npc_hamako"))
    room.database.write_now(lambda s: leave(s, *row_of(s, room.worlds, main(scene_id)), "npc_taro"))
    play(room, scene_id, 4)
    stays = {
        2: [("aoi", 0, None), ("npc_taro", 0, None), ("mio", 0, None)],
        5: [("aoi", 0, None), ("npc_taro", 0, 3), ("mio", 0, None), ("npc_hamako", 3, None)],
        6: [("aoi", 0, None), ("npc_taro", 0, 3), ("mio", 0, 6), ("npc_hamako", 3, None)],
    }
    for turn, there in stays.items():
        part(room, f"before-{turn}", PastMoment(conversation_id=scene_id, turn=turn))
        then = held(room, f"before-{turn}")
        people = sorted(then["participants"], key=lambda one: one["seat"])
        assert [(one["person_id"], one["joined_turn"], one["left_turn"]) for one in people] == there
        assert (len(then["turns"]), [one for one in people if one["engaged"]]) == (turn, [])
        assert [row["stands_at"] for row in then["conversations"]] == [0]


def test_a_fact_that_was_closed_later_is_true_again(room: ConversationDependencies, script: ScriptedModel) -> None:
    fill(room, script)
    found = room.database.read_now(lambda s: read_rows(s, "main"))
    fact = next(row for row in found["memories"] if (row["person_id"], row["kind"]) == ("aoi", "fact"))
    at = fact["known_from"]
    over = {"valid_to": at + 5, "known_until": at + 5, "replaced_by": "later"}
    newer = {**fact, "id": "later", "known_from": at + 5, "valid_from": at + 5, "conversation_id": ""}
    found["memories"] = [{**fact, **over}, newer]
    found["vectors"] = [
        {"person_id": "aoi", "kind": "fact", "item_id": one["id"], "model": "m"} for one in found["memories"]
    ]
    found["worlds"][0]["now"] += 10
    then = rewound(found, PastMoment(at=WorldTime(at + 1)))
    assert then["memories"] == [fact]
    assert [row["item_id"] for row in then["vectors"]] == [fact["id"]], "vectors go with their memory"
    assert rewound(found, PastMoment(at=WorldTime(at + 6)))["memories"] == [{**fact, **over}, newer]


def test_what_a_talk_said_of_a_promise_is_not_said_before_its_turns(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    """However long the clock stood where they parted before the closing was written."""
    key = talked(room, script)
    found = room.database.read_now(lambda s: read_rows(s, "main"))
    now = found["worlds"][0]["now"]
    usual = {"world_id": "main", "by_id": "ren", "to_id": "npc_taro", "what": "come", "turn": 0, "made_at": now - 9}
    old = CommitmentRow(**usual, id="old", conversation_id="x", expires_at=now + 99).model_dump()
    ended = {"state": "moved", "ended_at": now - 1, "ended_in": key.conversation_id, "moved_to": "new"}
    new = CommitmentRow(**usual, id="new", conversation_id=key.conversation_id, expires_at=now + 99).model_dump()
    found["commitments"] = [old | ended, new]
    assert rewound(found, PastMoment(conversation_id=key.conversation_id, turn=1))["commitments"] == [old]


def test_a_snapshot_of_another_version_leaves_the_world_as_it_is(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    before = held(room)

    def spoil(session: Session) -> None:
        session.get_one(SnapshotRow, ("main", "before")).schema_revision = "0001_older"

    room.database.write_now(spoil)
    with pytest.raises(SnapshotUnusable, match="another version"):
        load(room, "before")
    assert held(room) == before


def test_a_snapshot_is_a_mark_and_grows_only_by_what_changes(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    for name in ("one", "other"):
        save(room, name)
    sizes = {one.name: one.size for one in room.database.read_now(lambda s: snapshots(s, "main"))}
    assert (sizes["one"], sizes["other"]) == (0, 0), "however much the world has lived"
    talked(room, script)
    sizes = {one.name: one.size for one in room.database.read_now(lambda s: snapshots(s, "main"))}
    assert sizes["one"] == 0 < sizes["other"], "the newest keeps it for all"


def test_days_are_kept_as_many_as_the_settings_say(room: ConversationDependencies, village: Content) -> None:
    room = replace(room, worlds=WorldRepository(hamlet(village), room.settings.world))
    tick(room, 4 * 1440)
    kept = [one for one in room.database.read_now(lambda s: snapshots(s, "main")) if one.automatic]
    assert len(kept) == room.settings.world.daily_snapshots == 3
    assert all(one.at % 1440 == 0 for one in kept), "each as its day began"


def test_a_process_that_dies_as_a_day_begins_leaves_its_snapshot_to_the_next(
    room: ConversationDependencies, village: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: object) -> None:
        """Nothing more is done."""

    room = replace(room, worlds=WorldRepository(hamlet(village), room.settings.world))
    with monkeypatch.context() as dying:
        dying.setattr(Jobs, "submit", dies)
        tick(room, 1440)
    days = [row["key"] for row in rows(room, JobRow) if row["kind"] == "snapshot"]
    assert len(days) == 1

    async def next_process() -> None:
        jobs = jobs_of(room)
        await jobs.start()
        await until(lambda: all(row["kind"] != "snapshot" for row in rows(room, JobRow)))
        await jobs.stop()

    asyncio.run(next_process())
    assert [one.name for one in room.database.read_now(lambda s: snapshots(s, "main")) if one.automatic] == days


def test_whichever_way_a_moment_is_come_to_it_is_the_same(village: Content, tmp_path: Path) -> None:
    assert asyncio.run(walk(0, village, tmp_path)) > 3


@pytest.mark.server
def test_on_postgresql_too(village: Content, tmp_path: Path, postgres_url: str) -> None:
    assert asyncio.run(walk(1, village, tmp_path, url=postgres_url)) > 3


def test_a_restore_that_is_killed_in_the_middle_has_happened_or_not(village: Content, tmp_path: Path) -> None:
    assert len(kill_restores(village, tmp_path, 1)) == 1
