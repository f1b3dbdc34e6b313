"""Owns the tests of what the store says to Prometheus, on both databases."""

import time

import pytest
from prometheus_client import CollectorRegistry

from service.api.metrics import MOST_WORLDS, measure_store
from service.store.session import Database
from service.store.tables import JobRow, WorldRow


def test_the_queue_and_the_worlds_that_are_farthest_behind_are_told(database: Database) -> None:
    registry, now = CollectorRegistry(), time.time()
    common = {"world_id": "w", "kind": "snapshot", "priority": 2, "created_at": 0.0}
    rows = [
        JobRow.model_validate({"key": "old", "owner": "a", "due_at": now - 90, **common}),
        JobRow.model_validate({"key": "new", "owner": "b", "due_at": now - 10, **common}),
        JobRow.model_validate({"key": "held", "owner": "c", "due_at": now - 500, "runner": "1-1", **common}),
        JobRow.model_validate({"key": "given-up", "owner": "d", "due_at": now, "is_cancelled": True, **common}),
        *(WorldRow(id=f"w{n:02}", language="en", started_at=0, now=100, target=100 + n) for n in range(30)),
    ]
    database.write_now(lambda s: s.add_all(rows))
    database.read_now(lambda s: measure_store(s, registry))

    def told(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert told("kataribe_jobs", kind="snapshot", state="waiting") == 2
    assert told("kataribe_jobs", kind="snapshot", state="running") == 1
    assert told("kataribe_jobs", kind="snapshot", state="cancelled") == 1
    assert told("kataribe_jobs_oldest_wait_seconds", kind="snapshot") == pytest.approx(90, abs=60)
    assert told("kataribe_world_lag_seconds", world_id="w29") == 29 * 60
    assert told("kataribe_world_lag_seconds", world_id=f"w{30 - MOST_WORLDS}") == (30 - MOST_WORLDS) * 60
    assert told("kataribe_world_lag_seconds", world_id=f"w{29 - MOST_WORLDS:02}") is None
