"""Owns the leases on a world: which process moves it, and which runs its clock, until when (machine time), so that
replicas do not do it both.
"""

import time
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, or_, update
from sqlmodel import Session, col, select

from service.runtime.world_session import moves
from service.store.tables import WorldRow

LEASE_SECONDS = 20.0
"""Of machine time: what a process that died has held is another's by then."""


def claim(session: Session, world_runner: str, world_id: str, seconds: float) -> None:
    """Raises: WorldMoves: another replica moves it."""
    statement = (
        update(WorldRow)
        .where(
            col(WorldRow.id) == world_id,
            or_(
                col(WorldRow.runner).is_(None),
                col(WorldRow.runner) == world_runner,
                col(WorldRow.lease_until) < time.time(),
            ),
        )
        .values(runner=world_runner, lease_until=time.time() + seconds)
        .execution_options(synchronize_session=False)
    )
    if cast("CursorResult[Any]", session.execute(statement)).rowcount == 1:
        return
    raise moves(session.get_one(WorldRow, world_id, populate_existing=True))


def claim_if_there(session: Session, world_runner: str, world_id: str, seconds: float) -> bool:
    """The same for a world that may have no row: whether it has. Raises: WorldMoves."""
    if session.get(WorldRow, world_id, with_for_update=True) is None:
        return False
    claim(session, world_runner, world_id, seconds)
    return True


def extend(session: Session, world_runner: str, world_ids: Sequence[str], seconds: float) -> None:
    """Hold for longer those that this runner holds."""
    mine = update(WorldRow).where(col(WorldRow.runner) == world_runner, col(WorldRow.id).in_(world_ids))
    session.execute(mine.values(lease_until=time.time() + seconds))


def release(session: Session, world_runner: str, world_id: str | None = None) -> None:
    """Hold it no longer; None: nor any other."""
    mine = update(WorldRow).where(col(WorldRow.runner) == world_runner)
    session.execute((mine if world_id is None else mine.where(col(WorldRow.id) == world_id)).values(runner=None))


def abandoned(session: Session, world_runner: str) -> list[str]:
    """Worlds short of where they were told to go that no living runner but this one holds."""
    free = or_(
        col(WorldRow.runner).is_(None), col(WorldRow.runner) == world_runner, col(WorldRow.lease_until) < time.time()
    )
    query = select(WorldRow.id).where(col(WorldRow.target) > col(WorldRow.now), free)
    return list(session.exec(query.order_by(col(WorldRow.id))))


def drop_all(session: Session) -> None:
    """Nobody holds any."""
    session.execute(update(WorldRow).values(runner=None, clock_runner=None))


def holds_clock(row: WorldRow, world_runner: str, seconds: float) -> bool:
    """Whether the runner runs the world's clock, and need not say so again yet."""
    return row.clock_runner == world_runner and row.clock_lease_until > time.time() + seconds / 2


def claim_clock(session: Session, world_runner: str, world_id: str, seconds: float) -> bool:
    """Run the world's clock for so long, if it runs, and no other living runner does."""
    free = or_(
        col(WorldRow.clock_runner).is_(None),
        col(WorldRow.clock_runner) == world_runner,
        col(WorldRow.clock_lease_until) < time.time(),
    )
    mine = update(WorldRow).where(col(WorldRow.id) == world_id, col(WorldRow.clock_mode) == "running", free)
    held = session.execute(mine.values(clock_runner=world_runner, clock_lease_until=time.time() + seconds))
    return cast("CursorResult[Any]", held).rowcount == 1


def release_clocks(session: Session, world_runner: str) -> None:
    """Run none any longer."""
    session.execute(update(WorldRow).where(col(WorldRow.clock_runner) == world_runner).values(clock_runner=None))
