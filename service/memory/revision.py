"""Owns the row of a person that remembers: the lock of every write, the revision it bears, the epoch, whose vectors it
has.
"""

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from service.memory.embedding.embedder import NO_VECTORS, VectorSpace
from service.memory.index import State
from service.memory.record import Group
from service.store.memory_owner import count_up, new_epoch
from service.store.tables import MemoryOwnerRow

_STATE = select(MemoryOwnerRow.epoch, MemoryOwnerRow.revision).where(
    MemoryOwnerRow.world_id == bindparam("of_world"), MemoryOwnerRow.person_id == bindparam("of_person")
)
"""Made once, for every recall runs it."""


def state_of(session: Session, group: Group) -> State | None:
    """None: the person remembers nothing yet."""
    row = session.execute(_STATE, {"of_world": group.world_id, "of_person": group.person_id}).first()
    return None if row is None else State(*row)


def next_revision(session: Session, group: Group) -> int:
    """Lock the person's memory until the transaction ends, and count its revision up."""
    return count_up(session, group.world_id, group.person_id)


def next_epoch(session: Session, group: Group) -> int:
    """Make everybody read the person's memory anew: something was taken away or changed. Answers the revision."""
    owner = _locked(session, group)
    owner.epoch = max(owner.epoch + 1, new_epoch())
    owner.revision += 1
    return owner.revision


def read_anew(session: Session, group: Group) -> None:
    """`next_epoch` for a person who may remember nothing yet."""
    if session.get(MemoryOwnerRow, group.key()) is not None:
        next_epoch(session, group)


def space_of(session: Session, group: Group) -> VectorSpace:
    """Which vectors the person's memory has."""
    row = session.get(MemoryOwnerRow, group.key())
    return NO_VECTORS if row is None else VectorSpace(row.embedder, row.dimensions)


def claim_space(session: Session, group: Group, space: VectorSpace) -> bool:
    """Whether such vectors may be written into the person's memory; the first ones say which may from then on."""
    owner = _locked(session, group)
    if not owner.embedder:
        owner.embedder, owner.dimensions = space
    return VectorSpace(owner.embedder, owner.dimensions) == space


def set_space(session: Session, group: Group, space: VectorSpace) -> None:
    """All vectors of the person's memory are of another embedder now, or gone."""
    owner = _locked(session, group)
    owner.embedder, owner.dimensions = space


def expect_vectors(session: Session, group: Group) -> None:
    """Something of the person's memory has no vector yet, and is to get one."""
    _locked(session, group).vectors_due += 1


def have_vectors(session: Session, group: Group, due: int) -> None:
    """All vectors are made that were due when `due` was read; what has become due since still is."""
    owner = session.get(MemoryOwnerRow, group.key(), with_for_update=True)
    if owner is not None and owner.vectors_due == due:
        owner.vectors_due = 0


def vectors_due(session: Session, world_id: str | None = None) -> dict[Group, int]:
    """Whose memories are to get vectors, in a world or in all, and what `have_vectors` is to be told."""
    row = MemoryOwnerRow
    query = select(row.world_id, row.person_id, row.vectors_due).where(col(row.vectors_due) > 0)
    if world_id is not None:
        query = query.where(row.world_id == world_id)
    return {Group(world_id=world, person_id=person): due for world, person, due in session.exec(query)}


def _locked(session: Session, group: Group) -> MemoryOwnerRow:
    row = session.get(MemoryOwnerRow, group.key(), with_for_update=True)
    if row is None:
        row = MemoryOwnerRow(**group.whose, revision=0, epoch=new_epoch())
        session.add(row)
        session.flush()
    return row
