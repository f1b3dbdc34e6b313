"""Owns how a memory that stood in a prompt is referred to (``fact:…``, ``turn:conversation/3``), and how it is found
again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import tuple_
from sqlmodel import Session, SQLModel, col, select

from service.locales.time import ago
from service.memory.memory_store import MemoryStore
from service.memory.recall import remembered_as
from service.memory.store import Fact, Group, HeardTurn, Insight, Item, Recalled
from service.people.commitments import as_commitment, commitment_line
from service.people.worlds import WorldView
from service.store.session import Database
from service.store.tables import CommitmentRow, InsightRow, MidTermRow, SelfFactRow, SummaryRow, TurnRow
from world.time import WorldTime

RowT = TypeVar("RowT", bound=SQLModel)


class MemoryKind(StrEnum):
    """What somebody knows that its prompts may hold."""

    FACT = "fact"
    """Something it heard."""
    TURN = "turn"
    """A turn, by its conversation and number."""
    TALK = "talk"
    """The summary of a conversation."""
    INSIGHT = "insight"
    """What it has come to think."""
    MID_TERM = "mid_term"
    """What affects its next days, and promises that are open."""
    OWN = "own"
    """What it told about itself."""
    LORE = "lore"
    """What its author lets people know (content/lore.py)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """What a reference leads to. `text`, `at` and where it comes from are None where it is not there any more."""

    kind: MemoryKind
    id: str
    text: str | None = None
    at: WorldTime | None = None
    conversation_id: str | None = None
    turn: int | None = None


def ref(kind: MemoryKind, item_id: str) -> str:
    """The reference to what has that id."""
    return f"{kind}:{item_id}"


def turn_ref(conversation_id: str, turn: int) -> str:
    """The reference to a turn."""
    return ref(MemoryKind.TURN, f"{conversation_id}/{turn}")


def ref_of(item: Item) -> str:
    """The reference to what a search has found."""
    if isinstance(item, Fact):
        return ref(MemoryKind.FACT, item.id)
    if isinstance(item, HeardTurn):
        return turn_ref(item.conversation_id, item.turn)
    if isinstance(item, Insight):
        return ref(MemoryKind.INSIGHT, item.id)
    return ref(MemoryKind.TALK, item.conversation_id)


def refs_told(world: WorldView, found: Iterable[Recalled], told: Collection[str]) -> list[str]:
    """The references to those of what was found whose lines were told."""
    return list(dict.fromkeys(ref_of(one.item) for one in found if remembered_as(world, one) in told)) if told else []


async def look_up(
    database: Database, memory: MemoryStore, world: WorldView, person_id: str, refs: Sequence[str]
) -> tuple[Remembered, ...]:
    """What the person's references lead to, in their order.

    Raises:
        GraphUnavailable: facts are among them, and the long-term memory is away.
    """
    wanted = [(MemoryKind(kind), item_id) for kind, _, item_id in (one.partition(":") for one in refs)]
    found = await database.read(lambda s: _in_sql(s, world, person_id, wanted))
    if any(kind is MemoryKind.FACT for kind, _ in wanted):
        dump = await memory.export(Group(world_id=world.id, person_id=person_id))
        found = {
            **found,
            **{
                (MemoryKind.FACT, one.id): _known(MemoryKind.FACT, one.id, one.shown, one.created_at, one)
                for one in dump.facts
            },
        }
    lore = {
        (MemoryKind.LORE, one.id): _known(MemoryKind.LORE, one.id, one.text, world.started_at, None)
        for one in world.cast.lore
    }
    found = {**found, **lore}
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
            _known(kind.INSIGHT, row.id, world.say("remembered.thought", text=row.text), row.at, row)
            for row in rows(kind.INSIGHT, InsightRow, "id", own(InsightRow))
        ),
        *(
            _known(kind.MID_TERM, row.id, row.content, row.created_at, row)
            for row in rows(kind.MID_TERM, MidTermRow, "id", own(MidTermRow))
        ),
        *(  # a promise is stored once, as a commitment
            _known(kind.MID_TERM, row.id, commitment_line(world, as_commitment(row), person_id), row.made_at, row)
            for row in rows(kind.MID_TERM, CommitmentRow, "id")
        ),
        *(
            _known(kind.OWN, row.id, row.words or row.statement, row.valid_at, row)
            for row in rows(kind.OWN, SelfFactRow, "id", own(SelfFactRow))
        ),
    ]
    return {(one.kind, one.id): one for one in found}


def _known(kind: MemoryKind, item_id: str, text: str, at: int, source: object) -> Remembered:
    """`source` has a `conversation_id` and a `turn` where there are any."""
    return Remembered(
        kind=kind,
        id=item_id,
        text=text,
        at=WorldTime(at),
        conversation_id=getattr(source, "conversation_id", None),
        turn=getattr(source, "turn", None),
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
