"""The one transaction of a closing: tests of service/memory/closing/write.py, on both databases."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import Session, SQLModel, select

from service.content.fields import Text
from service.content.load import Content
from service.content.profile import LifeGoal
from service.memory.record import Group, Memory, read_memories
from service.people.attitude import attitude, set_affinity
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.session import Database
from service.store.tables import (
    AttitudeChangeRow,
    CommitmentRow,
    EventRow,
    MemoryOwnerRow,
    MemoryRow,
    MoodRow,
    SummaryRow,
)
from tests.memory.answers import closing, memory, promise
from tests.memory.closing.talks import CHARACTER, NPC, STORE, closed, prepared, set_clock, talk
from tests.runtime.lives import leaving

LINES = ("Do you keep animals?", "I have three goats behind the mill.", "Shall we meet?", "Come to the mill tomorrow.")
WRITTEN: Sequence[type[SQLModel]] = (
    SummaryRow,
    MemoryRow,
    MemoryOwnerRow,
    MoodRow,
    AttitudeChangeRow,
    CommitmentRow,
    EventRow,
)
GOATS = "Taro has three goats behind the mill."
FULL = closing(
    "Taro told Mio of his goats.",
    topics=("goats",),
    first={
        "memories": [
            memory(GOATS, 1, about="b", teller="b", importance=6),
            memory("Taro waits for Mio at the mill on 2 April.", 3, about="b", teller="b", lasts="high"),
        ],
        "affinity": 12,
        "attitude": {"intimacy": 1},
    },
    second={
        "memories": [memory(GOATS, 1, about="b", teller="b"), memory("Taro is a king.", 9, about="b", teller="b")],
        "affinity": 90,
        "mood": "moved",
    },
    promises=[promise("show Mio the goats", 3, place="the mill", day="2026-04-02")],
    not_to_quote=[2],
)


@pytest.fixture
def worlds(village: Content, settings: Settings) -> WorldRepository:
    return WorldRepository(village, settings.world)


def close_one(
    session: Session, worlds: WorldRepository, conversation_id: str = "a", at: str = "2026-04-01T07:00"
) -> dict[str, Any]:
    world = set_clock(session, worlds, at)
    return closed(session, world, talk(session, conversation_id, LINES, at), FULL)[1]


def memories_of(session: Session, person_id: str) -> list[Memory]:
    found = read_memories(session, Group(world_id="main", person_id=person_id))
    return sorted(found, key=lambda one: (one.valid_from, one.id))


def test_a_failure_at_the_very_end_leaves_nothing(database: Database, worlds: WorldRepository) -> None:
    def fail(session: Session) -> None:
        close_one(session, worlds)
        session.flush()
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError, match="the power went"):
        database.write_now(fail)
    left = database.read_now(lambda s: {table.__name__: len(s.exec(select(table)).all()) for table in WRITTEN})
    assert left == dict.fromkeys((table.__name__ for table in WRITTEN), 0)


def test_ids_are_the_same_on_every_retry(database: Database, worlds: WorldRepository) -> None:
    def attempt(session: Session) -> tuple[dict[str, Any], list[str]]:
        changes = close_one(session, worlds)
        ids = sorted(row.id for row in session.exec(select(MemoryRow)).all())
        session.rollback()
        return changes, ids

    assert database.read_now(attempt) == database.read_now(attempt)


def goats(number: int, teller: str = "b", **more: Any) -> dict[str, Any]:
    return memory(f"Taro has {number} goats.", 1, about="b", teller=teller, slot="goats", **more)


def close_goats(session: Session, worlds: WorldRepository, name: str, at: str, number: int, now: str) -> None:
    world = set_clock(session, worlds, now)
    row = talk(session, name, ("How many goats?", f"I have {number} goats now."), at)
    closed(session, world, row, closing(first={"memories": [goats(number)]}))


def test_a_talk_settled_late_does_not_undo_what_was_said_after_it(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> list[Memory]:
        close_goats(session, worlds, "b", "2026-04-02T07:00", 5, "2026-04-02T07:00")
        close_goats(session, worlds, "a", "2026-04-01T07:00", 3, "2026-04-02T07:00")
        return memories_of(session, CHARACTER)

    first, second = database.write_now(work)
    assert (first.text, first.replaced_by) == ("Taro has 3 goats.", second.id)
    assert (second.text, second.valid_to) == ("Taro has 5 goats.", None)


def test_another_ones_word_ends_nothing_and_an_authors_is_ended_by_nobody(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> list[Memory]:
        world = set_clock(session, worlds, "2026-04-01T07:00")
        closed(session, world, talk(session, "a", LINES), closing(first={"memories": [goats(3)]}))
        row = session.exec(select(MemoryRow)).one()
        row.told_by = "somebody_else"
        session.flush()
        closed(session, world, talk(session, "b", LINES), closing(first={"memories": [goats(5)]}))
        return memories_of(session, CHARACTER)

    assert [one.valid_to for one in database.write_now(work)] == [None, None]


def test_what_was_ended_is_true_again_when_what_ended_it_is_forgotten(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> list[Memory]:
        close_goats(session, worlds, "a", "2026-04-01T07:00", 3, "2026-04-01T07:00")
        close_goats(session, worlds, "b", "2026-04-02T07:00", 5, "2026-04-02T07:00")
        _, new = memories_of(session, CHARACTER)
        STORE.remove(session, Group(world_id="main", person_id=CHARACTER), new.kind, new.id)
        session.flush()
        return memories_of(session, CHARACTER)

    (old,) = database.write_now(work)
    assert (old.text, old.valid_to, old.replaced_by) == ("Taro has 3 goats.", None, None)


def test_two_closings_at_once_add_up_their_affinity_within_its_bounds(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> tuple[int, int]:
        world = set_clock(session, worlds, "2026-04-01T07:00")
        set_affinity(session, world, NPC, CHARACTER, 90, "author")
        session.flush()
        rows = [talk(session, name, LINES) for name in ("a", "b")]
        questions = [prepared(session, world, row) for row in rows]
        for row, question in zip(rows, questions, strict=True):
            closed(session, world, row, closing(second={"affinity": 100}), question)
        liked = attitude(session, "main", NPC, CHARACTER, world.now)
        return liked.affinity, liked.times_met

    assert database.write_now(work) == (100, 2)


@pytest.mark.parametrize("place", ["cedar_old", "beside its post"])
@pytest.mark.parametrize("may_leave", [False, True])
def test_an_appointment_is_only_where_the_npc_can_be(
    database: Database, village: Content, settings: Settings, place: str, *, may_leave: bool
) -> None:
    cast = village.cast("en")
    content = replace(village, casts={"en": leaving(cast, NPC) if may_leave else cast})
    worlds = WorldRepository(content, settings.world)
    node_id = place if place == "cedar_old" else cast.world_map.beside(cast.world_map.posts[NPC])[0]
    draft = promise("meet Mio", 3, place=cast.world_map.node(node_id).name, day="2026-04-02", time="10:00")

    def work(session: Session) -> CommitmentRow:
        world = set_clock(session, worlds, "2026-04-01T07:00")
        row = talk(session, "a", LINES, node_id=node_id)
        closed(session, world, row, closing(promises=[draft]))
        return session.exec(select(CommitmentRow)).one()

    made = database.write_now(work)
    can_come = may_leave or place != "cedar_old"
    assert (made.node_id, made.place) == (node_id if can_come else None, draft["place"])


def test_a_goal_of_life_that_was_reached_is_none_any_more_until_that_is_forgotten(
    database: Database, village: Content, settings: Settings
) -> None:
    cast = village.cast("en")
    goals = tuple(LifeGoal(goal=Text(goal), importance=9) for goal in ("See the capital", "Own a boat"))
    taro = cast.npcs[NPC].model_copy(update={"goals": goals})
    casts = {**village.casts, "en": replace(cast, npcs={**cast.npcs, NPC: taro})}
    worlds = WorldRepository(replace(village, casts=casts), settings.world)

    def wishes(session: Session) -> tuple[str, ...]:
        return worlds.open(session, "main").cast.actor(NPC).wishes

    def work(session: Session) -> None:
        world = set_clock(session, worlds, "2026-04-01T07:00")
        row = talk(session, "a", LINES)
        question = prepared(session, world, row)
        assert [one.ref for one in question.context.participants[1].goals] == ["bg1", "bg2"]
        closed(session, world, row, closing(reached=["bg1"]), question)
        assert wishes(session) == ("Own a boat",)
        (thought,) = memories_of(session, NPC)
        STORE.remove(session, Group(world_id="main", person_id=NPC), thought.kind, thought.id)
        assert wishes(session) == ("See the capital", "Own a boat")

    database.write_now(work)
