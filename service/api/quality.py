"""Owns the endpoint that tells how good what is said and decided was found to be, and the worst of it."""

from typing import Annotated

from fastapi import APIRouter, Query
from sqlmodel import Session

from service.api.dependencies import KNOWN_QUERY, Serving, Slug, WorldId
from service.offline.model import REHEARSAL
from service.people.worlds import WorldView
from service.quality.summary import QualitySummary, summed
from service.settings import ScoredRole
from service.store.quality import quality_rows

router = APIRouter(prefix="/world", tags=["world"], dependencies=[KNOWN_QUERY])


@router.get("/quality")
async def read_quality(
    deps: Serving,
    world_id: WorldId,
    role: Annotated[ScoredRole | None, Query(description="Only what is of that role; left out: all")] = None,
    person_id: Annotated[Slug | None, Query(description="Only what that person said or decided; left out: all")] = None,
    worst: Annotated[int, Query(ge=0, le=1000, description="So many of the worst lines")] = 20,
) -> QualitySummary:
    """How good what was said and decided is, of what was checked before it counted: off unless KATARIBE_QUALITY__SHARE
    says otherwise.
    """

    def work(session: Session, world: WorldView) -> QualitySummary:
        rows = quality_rows(session, world.id, role=role, person_id=person_id)
        return summed(rows, deps.conversation.settings.quality, world.name_of, worst=worst, rehearsal=REHEARSAL)

    return await deps.read(world_id, work)
