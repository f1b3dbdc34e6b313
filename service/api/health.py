"""Owns the endpoints for those who run the service."""

from fastapi import APIRouter, Response
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from service.api.deps import Serving
from service.api.schemas import HealthOut
from service.errors import GraphUnavailable

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=HealthOut)
async def healthz() -> HealthOut:
    """The process answers."""
    return HealthOut(status="ok", checks={})


@router.get("/readyz", response_model=HealthOut, responses={503: {"model": HealthOut, "description": "Not ready"}})
async def readyz(house: Serving, response: Response) -> HealthOut:
    """Whether the database and the memory graph can be reached, and a model is configured.

    Only the database is needed to serve; the memory graph being away or no model being configured is `degraded`,
    and 503, so that whoever waits for a whole service sees what is missing.
    """
    checks = {"database": "ok", "memory": "ok", "models": ", ".join(sorted(set(house.room.models.names().values())))}
    try:
        await house.room.database.read(lambda s: s.execute(text("SELECT 1")))
    except SQLAlchemyError as exc:
        checks["database"] = type(exc).__name__
    try:
        await house.room.graph.check()
    except GraphUnavailable as exc:
        checks["memory"] = exc.sentence("en")
    configured = "none" not in house.room.models.names().values()
    ready = configured and checks["database"] == checks["memory"] == "ok"
    response.status_code = 200 if ready else 503
    return HealthOut(status="ok" if ready else "degraded", checks=checks)
