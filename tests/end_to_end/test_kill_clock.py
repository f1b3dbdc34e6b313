"""Owns the test of a running clock whose process is killed: another beside the same PostgreSQL goes on with it."""

import time
from pathlib import Path

import httpx
import pytest

from tests.api.play import write_village
from tests.end_to_end.process import Service
from tests.servers.postgres import PostgresServer

TAKEN_OVER_SECONDS = 20  # what it takes is measured (docs/reliability.md); a busy machine takes longer


def clock(client: httpx.Client) -> str:
    """What the world's clock shows."""
    return str(client.get("/world").json()["now"])


@pytest.mark.server
def test_a_clock_whose_process_is_killed_goes_on_in_another_process(
    tmp_path: Path, postgres_server: PostgresServer, postgres_template: str
) -> None:
    content = write_village(tmp_path / "content")
    settings = {
        "KATARIBE_DATABASE_URL": postgres_server.create_database(like=postgres_template),
        "KATARIBE_LLM__PROVIDER": "rehearsal",
        "KATARIBE_WORLD__DECISION": "routine",
    }
    with Service(tmp_path, content, settings, data="one") as one:
        one.client.put("/world/clock", json={"mode": "running", "speed": 120}).raise_for_status()
        begins = clock(one.client)
        while clock(one.client) == begins:
            time.sleep(0.1)
        with Service(tmp_path, content, settings, data="other") as other:
            one.kill()
            killed = time.monotonic()
            stood = clock(other.client)
            while clock(other.client) <= stood:
                assert time.monotonic() - killed < TAKEN_OVER_SECONDS, other.log
                time.sleep(0.1)
            assert other.client.get("/world").json()["clock"]["mode"] == "running"
