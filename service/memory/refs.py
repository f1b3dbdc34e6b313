"""Owns how a memory that stood in a prompt is referred to (``fact:…``, ``turn:conversation/3``), and how it is found
again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import tuple_
from sqlmodel import Session, SQLModel, col, select

from service.locales.time import ago
from service.memory.record import HeardTurn, Item, Memory
from service.people.commitments import as_commitment, commitment_line
from service.people.worlds import WorldView
from service.store.session import Database
from service.store.tables import CommitmentRow, MemoryRow, SummaryRow, TurnRow
from world.time import WorldTime

RowT = TypeVar("RowT", bound=SQLModel)


class MemoryKind(StrEnum):
    """What somebody knows that its prompts may hold."""

    MEMORY = "memory"
    """Something it remembers, of whatever kind (memory/record.py)."""
    TURN = "turn"
    """A turn, by its conversation and number."""
    TALK = "talk"
    """The summary of a conversation."""
    PROMISE = "promise"
    """A promise, by it or to it."""
    LORE = "lore"
    """What its author lets people know (content/lore.py)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """What a reference leads to. `text`, `at` and where it comes from are None where it is not there any more."""

    kind: MemoryKind
    """memory: something it remembers; turn: of a conversation; talk: the summary of one; promise: by it or to it; lore:
    what the game's files let it know"""
    id: str
    """id of the memory; of a turn its conversation, a slash and its number"""
    text: str | None = None
    """the memory in words; null: it is not there any more"""
    at: WorldTime | None = None
    """the world time since when it is remembered; null: it is gone"""
    conversation_id: str | None = None
    """the conversation it comes of; null: of none, or it is gone"""
    turn: int | None = None
    """the turn of that conversation, from 0; null: of none"""


def ref(kind: MemoryKind, item_id: str) -> str:
    """The reference to what has that id."""
    return f"{kind}:{item_id}"


def turn_ref(conversation_id: str, turn: int) -> str:
    """The reference to a turn."""
    return ref(MemoryKind.TURN, f"{conversation_id}/{turn}")


def ref_of(item: Item) -> str:
    """The reference to what a search has found."""
    if isinstance(item, Memory):
        return ref(MemoryKind.MEMORY, item.id)
    if isinstance(item, HeardTurn):
        return turn_ref(item.conversation_id, item.turn)
    return ref(MemoryKind.TALK, item.conversation_id)


async def look_up(database: Database, world: WorldView, person_id: str, refs: Sequence[str]) -> tuple[Remembered, ...]:
    """What the person's references lead to, in their order."""
    wanted = [(MemoryKind(kind), item_id) for kind, _, item_id in (one.partition(":") for one in refs)]
    found = dict(await database.read(lambda s: _in_sql(s, world, person_id, wanted)))
    for one in world.cast.lore:
        found[MemoryKind.LORE, one.id] = _known(MemoryKind.LORE, one.id, one.text, world.started_at, None)
    return tuple(found.get(key) or Remembered(kind=key[0], id=key[1]) for key in wanted)


_Key = tuple[MemoryKind, str]


def _in_sql(session: Session, world: WorldView, person_id: str, wanted: Sequence[_Key]) -> Mapping[_Key, Remembered]:
    ids = {kind: [item_id for one, item_id in wanted if one is kind] for kind in MemoryKind}

    def rows(kind: MemoryKind, table: type[RowT], key: str, *mine: Any) -> Iterable[RowT]:
        columns: Any = table
        which = select(table).where(columns.world_id == world.id, getattr(columns, key).in_(ids[kind]), *mine)
        return session.exec(which) if ids[kind] else ()

    def own(table: Any) -> Any:
        return table.person_id == person_id

    turns = [(talk, int(turn)) for talk, _, turn in (one.partition("/") for one in ids[MemoryKind.TURN])]
    said = select(TurnRow).where(
        TurnRow.world_id == world.id, tuple_(col(TurnRow.conversation_id), col(TurnRow.turn)).in_(turns)
    )
    kind = MemoryKind
    found = [
        *(
            _known(kind.TURN, f"{row.conversation_id}/{row.turn}", f"{row.speaker_name}: {row.text}", row.at, row)
            for row in (session.exec(said) if turns else ())
        ),
        *(
            _known(kind.TALK, row.conversation_id, row.summary, row.at, row)
            for row in rows(kind.TALK, SummaryRow, "conversation_id", own(SummaryRow))
        ),
        *(
            _known(kind.MEMORY, row.id, row.text, row.known_from, row)
            for row in rows(kind.MEMORY, MemoryRow, "id", own(MemoryRow), col(MemoryRow.deleted).is_(False))
        ),
        *(
            _known(kind.PROMISE, row.id, commitment_line(world, as_commitment(row), person_id), row.made_at, row)
            for row in rows(kind.PROMISE, CommitmentRow, "id")
        ),
    ]
    return {(one.kind, one.id): one for one in found}


def _known(kind: MemoryKind, item_id: str, text: str, at: int, source: object) -> Remembered:
    """`source` has a `conversation_id` and a `turn`, or `turns`, where there are any."""
    return Remembered(
        kind=kind,
        id=item_id,
        text=text,
        at=WorldTime(at),
        conversation_id=getattr(source, "conversation_id", None) or None,
        turn=next(iter(getattr(source, "turns", ())), getattr(source, "turn", None)),
    )


def remembered_line(world: WorldView, one: Remembered, then: WorldTime) -> str:
    """How it reads to who asks why: what it was at the moment `then`, since when, and where it comes from."""
    if one.text is None or one.at is None:
        return world.say("why.memory_gone", id=one.id)
    if one.kind is MemoryKind.LORE:
        return world.say("why.lore", text=one.text)
    since = ago(one.at, then, world.language, day_starts=world.settings.day_starts_minutes)
    if one.conversation_id is None:
        return world.say("why.memory", since=since, text=one.text)
    key = "why.memory_of_talk" if one.turn is None else "why.memory_of_turn"
    return world.say(key, since=since, text=one.text, conversation=one.conversation_id, turn=one.turn)
