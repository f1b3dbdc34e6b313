"""Owns the endpoints of promises: what a person promised and was promised, and what a client says became of it."""

from fastapi import APIRouter
from sqlmodel import Session, col, select

from service.api.dependencies import KNOWN_QUERY, After, AsAsked, AtMost, Serving, Slug, WorldId, cut, describe
from service.api.schemas import CommitmentIn, CommitmentOut, Page
from service.errors import CommitmentOver, NotFound
from service.people.commitments import as_commitment, settle
from service.people.worlds import WorldView
from service.runtime.world_session import WorldSession
from service.store.phase import CommitmentState
from service.store.tables import CommitmentRow
from world.time import WorldTime

router = APIRouter(tags=["people"], dependencies=[KNOWN_QUERY])


@router.get("/people/{person_id}/commitments")
async def read_commitments(
    person_id: Slug, deps: Serving, world_id: WorldId, after: After = None, limit: AtMost = None
) -> Page[CommitmentOut]:
    """What the person promised and was promised, NPC or character: what is open first, the soonest first, then what is
    over.

    Who made a promise for a place of the map and an hour, or a part of a day (`moves`), walks there; it is kept if both
    are there at once within 15 minutes of the hour, or in that part of the day. Any other is kept, moved or released
    where a later talk says so, and kept, broken or released where a client does (`POST /commitments/{id}`); else it
    lapses.
    """

    def work(session: Session, world: WorldView) -> Page[CommitmentOut]:
        world.cast.person(person_id)
        involved = (col(CommitmentRow.by_id) == person_id) | (col(CommitmentRow.to_id) == person_id)
        query = select(CommitmentRow).where(CommitmentRow.world_id == world_id, involved)
        made = query.where(CommitmentRow.made_at <= world.now)  # a later one is lived ahead of the clock
        rows = session.exec(made.order_by(col(CommitmentRow.expires_at), col(CommitmentRow.id))).all()
        ordered = sorted(rows, key=lambda row: row.state != CommitmentState.OPEN)
        found, following = cut(ordered, lambda row: row.id, after, limit)
        return Page[CommitmentOut](items=[_out(row) for row in found], next=following)

    return await deps.read(world_id, work)


@router.post("/commitments/{commitment_id}", responses=describe(409))
async def settle_commitment(
    commitment_id: Slug,
    body: CommitmentIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> CommitmentOut:
    """Say what became of an open promise: kept and broken move how the other stands to who made it, and both remember;
    released takes it back, and nothing follows.
    """

    def work(session: Session, world_session: WorldSession) -> CommitmentOut:
        row = session.get(CommitmentRow, (world_id, commitment_id))
        if row is None:
            raise NotFound(kind="commitment", id=commitment_id)
        if row.state != CommitmentState.OPEN:
            raise CommitmentOver(id=commitment_id, state=row.state)
        settle(session, world_session.world, row, CommitmentState(body.state))
        session.flush()
        return _out(row)

    return await deps.world_runner.command(world_id, work, asked=asked)


def _out(row: CommitmentRow) -> CommitmentOut:
    moves = as_commitment(row).appointment is not None
    return CommitmentOut.of(row, moves=moves, expires_at=WorldTime(row.expires_at))
