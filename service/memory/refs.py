"""Owns how a memory that stood in a prompt is referred to (``fact:…``, ``turn:conversation/3``), and how it is found
again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import tuple_
from sqlmodel import Session, col, select

from service.content.lore import Lore
from service.locales.time import ago
from service.memory.memory_store import MemoryStore
from service.memory.recall import remembered_as
from service.memory.store import Fact, Group, HeardTurn, Insight, Item, Recalled
from service.people.commitments import as_commitment, commitment_line
from service.people.worlds import WorldView
from service.store.session import Database
from service.store.tables import CommitmentRow, InsightRow, MidTermRow, SelfFactRow, SummaryRow, TurnRow
from world.time import WorldTime


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
        found = {**found, **{(MemoryKind.FACT, fact.id): _fact(fact) for fact in dump.facts}}
    lore = {(MemoryKind.LORE, one.id): _lore(world, one) for one in world.cast.lore}
    found = {**found, **lore}
    return tuple(found.get(key) or Remembered(kind=key[0], id=key[1]) for key in wanted)


def _lore(world: WorldView, one: Lore) -> Remembered:
    return Remembered(kind=MemoryKind.LORE, id=one.id, text=one.text, at=world.started_at)


_Key = tuple[MemoryKind, str]


def _in_sql(session: Session, world: WorldView, person_id: str, wanted: Sequence[_Key]) -> Mapping[_Key, Remembered]:
    ids = {kind: [item_id for one, item_id in wanted if one is kind] for kind in MemoryKind}
    found = [
        *_turns(session, world, ids[MemoryKind.TURN]),
        *_talks(session, world, person_id, ids[MemoryKind.TALK]),
        *_insights(session, world, person_id, ids[MemoryKind.INSIGHT]),
        *_mid_term(session, world, person_id, ids[MemoryKind.MID_TERM]),
        *_own(session, world, person_id, ids[MemoryKind.OWN]),
    ]
    return {(one.kind, one.id): one for one in found}


def _fact(fact: Fact) -> Remembered:
    return Remembered(
        kind=MemoryKind.FACT,
        id=fact.id,
        text=fact.shown,
        at=fact.created_at,
        conversation_id=fact.conversation_id,
        turn=fact.turn,
    )


def _turns(session: Session, world: WorldView, ids: Sequence[str]) -> Iterable[Remembered]:
    keys = [(conversation_id, int(turn)) for conversation_id, _, turn in (one.partition("/") for one in ids)]
    said = tuple_(col(TurnRow.conversation_id), col(TurnRow.turn)).in_(keys)
    for row in session.exec(select(TurnRow).where(TurnRow.world_id == world.id, said)) if keys else ():
        yield Remembered(
            kind=MemoryKind.TURN,
            id=f"{row.conversation_id}/{row.turn}",
            text=f"{row.speaker_name}: {row.text}",
            at=WorldTime(row.at),
            conversation_id=row.conversation_id,
            turn=row.turn,
        )


def _talks(session: Session, world: WorldView, person_id: str, ids: Sequence[str]) -> Iterable[Remembered]:
    mine = (SummaryRow.world_id == world.id, SummaryRow.person_id == person_id)
    for row in session.exec(select(SummaryRow).where(*mine, col(SummaryRow.conversation_id).in_(ids))):
        yield Remembered(
            kind=MemoryKind.TALK,
            id=row.conversation_id,
            text=row.summary,
            at=WorldTime(row.at),
            conversation_id=row.conversation_id,
        )


def _insights(session: Session, world: WorldView, person_id: str, ids: Sequence[str]) -> Iterable[Remembered]:
    mine = (InsightRow.world_id == world.id, InsightRow.person_id == person_id)
    for row in session.exec(select(InsightRow).where(*mine, col(InsightRow.id).in_(ids))):
        text = world.say("remembered.thought", text=row.text)
        yield Remembered(kind=MemoryKind.INSIGHT, id=row.id, text=text, at=WorldTime(row.at))


def _mid_term(session: Session, world: WorldView, person_id: str, ids: Sequence[str]) -> Iterable[Remembered]:
    """A promise is stored once, as a commitment."""
    mine = (MidTermRow.world_id == world.id, MidTermRow.person_id == person_id)
    for row in session.exec(select(MidTermRow).where(*mine, col(MidTermRow.id).in_(ids))):
        yield Remembered(
            kind=MemoryKind.MID_TERM,
            id=row.id,
            text=row.content,
            at=WorldTime(row.created_at),
            conversation_id=row.conversation_id,
        )
    promised = select(CommitmentRow).where(CommitmentRow.world_id == world.id, col(CommitmentRow.id).in_(ids))
    for one in session.exec(promised):
        yield Remembered(
            kind=MemoryKind.MID_TERM,
            id=one.id,
            text=commitment_line(world, as_commitment(one), person_id),
            at=WorldTime(one.made_at),
            conversation_id=one.conversation_id,
            turn=one.turn,
        )


def _own(session: Session, world: WorldView, person_id: str, ids: Sequence[str]) -> Iterable[Remembered]:
    mine = (SelfFactRow.world_id == world.id, SelfFactRow.person_id == person_id)
    for row in session.exec(select(SelfFactRow).where(*mine, col(SelfFactRow.id).in_(ids))):
        yield Remembered(
            kind=MemoryKind.OWN,
            id=row.id,
            text=row.words or row.statement,
            at=WorldTime(row.valid_at),
            conversation_id=row.conversation_id,
            turn=row.turn,
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
