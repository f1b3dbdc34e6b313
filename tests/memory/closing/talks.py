"""Owns conversations in a database that are due to be closed: rows as the loop leaves them, for the tests of
closing.
"""

from typing import Any, cast

from sqlmodel import Session

from service.memory.closing.ask import ClosingQuestion, prepare, read_before
from service.memory.closing.check import CheckedClosing, check
from service.memory.closing.context import ClosingAnswer
from service.memory.closing.write import write_closing
from service.memory.memory_store import MemoryStore
from service.memory.record import Embedded, Recalled
from service.people.commitment import Commitment
from service.people.worlds import WorldRepository, WorldView
from service.settings import MemorySettings
from service.store.session import Database
from service.store.tables import ConversationRow, TurnRow, WorldRow
from tests.store.conversations import conversation_row
from world.time import parse_time

CHARACTER, NPC = "mio", "npc_taro"
NAMES = {CHARACTER: "Mio", NPC: "Taro"}
START = parse_time("2026-04-01T07:00")
STORE = MemoryStore(cast(Database, None))
"""What it writes goes into the session it is given."""


def set_clock(
    session: Session, worlds: WorldRepository, now: str, *, world_id: str = "main", language: str = "en"
) -> WorldView:
    """The world at this moment of its own clock."""
    row = session.get(WorldRow, world_id)
    if row is None:
        row = WorldRow(id=world_id, language=language, started_at=START, now=START)
        session.add(row)
    row.now = parse_time(now)
    session.flush()
    return worlds.as_world(session, row)


def talk(
    session: Session,
    conversation_id: str,
    lines: tuple[str, ...],
    at: str = "2026-04-01T07:00",
    *,
    world_id: str = "main",
    npc_id: str = NPC,
    character_id: str = CHARACTER,
    **fields: Any,
) -> ConversationRow:
    """A conversation that ended at `at`; the character spoke the even turns."""
    values: dict[str, Any] = {
        "phase": "closing",
        "started_at": parse_time(at),
        "ended_at": parse_time(at),
        "goal": "Hear about the family",
        "success_criteria": "The family is told of",
        "language": "en",
        "max_turns": 10,
        "models": {},
        "node_id": "somewhere",
    }
    row = conversation_row(
        id=conversation_id, world_id=world_id, character_id=character_id, npc_id=npc_id, **{**values, **fields}
    )
    session.add(row)
    session.flush()
    for turn, text in enumerate(lines):
        speaker = npc_id if turn % 2 else character_id
        session.add(
            TurnRow(
                world_id=world_id,
                conversation_id=conversation_id,
                turn=turn,
                speaker_id=speaker,
                speaker_name=NAMES.get(speaker, speaker),
                text=text,
                emotion="neutral",
                at=row.started_at + turn // 2,
                model="scripted",
                calls=1,
                prompt_tokens=1,
                completion_tokens=1,
                duration_ms=1,
            )
        )
    session.flush()
    return row


def prepared(
    session: Session,
    world: WorldView,
    row: ConversationRow,
    memories: tuple[Recalled, ...] = (),
    promised: tuple[Commitment, ...] = (),
) -> ClosingQuestion:
    """The closing's question; `memories` are the character's."""
    remembered = {row.opener_id: memories, row.partner_id: ()}
    before = read_before(session, world, row, mood_cools_hours=6)
    turns = _turns(session, row)
    return prepare(world, row, turns, remembered, before, promised, judges=True, affinity_step=20, mood_cools_hours=6)


def closed(
    session: Session,
    world: WorldView,
    row: ConversationRow,
    answered: ClosingAnswer,
    question: ClosingQuestion | None = None,
) -> tuple[CheckedClosing, dict[str, Any]]:
    """Check the answer and write it, as the closing does."""
    question = question or prepared(session, world, row)
    checked, settings = check(answered, question, affinity_step=20), MemorySettings()
    changes, _ = write_closing(session, world, row, question, checked, settings, STORE, Embedded(), world.now)
    session.flush()
    return checked, changes.model_dump(mode="json")


def _turns(session: Session, row: ConversationRow) -> list[TurnRow]:
    turns: list[TurnRow] = []
    while (turn := session.get(TurnRow, (row.world_id, row.id, len(turns)))) is not None:
        turns.append(turn)
    return turns
