"""The one transaction that settles a conversation: tests of service/memory/persist.py, on both databases."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlmodel import Session, SQLModel, select

from service.content.load import Content
from service.content.profile import Mood
from service.memory.outbox import leave_episode, outbox_entry
from service.memory.recall import recent_memory, todays_summaries
from service.memory.self_facts import self_facts
from service.memory.record import Group, fact_id
from service.people.attitude import attitude, attitudes_among, mood, set_affinity
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.events import events_after
from service.store.session import Database
from service.store.tables import (
    AttitudeChangeRow,
    CommitmentRow,
    EventRow,
    FactRow,
    MemoryOwnerRow,
    MidTermRow,
    MoodRow,
    OutboxRow,
    PersonRow,
    SelfFactRow,
    SummaryRow,
)
from tests.memory.answers import claim, commitment, extraction, self_claim
from tests.memory.closings import CHARACTER, NPC, START, closed, prepared, set_clock, talk
from tests.memory.scenes import answer, heard, soon, told
from tests.memory.test_extract import recalled
from world.time import WorldTime, iso, parse_time

LINES = ("Do you keep animals?", "I have three goats behind the mill.", "Shall we meet?", "Come to the mill tomorrow.")
WRITTEN: Sequence[type[SQLModel]] = (
    SummaryRow,
    FactRow,
    MemoryOwnerRow,
    MidTermRow,
    SelfFactRow,
    MoodRow,
    AttitudeChangeRow,
    OutboxRow,
    EventRow,
)
GOATS = 'Taro, asked "Do you keep animals?", said: "I have three goats behind the mill."'
FULL = answer(
    told("Taro has three goats", 1),
    told("Taro is a king", 2),
    remembered=(heard("Taro has three goats", 1),),
    mid_term=(soon("Come to the mill tomorrow", 3),),
    affinity=90,
    mood="happy",
    topics=("goats",),
    summary="Taro told Mio of his goats.",
)


@pytest.fixture
def worlds(village: Content, settings: Settings) -> WorldRepository:
    return WorldRepository(village, settings.world)


def close_one(
    session: Session, worlds: WorldRepository, conversation_id: str = "a", at: str = "2026-04-01T07:00"
) -> dict[str, Any]:
    world = set_clock(session, worlds, at)
    return closed(session, world, talk(session, conversation_id, LINES, at), FULL)[1]


def outbox_of(session: Session, person_id: str) -> OutboxRow:
    return session.exec(select(OutboxRow).where(OutboxRow.person_id == person_id)).one()


def todays_of(session: Session, worlds: WorldRepository) -> list[str]:
    return [row.summary for row in todays_summaries(session, worlds.open(session, "main"), CHARACTER)]


def test_a_conversation_is_settled_in_every_table_and_the_changes_say_so(
    database: Database, worlds: WorldRepository
) -> None:
    changes = database.write_now(lambda s: close_one(s, worlds))
    assert changes["affinity"] == {"before": 0, "after": 20}
    assert changes["mood"]["after"] == "happy"
    assert [fact["statement"] for fact in changes["learned_facts"]] == [GOATS]
    assert [fact["statement"] for fact in changes["facts"]] == ["Taro has three goats"]
    assert changes["mid_term"] == [
        {
            "content": 'Taro, asked "Shall we meet?", said: "Come to the mill tomorrow."',
            "importance": "high",
            "expires_at": "2026-04-04T07:00",
            "created_at": "2026-04-01T07:00",
            "partner_id": NPC,
            "conversation_id": "a",
        }
    ]

    def check(session: Session) -> None:
        assert session.get_one(SummaryRow, ("main", CHARACTER, "a")).topics == ["goats"]
        stood = attitudes_among(session, "main", [CHARACTER, NPC], START)
        own, partners = stood[CHARACTER, NPC], stood[NPC, CHARACTER]
        assert (own.affinity, own.times_met, own.intimacy) == (12, 1, 1)
        assert (partners.affinity, partners.times_met, partners.intimacy) == (20, 1, 0)
        assert session.get_one(MoodRow, ("main", NPC, "a")).mood == "happy"
        assert [row.turn for row in self_facts(session, "main", NPC)] == [1]
        assert todays_of(session, worlds) == ["Taro told Mio of his goats."]

    database.read_now(check)


def test_the_npc_has_a_memory_of_its_own_of_what_it_was_told(database: Database, worlds: WorldRepository) -> None:
    lines = ("I keep bees on the hill. Remember my bees!", "I promise to bring you a jar tomorrow.")
    bees = claim("Mio keeps bees on the hill", 0, subject="Mio", importance=8)
    taro = {
        "facts": [bees],
        "mid_term": [{"content": "Bring Mio a jar tomorrow", "turn": 1, "mode": "planned", "importance": "medium"}],
        "commitments": [commitment("Bring Mio a jar", 1, to="a", where="the hill", when="2026-04-02T09:00")],
        "attitude": {"power": 1, "intimacy": 2, "task_oriented": -1},
    }

    def work(session: Session) -> dict[str, Any]:
        world = set_clock(session, worlds, "2026-04-01T07:00")
        row = talk(session, "a", lines)
        changes = closed(session, world, row, extraction("Mio told Taro of her bees.", second=taro))[1]
        (fact,) = session.exec(select(FactRow)).all()
        assert (fact.person_id, fact.partner_id, fact.statement) == (NPC, CHARACTER, "Mio keeps bees on the hill")
        assert (fact.words, fact.turn, fact.mode, fact.importance) == (f'Mio said: "{lines[0]}"', 0, "asserted", 8)
        assert (fact.conversation_id, iso(WorldTime(fact.valid_at))) == ("a", "2026-04-01T07:00")
        recent = recent_memory(session, world, NPC, CHARACTER)
        assert recent.last_summary is not None
        assert recent.last_summary.summary == "Mio told Taro of her bees."
        told = f'Taro said: "{lines[1]}"'
        assert [row.content for row in recent.mid_term] == [f"You promised Mio (Thu 2 Apr): {told}"]
        assert (recent.attitude.power, recent.attitude.intimacy, recent.attitude.task_oriented) == (1, 2, -1)
        assert self_facts(session, "main", NPC) == [], "what it was told is no fact about itself"
        (promised,) = session.exec(select(CommitmentRow)).all()
        assert (promised.by_id, promised.to_id, promised.what, promised.place) == (
            NPC,
            CHARACTER,
            "Bring Mio a jar",
            "",
        ), "no place was said"
        assert (promised.words, promised.turn) == (told, 1)
        assert (iso(WorldTime(promised.due_at or 0)), promised.has_hour) == ("2026-04-03T00:00", False)
        return changes

    partner = database.write_now(work)["partner"]
    assert [fact["statement"] for fact in partner["facts"]] == ["Mio keeps bees on the hill"]
    assert (partner["stance"], partner["learned_facts"]) == ("a little ahead, close, inclined to chat", [])
    assert partner["attitude"] == taro["attitude"]


def test_what_a_character_tells_of_itself_is_kept_in_its_words(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> SelfFactRow:
        world = set_clock(session, worlds, "2026-04-01T07:00")
        row = talk(session, "a", ("I keep bees on the hill. Good morning!", "Good morning."))
        told = self_claim("keeps bees on the hill", 0, mode="joking", importance=9)
        closed(session, world, row, extraction(first={"self_facts": [told]}))
        return self_facts(session, "main", CHARACTER)[0]

    row = database.write_now(work)
    assert (row.statement, row.words) == (
        "keeps bees on the hill",
        'Mio said: "I keep bees on the hill. Good morning!" (perhaps in jest)',
    )
    assert (row.mode, row.importance, row.turn) == ("joking", 9, 0)


def test_a_lie_that_was_kept_out_is_an_event_that_says_why(database: Database, worlds: WorldRepository) -> None:
    database.write_now(lambda s: close_one(s, worlds))
    events = database.read_now(lambda s: events_after(s, "main", 0, 50, kind="fact_rejected"))
    assert [(event.person_id, event.data) for event in events] == [
        (
            NPC,
            {"conversation_id": "a", "statement": "Taro is a king", "turn": 2, "reason": "not_said_by_npc"},
        )
    ]


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
        ids = [row.id for row in session.exec(select(MidTermRow)).all()]
        session.rollback()
        return changes, ids

    def read(session: Session) -> tuple[dict[str, Any], list[str]]:
        return attempt(session)

    assert database.read_now(read) == database.read_now(read)


def test_what_is_remembered_for_long_is_in_the_database_with_the_rest(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> list[dict[str, Any]]:
        closed(session, set_clock(session, worlds, "2026-04-02T07:00"), talk(session, "a", LINES), FULL)
        return [row.model_dump() for row in session.exec(select(FactRow))]

    (fact,) = database.write_now(work)
    assert fact == {
        "world_id": "main",
        "person_id": CHARACTER,
        "id": fact_id(CHARACTER, "a", 0),
        "subject": "Taro",
        "relation": "said",
        "object": "it",
        "statement": "Taro has three goats",
        "words": GOATS,
        "mode": "asserted",
        "importance": 5,
        "held": True,
        "tellings": 1,
        "chain": [NPC],
        "people": [NPC],
        "partner_id": NPC,
        "conversation_id": "a",
        "turn": 1,
        "valid_at": parse_time("2026-04-01T07:00"),
        "invalid_at": None,
        "created_at": parse_time("2026-04-01T07:00"),
        "expired_at": None,
        "replaced_by": None,
        "revision": 1,
    }


def test_a_store_outside_the_database_gets_the_same_by_the_outbox(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> None:
        world = set_clock(session, worlds, "2026-04-02T07:00")
        row = talk(session, "a", LINES, "2026-04-02T07:00")
        older = recalled("old-fact", "Taro has two goats", "2026-04-01T07:00")
        closed(session, world, row, FULL, memories=(older,), remember=leave_episode)

    database.write_now(work)
    assert database.read_now(lambda s: s.exec(select(FactRow)).all()) == []
    row = database.read_now(lambda s: outbox_of(s, CHARACTER))
    group, episode, facts = outbox_entry(row)
    assert group == Group(world_id="main", person_id=CHARACTER)
    assert (episode.summary, episode.topics) == ("Taro told Mio of his goats.", ("goats",))
    assert (episode.partner_id, episode.conversation_id, iso(episode.at)) == (NPC, "a", "2026-04-02T07:00")
    assert [(fact.id, fact.turn, fact.replaces) for fact in facts] == [(fact_id(CHARACTER, "a", 0), 1, ("old-fact",))]
    assert iso(facts[0].valid_at) == "2026-04-02T07:00"


def test_a_later_contradiction_closes_the_learned_fact_and_keeps_its_history(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> list[SelfFactRow]:
        close_one(session, worlds)
        world = set_clock(session, worlds, "2026-04-02T07:00")
        lines = ("How are the goats?", "I have five goats now.")
        closed(session, world, talk(session, "b", lines, "2026-04-02T07:00"), answer(told("Taro has five goats", 1)))
        return self_facts(session, "main", NPC, history=True)

    old, new = database.write_now(work)
    assert (old.statement, new.statement) == ("Taro has three goats", "Taro has five goats")
    assert (old.replaced_by, old.invalid_at) == (new.id, new.valid_at)
    assert (new.replaced_by, new.invalid_at) == (None, None)
    assert old.valid_at < new.valid_at


def test_a_talk_settled_late_does_not_undo_what_was_said_after_it(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> list[SelfFactRow]:
        late = talk(session, "a", LINES, "2026-04-01T07:00")
        world = set_clock(session, worlds, "2026-04-02T07:00")
        lines = ("How are the goats?", "I have five goats now.")
        closed(session, world, talk(session, "b", lines, "2026-04-02T07:00"), answer(told("Taro has five goats", 1)))
        closed(session, world, late, FULL)
        return self_facts(session, "main", NPC, history=True)

    first, second = database.write_now(work)
    assert (first.statement, first.replaced_by) == ("Taro has three goats", second.id)
    assert (second.statement, second.invalid_at) == ("Taro has five goats", None)


def test_two_closings_at_once_learn_the_same_fact_once_and_add_up_their_affinity(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> tuple[int, int, list[str]]:
        world = set_clock(session, worlds, "2026-04-01T07:00")
        rows = [talk(session, name, LINES) for name in ("a", "b")]
        questions = [prepared(session, world, row) for row in rows]
        for row, question in zip(rows, questions, strict=True):
            closed(session, world, row, answer(told("Taro has three goats", 1), affinity=15), question=question)
        liked = attitude(session, "main", NPC, CHARACTER, world.now)
        facts = [fact.statement for fact in self_facts(session, "main", NPC)]
        return liked.affinity, liked.times_met, facts

    assert database.write_now(work) == (30, 2, ["Taro has three goats"])


def test_affinity_of_overlapping_closings_stays_within_its_bounds(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> int:
        world = set_clock(session, worlds, "2026-04-01T07:00")
        set_affinity(session, world, NPC, CHARACTER, 90, "author")
        session.flush()
        rows = [talk(session, name, LINES) for name in ("a", "b")]
        questions = [prepared(session, world, row) for row in rows]
        for row, question in zip(rows, questions, strict=True):
            closed(session, world, row, answer(affinity=100), question=question)
        return attitude(session, "main", NPC, CHARACTER, world.now).affinity

    assert database.write_now(work) == 100


def test_a_late_closing_leaves_mood_and_stance_of_the_later_talk(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> tuple[Mood, int | None, int]:
        late = talk(session, "a", LINES, "2026-04-01T07:00")
        world = set_clock(session, worlds, "2026-04-01T09:00")
        closed(session, world, talk(session, "b", LINES, "2026-04-01T09:00"), answer(mood="happy"))
        closed(session, world, late, answer(mood="angry"))
        taro = attitude(session, "main", NPC, CHARACTER, world.now)
        return mood(session, world, NPC, 6), taro.last_met_at, taro.times_met

    assert database.write_now(work) == ("happy", parse_time("2026-04-01T09:00"), 2)


def test_a_talk_settled_after_sleep_is_none_of_the_new_days(database: Database, worlds: WorldRepository) -> None:
    def work(session: Session) -> list[str]:
        session.add(PersonRow(world_id="main", person_id=CHARACTER, sleeps=1))
        close_one(session, worlds)
        return todays_of(session, worlds)

    assert database.write_now(work) == []


def test_what_lasts_is_counted_from_the_end_of_the_talk_not_from_its_closing(
    database: Database, worlds: WorldRepository
) -> None:
    def work(session: Session) -> MidTermRow:
        row = talk(session, "a", LINES, "2026-04-01T07:00")
        closed(session, set_clock(session, worlds, "2026-04-05T07:00"), row, FULL)
        return session.exec(select(MidTermRow)).one()

    row = database.write_now(work)
    assert (iso(WorldTime(row.created_at)), iso(WorldTime(row.expires_at))) == ("2026-04-01T07:00", "2026-04-04T07:00")
