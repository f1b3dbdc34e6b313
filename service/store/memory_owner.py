"""Owns the count of a person's memory: whoever writes into it locks it and counts its revision up."""

import time
from functools import cache

from sqlalchemy import Executable
from sqlmodel import Session, col

from service.store.insert import upsert
from service.store.jobs import JobKind, enqueue
from service.store.tables import JobKey, MemoryOwnerRow


def count_up(session: Session, world_id: str, person_id: str) -> int:
    """Lock the person's memory until the transaction ends, and count its revision up."""
    counted = _counting_up(session.get_bind().dialect.name)
    row = {"world_id": world_id, "person_id": person_id, "revision": 1, "epoch": new_epoch()}
    revision: int = session.execute(counted, row).scalar_one()
    deliver(session, world_id, person_id)
    return revision


def deliver(session: Session, world_id: str, person_id: str) -> None:
    """Have the person's memory brought to the graph outside our database, if there is one; the caller commits."""
    if session.info.get("has_graph"):
        enqueue(session, JobKey(world_id, JobKind.DELIVERY, person_id))


@cache
def _counting_up(dialect: str) -> Executable:
    """The statement that makes the row, or counts its revision up, and answers it."""
    return upsert(MemoryOwnerRow, dialect, sums=("revision",)).returning(col(MemoryOwnerRow.revision))


def new_epoch() -> int:
    """Microseconds of machine time: a world that was removed and begun again gets an epoch it never had."""
    return time.time_ns() // 1000
