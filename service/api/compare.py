"""Owns the endpoint that tells how two worlds differ, as two branches of one do."""

from typing import Annotated

from fastapi import APIRouter, Query

from service.api.dependencies import KNOWN_QUERY, Serving, WorldId
from service.api.fields import Slug
from service.api.problem import describe
from service.runtime.compare import Comparison, compare

router = APIRouter(prefix="/world", tags=["world"], dependencies=[KNOWN_QUERY])


@router.get("/compare", response_model=Comparison, responses=describe(404))
async def compare_worlds(
    deps: Serving,
    world_id: WorldId,
    with_: Annotated[Slug, Query(alias="with", description="the other world", examples=["what-if"])],
    limit: Annotated[int, Query(ge=1, le=200, description="At most so many differences of each kind")] = 20,
) -> Comparison:
    """Compare the world with another one, as two branches are: what was said, what people remember, how they stand to
    each other, what they promised. Each as it is at its own world time.
    """
    return await compare(deps.conversation, world_id, with_, limit)
