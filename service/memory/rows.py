"""Owns the rows of memories: how a memory is written, and read again."""

from dataclasses import fields
from typing import Any

from sqlmodel import Session, col, select

from service.content.profile import Importance
from service.memory.lexical import normal
from service.memory.record import VIEWS, Group, Kind, Memory, Mode, Source, Support
from service.store.tables import MemoryRow
from world.time import WorldTime

_NAMES = tuple(one.name for one in fields(Memory) if one.name != "replaces")
_TUPLES = ("via", "turns", "evidence")
_TIMES = ("valid_from", "valid_to", "known_from", "known_until", "expires_at")


def slot_of(one: Memory) -> str:
    """What has one value at a time: of whom or what, and which attribute ("": nothing). Two memories of one slot cannot
    both be true.
    """
    if not one.slot or not (one.subject_id or one.about):
        return ""
    return f"{one.subject_id or normal(one.about)}/{normal(one.slot.rpartition('/')[2])}"


def row_of(group: Group, one: Memory, revision: int) -> MemoryRow:
    """The memory as it is stored."""
    columns: dict[str, Any] = {name: getattr(one, name) for name in _NAMES}
    columns |= {name: list(columns[name]) for name in _TUPLES}
    return MemoryRow(**{**columns, "slot": slot_of(one)}, **group.whose, revision=revision)


def memory_of(row: Any) -> Memory:
    """The memory that a row, or its columns, hold."""
    columns: dict[str, Any] = {name: getattr(row, name) for name in _NAMES}
    columns |= {name: tuple(columns[name]) for name in _TUPLES}
    columns |= {name: None if columns[name] is None else WorldTime(columns[name]) for name in _TIMES}
    level: Importance | None = columns["level"]
    kinds = {"kind": Kind(columns["kind"]), "mode": Mode(columns["mode"])}
    return Memory(
        **columns
        | kinds
        | {"support": Support(columns["support"]), "source": Source(columns["source"]), "level": level}
    )


def read_memories(session: Session, group: Group, *, after: int = -1) -> list[Memory]:
    """Those written or ended after that revision, in no order; turns and summaries are no memories (episodes.py)."""
    row = MemoryRow
    mine = (*group.owns(row), col(row.revision) > after, col(row.deleted).is_(False), col(row.kind).not_in(VIEWS))
    return [
        memory_of(one) for one in session.execute(select(*(col(getattr(row, name)) for name in _NAMES)).where(*mine))
    ]
