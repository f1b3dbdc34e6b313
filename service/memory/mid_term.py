"""Owns mid-term memories, which affect a person's next days: how long each lasts, which are there, which have expired.

They are only ever added: what is on somebody's mind at a moment is a filter, and what has expired is told once.
"""

from collections.abc import Iterable, Sequence

from sqlmodel import Session, col, select

from service.content.profile import Importance
from service.people.agenda import Commitment
from service.people.commitments import commitment_line, open_commitments
from service.people.worlds import WorldView
from service.store.event_kinds import MemoryExpired
from service.store.events import schedule_event
from service.store.insert import insert_rows
from service.store.tables import MidTermRow
from world.time import MINUTES_PER_DAY, WorldTime, day_end

_DAYS = {"medium": 2, "high": 3}


def expires_at(importance: Importance, created_at: WorldTime, *, day_starts: int = 0) -> WorldTime:
    """When a memory made at `created_at` is gone: low at the end of its world day, medium after 2 days, high after
    3.
    """
    if importance == "low":
        return day_end(created_at, day_starts=day_starts)
    return WorldTime(created_at + _DAYS[importance] * MINUTES_PER_DAY)


def mid_term_memories(session: Session, world: WorldView, *person_ids: str) -> list[MidTermRow]:
    """Those that these persons have at the moment of `world`, the most urgent last. Open promises, by a person and to
    it, are among them: they are stored once, as commitments.
    """
    query = select(MidTermRow).where(
        MidTermRow.world_id == world.id,
        col(MidTermRow.person_id).in_(person_ids),
        MidTermRow.created_at <= world.now,
        MidTermRow.expires_at > world.now,
    )
    promised = [
        _promised(world, one, person_id)
        for one in open_commitments(session, world, *person_ids)
        for person_id in person_ids
        if person_id in (one.by_id, one.to_id)
    ]
    return sorted((*session.exec(query), *promised), key=lambda row: (-row.expires_at, row.id))


def _promised(world: WorldView, one: Commitment, person_id: str) -> MidTermRow:
    """A promise as something that is on the person's mind; no row of the store."""
    return MidTermRow(
        world_id=world.id,
        person_id=person_id,
        id=one.id,
        content=commitment_line(world, one, person_id),
        importance="high",
        created_at=one.made_at,
        expires_at=one.ends_at,
        partner_id=one.other(person_id),
        kind="commitment",
    )


def tell_expired(session: Session, world: WorldView, now: WorldTime) -> None:
    """The clock of `world` goes on to `now`: the log is told what expired on the way; the caller commits."""
    gone = select(MidTermRow).where(
        MidTermRow.world_id == world.id, MidTermRow.expires_at > world.now, MidTermRow.expires_at <= now
    )
    _tell(session, session.exec(gone))


def add_mid_term(session: Session, rows: Sequence[MidTermRow], now: WorldTime) -> None:
    """Add them when the world's clock shows `now`; the caller commits.

    A closing may come so late that one is over before it is written: the clock has passed its end, so it is told here.
    """
    insert_rows(session, rows)
    _tell(session, (row for row in rows if row.expires_at <= now))


def _tell(session: Session, expired: Iterable[MidTermRow]) -> None:
    for row in expired:
        told = MemoryExpired(content=row.content, importance=row.importance)
        schedule_event(session, row.world_id, WorldTime(row.expires_at), told, row.person_id, key=row.id)
