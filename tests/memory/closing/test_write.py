"""The one transaction of a closing: tests of service/memory/closing/write.py, on both databases."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import Session, SQLModel, col, select

from service.content.fields import Text
from service.content.load import Content
from service.content.profile import LifeGoal, Mood
from service.memory.mind import self_told
from service.memory.recall import todays_summaries
from service.memory.record import Group, Kind, Memory, read_memories
from service.people.attitude import attitude, attitudes_among, moods, set_affinity
from service.people.commitments import as_commitment
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.events import events_after
from service.store.session import Database
from service.store.tables import (
    AttitudeChangeRow,
    CommitmentRow,
    EventRow,
    MemoryOwnerRow,
    MemoryRow,
    MoodRow,
    PersonRow,
    SummaryRow,
    TurnRow,
)
from tests.memory.answers import closing, memory, promise
from tests.memory.closing.talks import CHARACTER, NPC, START, STORE, closed, prepared, set_clock, talk
from tests.runtime.lives import leaving
from world.time import iso, parse_time

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


def test_a_conversation_is_settled_in_every_table_and_the_changes_say_so(
    database: Database, worlds: WorldRepository
) -> None:
    changes = database.write_now(lambda s: close_one(s, worlds))
    assert changes["affinity"] == {"before": 0, "after": 20}
    assert changes["mood"]["after"] == "moved"
    assert [fact["statement"] for fact in changes["learned_facts"]] == [GOATS]
    assert [fact["statement"] for fact in changes["facts"]] == [GOATS]
    assert changes["mid_term"] == [
        {
            "content": "Taro waits for Mio at the mill on 2 April.",
            "importance": "high",
            "expires_at": "2026-04-04T07:00",
            "created_at": "2026-04-01T07:00",
            "partner_id": NPC,
            "conversation_id": "a",
        }
    ]

    def check(session: Session) -> None:
        row = session.get_one(SummaryRow, ("main", CHARACTER, "a"))
        assert (row.summary, row.topics, row.importance) == ("Taro told Mio of his goats.", ["goats"], 11)
        stood = attitudes_among(session, "main", [CHARACTER, NPC], START)
        own, partners = stood[CHARACTER, NPC], stood[NPC, CHARACTER]
        assert (own.affinity, own.times_met, own.intimacy) == (12, 1, 1)
        assert (partners.affinity, partners.times_met) == (20, 1)
        assert session.get_one(MoodRow, ("main", NPC, "a")).mood == "moved"
        assert [one.text for one in self_told(session, worlds.open(session, "main"), NPC)[NPC]] == [GOATS]
        assert [one.kind for one in memories_of(session, CHARACTER)] == [Kind.FACT, Kind.MID_TERM]
        made = as_commitment(session.exec(select(CommitmentRow)).one())
        assert (made.by_id, made.to_id, made.what, made.place) == (NPC, CHARACTER, "show Mio the goats", "the mill")
        assert made.due
        assert made.due.at == parse_time("2026-04-03T00:00")
        hidden = [turn.turn for turn in session.exec(select(TurnRow)) if turn.not_to_quote]
        assert hidden == [2]

    database.read_now(check)


def test_what_was_kept_out_is_an_event_that_says_why(database: Database, worlds: WorldRepository) -> None:
    database.write_now(lambda s: close_one(s, worlds))
    events = database.read_now(lambda s: events_after(s, "main", 0, 50, col(EventRow.kind) == "fact_rejected"))
    told = {"conversation_id": "a", "statement": "Taro is a king.", "turn": 9, "reason": "no_such_turn"}
    assert [(event.data) for event in events] == [told]


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


def test_a_later_value_of_a_slot_ends_the_older_one_which_keeps_its_history(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> list[Memory]:
        close_goats(session, worlds, "a", "2026-04-01T07:00", 3, "2026-04-01T07:00")
        close_goats(session, worlds, "b", "2026-04-02T07:00", 5, "2026-04-02T07:00")
        return memories_of(session, CHARACTER)

    old, new = database.write_now(work)
    assert (old.text, new.text) == ("Taro has 3 goats.", "Taro has 5 goats.")
    assert (old.replaced_by, old.valid_to) == (new.id, new.valid_from)
    assert (new.replaced_by, new.valid_to) == (None, None)


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


def test_a_late_closing_leaves_mood_and_stance_of_the_later_talk(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> tuple[Mood, int | None, int]:
        late = talk(session, "a", LINES, "2026-04-01T07:00")
        world = set_clock(session, worlds, "2026-04-01T09:00")
        later = talk(session, "b", LINES, "2026-04-01T09:00")
        closed(session, world, later, closing(second={"mood": "happy"}))
        closed(session, world, late, closing(second={"mood": "angry"}))
        taro = attitude(session, "main", NPC, CHARACTER, world.now)
        return moods(session, world, [NPC], 6)[NPC], taro.last_met_at, taro.times_met

    assert database.write_now(work) == ("happy", parse_time("2026-04-01T09:00"), 2)


def test_a_talk_settled_after_sleep_is_none_of_the_new_days(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> list[SummaryRow]:
        session.add(PersonRow(world_id="main", person_id=CHARACTER, sleeps=1))
        close_one(session, worlds)
        return todays_summaries(session, worlds.open(session, "main"), CHARACTER)

    assert database.write_now(work) == []


def test_what_lasts_is_counted_from_the_end_of_the_talk_not_from_its_closing(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> Memory:
        row = talk(session, "a", LINES, "2026-04-01T07:00")
        closed(session, set_clock(session, worlds, "2026-04-05T07:00"), row, FULL)
        return next(one for one in memories_of(session, CHARACTER) if one.kind is Kind.MID_TERM)

    one = database.write_now(work)
    assert one.expires_at is not None
    assert (iso(one.known_from), iso(one.expires_at)) == ("2026-04-01T07:00", "2026-04-04T07:00")


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


@pytest.mark.parametrize(
    ("status", "day", "states"),
    [
        ("moved", "2026-04-03", ["moved", "open"]),
        ("released", "", ["released"]),
        ("kept", "", ["kept"]),
    ],
)
def test_an_open_promise_is_what_a_later_talk_makes_of_it(
    database: Database, worlds: WorldRepository, status: str, day: str, states: list[str]
) -> None:
    def work(session: Session) -> list[CommitmentRow]:
        close_one(session, worlds)
        world = set_clock(session, worlds, "2026-04-01T09:00")
        old = as_commitment(session.exec(select(CommitmentRow)).one())
        later = talk(session, "b", LINES, "2026-04-01T09:00")
        draft = promise("show Mio the goats", 3, status=status, ref="p1", day=day, time="10:00" if day else "")
        closed(session, world, later, closing(promises=[draft]), prepared(session, world, later, promised=(old,)))
        return list(session.exec(select(CommitmentRow).order_by(CommitmentRow.made_at)))  # type: ignore[arg-type] # a column

    rows = database.write_now(work)
    assert [row.state for row in rows] == states
    told = database.read_now(lambda s: [e.kind for e in events_after(s, "main", 0, 50) if "commitment" in e.kind])
    assert f"commitment_{status}" in told
    if status == "moved":
        assert (rows[1].due_at, rows[1].has_hour, rows[1].place) == (parse_time("2026-04-03T10:00"), True, "the mill")


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
