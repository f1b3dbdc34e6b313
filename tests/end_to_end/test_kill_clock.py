"""Owns the tests of worlds whose process is killed, or told to end: another beside the same PostgreSQL goes on with
them.
"""

import time
from pathlib import Path

import httpx
import pytest

from tests.api.play import write_village
from tests.end_to_end.process import Service
from tests.servers.postgres import PostgresServer

TAKEN_OVER_SECONDS = 60  # what it takes is measured (docs/reliability.md); a busy machine takes longer


WEEK = 7 * 24 * 60


def clock(client: httpx.Client, world_id: str = "main") -> str:
    """What the world's clock shows."""
    return str(client.get("/world", headers={"X-World-Id": world_id}).json()["now"])


def goes_on(client: httpx.Client, world_id: str, log: str) -> None:
    """Raises: AssertionError: the world stands."""
    begun, stood = time.monotonic(), clock(client, world_id)
    while clock(client, world_id) <= stood:
        assert time.monotonic() - begun < TAKEN_OVER_SECONDS, log
        time.sleep(0.1)


def routines(postgres_server: PostgresServer, postgres_template: str) -> dict[str, str]:
    """Settings of a service on a database of its own, in which nobody asks a model."""
    return {
        "KATARIBE_DATABASE_URL": postgres_server.create_database(like=postgres_template),
        "KATARIBE_LLM__PROVIDER": "rehearsal",
        "KATARIBE_WORLD__DECISION": "routine",
    }


@pytest.mark.server
def test_a_process_that_is_told_to_end_leaves_its_worlds_to_another(
    tmp_path: Path, postgres_server: PostgresServer, postgres_template: str
) -> None:
    content, settings = write_village(tmp_path / "content"), routines(postgres_server, postgres_template)
    on_its_way = {"X-World-Id": "far"}
    with (
        Service(tmp_path, content, settings, data="one") as one,
        Service(tmp_path, content, settings, data="other") as other,
    ):
        one.client.put("/world/clock", json={"mode": "running", "speed": 120}).raise_for_status()
        goes_on(one.client, "main", one.log)
        week = {"ticks": WEEK, "wait": False}
        one.client.post("/world/tick", json=week, headers=on_its_way).raise_for_status()
        one.terminate()
        goes_on(other.client, "main", other.log)
        goes_on(other.client, "far", other.log)


@pytest.mark.server
def test_a_clock_whose_process_is_killed_goes_on_in_another_process(
    tmp_path: Path, postgres_server: PostgresServer, postgres_template: str
) -> None:
    content, settings = write_village(tmp_path / "content"), routines(postgres_server, postgres_template)
    with Service(tmp_path, content, settings, data="one") as one:
        one.client.put("/world/clock", json={"mode": "running", "speed": 120}).raise_for_status()
        goes_on(one.client, "main", one.log)
        with Service(tmp_path, content, settings, data="other") as other:
            one.kill()
            goes_on(other.client, "main", other.log)
            assert other.client.get("/world").json()["clock"]["mode"] == "running"
