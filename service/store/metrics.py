"""Owns what the store says to Prometheus: the queue of jobs, and how far worlds are behind."""

import time

from prometheus_client import CollectorRegistry, Gauge
from sqlalchemy import case
from sqlmodel import Session, col, func, select

from service.store.tables import JobRow, WorldRow

MOST_WORLDS = 20
"""So many of the worlds that are behind are named."""


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
