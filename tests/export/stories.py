"""Owns made-up stories: rows of a world as a store could hold them, drawn by Hypothesis."""

from typing import Any

from hypothesis import strategies as st
from sqlmodel import Session

from service.store.event_kinds import Arrived, Changed, ConversationStarted, DayBegan, Decided, Payload
from service.store.phase import ClockPolicy, EndReason
from service.store.tables import EventRow, SummaryRow, TurnRow, WorldRow
from tests.store.conversations import conversation_row
from world.time import parse_time

BEGUN = parse_time("2026-04-01T07:00")
NOW = BEGUN + 3000

IDS = st.text("0123456789abcdef", min_size=1, max_size=6)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
PEOPLE = st.sampled_from(["aoi", "mio", "npc_taro", "ren-2"])
TIMES = st.integers(BEGUN, NOW)
COUNTS = st.integers(0, 2**31 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=6), JSON, max_size=3)

PAYLOADS: st.SearchStrategy[Payload] = (
    st.builds(Decided, action_id=IDS, node_id=IDS, thought=st.none() | WORDS, by=st.sampled_from(["model", "client"]))
    | st.builds(Arrived, node_id=IDS)
    | st.builds(ConversationStarted, conversation_id=IDS, partner_id=PEOPLE, node_id=IDS)
    | st.builds(Changed, affinity=st.none() | st.dictionaries(PEOPLE, st.integers(-100, 100), max_size=2))
    | st.builds(DayBegan, day=WORDS)
)
EVENTS = st.builds(
    lambda at, person_id, payload: {"at": at, "kind": payload.kind, "person_id": person_id, "data": payload.stored()},
    TIMES,
    st.none() | PEOPLE,
    PAYLOADS,
)
TURNS = st.fixed_dictionaries(
    {
        "speaker_id": PEOPLE,
        "speaker_name": WORDS,
        "text": WORDS,
        "emotion": st.sampled_from(["neutral", "happy"]),
        "goal_achieved": st.booleans(),
        "wants_to_end": st.booleans(),
        "at": TIMES,
        "model": WORDS,
        "calls": COUNTS,
        "prompt_tokens": COUNTS,
        "completion_tokens": COUNTS,
        "duration_ms": COUNTS,
    }
)
CONVERSATIONS = st.fixed_dictionaries(
    {
        "character_id": PEOPLE,
        "npc_id": PEOPLE,
        "node_id": st.just("quay"),
        "clock_policy": st.sampled_from(list(ClockPolicy)),
        "language": st.sampled_from(["en", "ja"]),
        "goal": st.none() | WORDS,
        "success_criteria": st.none() | WORDS,
        "goal_given": st.booleans(),
        "goal_achieved": st.booleans(),
        "max_turns": COUNTS,
        "phase": st.sampled_from(["closed", "closing_failed"]),
        "end_reason": st.none() | st.sampled_from([reason.value for reason in EndReason]),
        "failure": st.none() | OBJECTS,
        "started_at": TIMES,
        "ended_at": TIMES,
        "closed_at": st.none() | TIMES,
        "models": st.dictionaries(WORDS, WORDS, max_size=2),
        "calls": COUNTS,
        "prompt_tokens": COUNTS,
        "completion_tokens": COUNTS,
        "changes": st.none() | OBJECTS,
    }
).filter(lambda one: one["character_id"] != one["npc_id"])
STORIES = st.fixed_dictionaries(
    {
        "events": st.lists(EVENTS, max_size=6),
        "conversations": st.dictionaries(
            IDS,
            st.tuples(
                CONVERSATIONS, st.lists(TURNS, max_size=3), st.dictionaries(PEOPLE, st.tuples(WORDS, TIMES), max_size=2)
            ),
            max_size=3,
        ),
    }
)


def tell(session: Session, story: dict[str, Any], world_id: str = "main") -> None:
    """Write the story's rows."""
    session.add(WorldRow(id=world_id, language="ja", started_at=BEGUN, now=NOW))
    session.add_all(EventRow(world_id=world_id, id=number, **event) for number, event in enumerate(story["events"], 1))
    for row_id, (conversation, turns, summaries) in story["conversations"].items():
        session.add(conversation_row(id=row_id, world_id=world_id, **conversation))
        session.flush()
        session.add_all(
            TurnRow(world_id=world_id, conversation_id=row_id, turn=index, **turn) for index, turn in enumerate(turns)
        )
        session.add_all(
            SummaryRow(
                conversation_id=row_id,
                world_id=world_id,
                person_id=character_id,
                partner_id="npc_taro",
                summary=summary,
                topics=[summary],
                at=at,
                revision=0,
            )
            for character_id, (summary, at) in summaries.items()
        )
