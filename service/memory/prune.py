"""Owns the removal of what has faded: from then on nobody can ask for it any more."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlmodel import Session, col, exists, select

from service.memory.memory_store import MemoryStore
from service.memory.record import Group, Kind
from service.store.tables import (
    CommitmentRow,
    ConversationRow,
    MemoryOwnerRow,
    MemoryRow,
    OverheardRow,
    SummaryRow,
)


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """How many memories were removed, of how many people, and how many conversations nobody remembers any more."""

    memories: int = 0
    people: int = 0
    conversations: int = 0


def owners(session: Session, world_id: str) -> list[Group]:
    """Who of the world remembers anything."""
    people = select(MemoryOwnerRow.person_id).where(MemoryOwnerRow.world_id == world_id)
    return [Group(world_id=world_id, person_id=one) for one in session.exec(people.order_by(MemoryOwnerRow.person_id))]


def prune(
    session: Session,
    memory: MemoryStore,
    group: Group,
    faded: Collection[tuple[Kind, str]],
    remembered: Collection[str],
) -> int:
    """Remove what has faded from the person's memory; the caller commits. Answers how much it was.

    Of a talk of which something is `remembered`, the turns stay, and stay faded.
    """
    for kind, key in sorted(faded):
        if kind is not Kind.TURN:
            memory.remove(session, group, kind, key)
            row = session.get(MemoryRow, group.key(key))
            if row is not None and not row.given_id:  # nobody brings it back: nothing need bar it
                session.delete(row)
    for talk in sorted(talks_of(faded)):
        summary = session.get(SummaryRow, group.key(talk))
        if summary is None:
            session.delete(session.get_one(OverheardRow, group.key(talk)))
        elif talk not in remembered:
            session.delete(summary)
    return sum(kind is not Kind.TURN or key.partition("/")[0] not in remembered for kind, key in faded)


def talks_of(faded: Iterable[tuple[Kind, str]]) -> set[str]:
    """The talks that have faded."""
    return {key.partition("/")[0] for kind, key in faded if kind in (Kind.TURN, Kind.SUMMARY)}


def prune_talks(session: Session, world_id: str, talks: Collection[str]) -> int:
    """Remove those of the talks that nobody remembers and of which nothing else came; the caller commits. Answers how
    many.
    """
    session.flush()
    removed = 0
    for talk in sorted(talks):
        came = (
            exists().where(col(row.world_id) == world_id, col(row.conversation_id) == talk)
            for row in (SummaryRow, MemoryRow, CommitmentRow, OverheardRow)
        )
        found = session.get(ConversationRow, (world_id, talk))
        if found is not None and not any(session.execute(select(one)).scalar() for one in came):
            session.delete(found)
            removed += 1
    return removed
