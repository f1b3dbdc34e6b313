"""Owns the two leases on a world: which process moves it, and which runs its clock. Who waits for it says so."""

import time
from collections.abc import Sequence

from sqlalchemy import update
from sqlmodel import Session, col, select

from service.runtime.world_session import moves
from service.store.lease import Lease
from service.store.tables import WorldRow

LEASE_SECONDS = 20.0
"""Of machine time: what a process that died has held is another's by then."""
WANTED_SECONDS = 1.0
"""For so long whoever moves a world makes way for who said that it waits for it, and has said no more."""

_MOVES = Lease(holder=WorldRow.runner, until=WorldRow.lease_until)  # type: ignore[arg-type] # columns of the class
_RUNS_CLOCK = Lease(holder=WorldRow.clock_runner, until=WorldRow.clock_lease_until)  # type: ignore[arg-type]


def require_open(row: WorldRow, holder_id: str) -> None:
    """Raises: WorldMoves: another replica moves it."""
    if row.runner not in (None, holder_id) and row.lease_until >= time.time():
        raise moves(row)


def claim_if_there(session: Session, holder_id: str, world_id: str, seconds: float) -> bool:
    """Hold a world that may have no row: whether it has. Raises: WorldMoves: another replica moves it."""
    row = session.get(WorldRow, world_id, with_for_update=True)
    if row is None:
        return False
    require_open(row, holder_id)
    row.runner, row.lease_until = holder_id, time.time() + seconds
    return True


def want(session: Session, world_id: str) -> None:
    """Have whoever moves the world let go of it soon."""
    until = {WorldRow.wanted_until: time.time() + WANTED_SECONDS}
    session.execute(update(WorldRow).where(col(WorldRow.id) == world_id).values(until))


def is_wanted(row: WorldRow | None) -> bool:
    """Whether another process waits for the world to stand."""
    return row is not None and row.wanted_until > time.time()


def extend(session: Session, holder_id: str, world_ids: Sequence[str], seconds: float) -> None:
    """Extend the leases on those worlds."""
    _MOVES.extend(session, holder_id, seconds, col(WorldRow.id).in_(world_ids))


def release(session: Session, holder_id: str, world_id: str | None = None) -> None:
    """Give the world back; without `world_id`, every world that this runner holds."""
    which = [] if world_id is None else [col(WorldRow.id) == world_id]
    _MOVES.give_back(session, col(WorldRow.runner) == holder_id, *which)


def abandoned(session: Session, holder_id: str) -> list[str]:
    """Worlds that have not come to where they were told to go, and that no other living process holds."""
    due = select(WorldRow.id).where(col(WorldRow.target) > col(WorldRow.now), _MOVES.is_open_to(holder_id))
    return list(session.exec(due.order_by(col(WorldRow.id))))


def drop_all(session: Session) -> None:
    """Nobody holds any world, nor runs its clock."""
    _MOVES.give_back(session)
    _RUNS_CLOCK.give_back(session)


def holds_clock(row: WorldRow, holder_id: str, seconds: float) -> bool:
    """Whether the process holds the clock's lease for some time yet."""
    return row.clock_runner == holder_id and row.clock_lease_until > time.time() + seconds / 2


def claim_clock(session: Session, holder_id: str, world_id: str, seconds: float) -> bool:
    """Run the world's clock for so long, if it runs, and no other living runner does."""
    running = (col(WorldRow.id) == world_id, col(WorldRow.clock_mode) == "running")
    return _RUNS_CLOCK.take(session, holder_id, seconds, *running) == 1


def release_clocks(session: Session, holder_id: str) -> None:
    """Give back the leases of all clocks that the process runs."""
    _RUNS_CLOCK.give_back(session, col(WorldRow.clock_runner) == holder_id)
