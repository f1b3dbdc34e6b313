"""Owns the row of a person that remembers: the lock of every write, the revision it bears, the epoch."""

import time

from sqlmodel import Session, select

from service.memory.index import State
from service.memory.store import Group
from service.store.tables import MemoryOwnerRow


def state_of(session: Session, group: Group) -> State | None:
    """None: the person remembers nothing yet."""
    query = select(MemoryOwnerRow.epoch, MemoryOwnerRow.revision).where(
        MemoryOwnerRow.world_id == group.world_id, MemoryOwnerRow.person_id == group.person_id
    )
    row = session.exec(query).first()
    return None if row is None else State(*row)


def next_revision(session: Session, group: Group) -> int:
    """Lock the person's memory until the transaction ends, and count its revision up."""
    owner = _locked(session, group)
    owner.revision += 1
    return owner.revision


def next_epoch(session: Session, group: Group) -> int:
    """Make everybody read the person's memory anew: something was taken away or changed. Answers the revision."""
    owner = _locked(session, group)
    owner.epoch = max(owner.epoch + 1, _now())
    owner.revision += 1
    return owner.revision


def read_anew(session: Session, group: Group) -> None:
    """`next_epoch` for a person who may remember nothing yet."""
    if session.get(MemoryOwnerRow, (group.world_id, group.person_id)) is not None:
        next_epoch(session, group)


def _locked(session: Session, group: Group) -> MemoryOwnerRow:
    row = session.get(MemoryOwnerRow, (group.world_id, group.person_id), with_for_update=True)
    if row is None:
        row = MemoryOwnerRow(world_id=group.world_id, person_id=group.person_id, revision=0, epoch=_now())
        session.add(row)
        session.flush()
    return row


def _now() -> int:
    """Microseconds of machine time: a world that was removed and begun again gets an epoch it never had."""
    return time.time_ns() // 1000
