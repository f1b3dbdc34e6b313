"""Owns what a person has on its mind: mid-term memories, how long each lasts, which are over; what it told of itself.

They are only ever added: what is on somebody's mind at a moment is a filter, and what has expired is told once.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from service.content.profile import Importance
from service.memory.record import Kind, Memory, Source, memory_of
from service.memory.telling import MemoryKind, ref, told_of
from service.people.commitment import Commitment
from service.people.commitments import commitment_line, open_commitments
from service.people.worlds import WorldView
from service.store.event_kinds import MemoryExpired
from service.store.events import schedule_event
from service.store.tables import MemoryRow
from world.time import MINUTES_PER_DAY, WorldTime, day_end

_DAYS = {"medium": 2, "high": 3}


def expires_at(importance: Importance, created_at: WorldTime, *, day_starts: int = 0) -> WorldTime:
    """When a memory made at `created_at` is gone: low at the end of its world day, medium after 2 days, high after
    3.
    """
    if importance == "low":
        return day_end(created_at, day_starts=day_starts)
    return WorldTime(created_at + _DAYS[importance] * MINUTES_PER_DAY)


@dataclass(frozen=True, kw_only=True, slots=True)
class OnMind:
    """Something that affects a person's next days, as it reads to it; `ref` refers to it (telling.py). `is_seen`: it
    saw it happen. `kept_from` as of a memory.
    """

    ref: str
    content: str
    """what is on the person's mind, with who told it"""
    level: Importance
    since: WorldTime
    expires_at: WorldTime
    """the world time at which it is over"""
    partner_id: str
    others: tuple[str, ...] = ()
    kept_from: tuple[str, ...] = ()
    is_seen: bool = False


def mid_term_memories(session: Session, world: WorldView, *person_ids: str) -> dict[str, list[OnMind]]:
    """What is on the mind of each of these persons at the moment of `world`, the most urgent last. Open promises, by a
    person and to it, are among it: they are stored once, as commitments.
    """
    row = MemoryRow
    query = select(row).where(
        row.world_id == world.id,
        col(row.person_id).in_(person_ids),
        row.kind == Kind.MID_TERM,
        col(row.deleted).is_(False),
        row.known_from <= world.now,
        col(row.expires_at) > world.now,
        col(row.valid_to).is_(None) | (col(row.valid_to) > world.now),
    )
    found: dict[str, list[OnMind]] = {one: [] for one in person_ids}
    for one in session.exec(query):
        found[one.person_id].append(_on_mind(world, memory_of(one), one.person_id))
    for promise in open_commitments(session, world, *person_ids):
        for person_id in {promise.by_id, promise.to_id} & found.keys():
            found[person_id].append(_promised(world, promise, person_id))
    return {one: sorted(all_of, key=lambda each: (-each.expires_at, each.ref)) for one, all_of in found.items()}


def _on_mind(world: WorldView, one: Memory, person_id: str) -> OnMind:
    return OnMind(
        ref=ref(MemoryKind.MEMORY, one.id),
        content=told_of(world, one, person_id),
        level=one.level or "low",
        since=one.known_from,
        expires_at=one.expires_at or one.known_from,
        partner_id=one.partner_id,
        others=one.others,
        kept_from=one.kept_from,
        is_seen=one.source is Source.OBSERVATION,
    )


def _promised(world: WorldView, one: Commitment, person_id: str) -> OnMind:
    return OnMind(
        ref=ref(MemoryKind.PROMISE, one.id),
        content=commitment_line(world, one, person_id),
        level="high",
        since=one.made_at,
        expires_at=one.ends_at,
        partner_id=one.other(person_id),
    )


def self_told(session: Session, world: WorldView, *person_ids: str) -> dict[str, list[Memory]]:
    """What each of these persons has told, of itself above all, and what of it holds at the moment of `world`; oldest
    first. An author's facts stand before it.
    """
    return _holding(session, world, person_ids, MemoryRow.kind == Kind.SELF)


WEIGHTY = 8
"""From this importance on something stays on the mind for `WEIGHTY_DAYS`, whoever it is talked of with."""
WEIGHTY_DAYS = 3


def weighty(session: Session, world: WorldView, *person_ids: str) -> dict[str, list[Memory]]:
    """What of the last days mattered most to each of these persons and holds at the moment of `world`; oldest first."""
    row, since = MemoryRow, world.now - WEIGHTY_DAYS * MINUTES_PER_DAY
    kinds = col(row.kind).in_((Kind.FACT, Kind.OBSERVED, Kind.INSIGHT))
    return _holding(
        session,
        world,
        person_ids,
        kinds,
        row.importance >= WEIGHTY,
        row.known_from > since,
        row.known_from <= world.now,
    )


def _holding(session: Session, world: WorldView, person_ids: Collection[str], *which: Any) -> dict[str, list[Memory]]:
    row = MemoryRow
    query = select(row).where(
        row.world_id == world.id,
        col(row.person_id).in_(person_ids),
        col(row.deleted).is_(False),
        col(row.valid_to).is_(None) | (col(row.known_until).is_(None) & (col(row.valid_to) > world.now)),
        *which,
    )
    found: dict[str, list[Memory]] = {one: [] for one in person_ids}
    for one in session.exec(query.order_by(col(row.valid_from), col(row.id))):
        found[one.person_id].append(memory_of(one))
    return found


def tell_expired(session: Session, world: WorldView, now: WorldTime) -> None:
    """The clock of `world` goes on to `now`: the log is told what expired on the way; the caller commits."""
    row = MemoryRow
    gone = select(row).where(
        row.world_id == world.id,
        col(row.deleted).is_(False),
        col(row.expires_at) > world.now,
        col(row.expires_at) <= now,
    )
    tell_over(session, session.exec(gone), now)


def tell_over(session: Session, rows: Iterable[MemoryRow], now: WorldTime) -> None:
    """Tell the log which of these are over by `now`; the caller commits. A closing may come so late that what it writes
    is over already: the clock has passed its end.
    """
    for row in rows:
        if row.expires_at is not None and row.expires_at <= now:
            told = MemoryExpired(content=row.text, importance=row.level)
            schedule_event(session, row.world_id, WorldTime(row.expires_at), told, row.person_id, key=row.id)
