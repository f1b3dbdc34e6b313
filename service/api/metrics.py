"""Owns what Prometheus reads: GET /metrics, with what the store says at that moment, and how requests are measured."""

import time

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, Histogram, generate_latest
from sqlalchemy import case
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session, col, func, select
from starlette.types import Message, Receive, Scope, Send

from service.api.dependencies import Serving
from service.api.middleware import Middleware
from service.errors import DatabaseDamaged, DatabaseGone
from service.store.tables import JobRow, WorldRow

router = APIRouter(include_in_schema=False)

MOST_WORLDS = 20
"""So many of the worlds that are behind are named."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""A client may call its method anything: that must not make a series of its own."""

_SECONDS = Histogram(
    "kataribe_http_request_duration_seconds",
    "How long requests take; those of streams as long as somebody listens.",
    ["method", "route", "status"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 30),
)
_IN_FLIGHT = Gauge("kataribe_http_requests_in_flight", "Requests that are being answered.")


@router.get("/metrics")
async def metrics(deps: Serving) -> Response:
    """What was counted since this process began, and what the store says now; a store that is away is told as such."""
    of_store = CollectorRegistry()
    up = Gauge("kataribe_database_up", "Whether the database answers.", registry=of_store)
    try:
        await deps.conversation.database.read(lambda s: measure_store(s, of_store))
        up.set(1)
    except (DatabaseGone, DatabaseDamaged, SQLAlchemyError):
        up.set(0)
    return Response(generate_latest() + generate_latest(of_store), media_type=CONTENT_TYPE_LATEST)


def measure_store(session: Session, registry: CollectorRegistry) -> None:
    """Register the queue of jobs and the worlds that are behind, as they are now."""
    jobs = Gauge("kataribe_jobs", "Work of the queue (GET /work).", ["kind", "state"], registry=registry)
    waits = Gauge(
        "kataribe_jobs_oldest_wait_seconds", "For how long the oldest has been due.", ["kind"], registry=registry
    )
    lag = Gauge(
        "kataribe_world_lag_seconds",
        f"World time by which a world is behind where it was told to go: the {MOST_WORLDS} that are farthest.",
        ["world_id"],
        registry=registry,
    )
    state = case((col(JobRow.runner).is_not(None), "running"), (col(JobRow.is_cancelled), "cancelled"), else_="waiting")
    counted = select(JobRow.kind, state, func.count(), func.min(JobRow.due_at)).group_by(JobRow.kind, state)
    for kind, of_state, count, due_at in session.execute(counted):
        jobs.labels(kind, of_state).set(count)
        if of_state == "waiting":
            waits.labels(kind).set(max(0.0, time.time() - due_at))
    behind = col(WorldRow.target) - col(WorldRow.now)
    for world_id, minutes in session.execute(
        select(WorldRow.id, behind).where(behind > 0).order_by(behind.desc()).limit(MOST_WORLDS)
    ):
        lag.labels(world_id).set(60 * minutes)


class Measured(Middleware):
    """Outside all others: it measures each request of HTTP by its route, never by its path."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            with _IN_FLIGHT.track_inprogress():
                await self._app(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            _SECONDS.labels(method, route, status).observe(time.perf_counter() - begun)
