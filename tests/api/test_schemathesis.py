"""Owns the run of schemathesis over the whole API: requests nobody here thought of, judged by what is described."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.app import create_app
from service.cast.load import bundled_content
from tests.api.play import serve, settings_for

CONFIG = Path(__file__).with_name("schemathesis.toml")


@pytest.fixture
def village_url(tmp_path: Path) -> Iterator[str]:
    """The sample village in Japanese, as a rehearsal, on a real uvicorn."""
    with serve(
        create_app(settings_for(tmp_path, bundled_content(), language="ja", llm={"provider": "rehearsal"}))
    ) as url:
        yield url


def run(url: str, directory: Path, *, examples: int, phases: str) -> None:
    """All checks; a finding fails with schemathesis's own report."""
    command = [
        *(
            str(Path(sys.executable).parent / "schemathesis"),
            "--config-file",
            str(CONFIG),
            "run",
            f"{url}/openapi.json",
        ),
        *("--checks", "all", "--phases", phases, "--max-examples", str(examples)),
        *("--seed", "7", "--generation-deterministic"),
        *("--request-timeout", "20", "--max-response-time", "15", "--workers", "1", "--no-color"),
    ]
    told = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=600, env={**os.environ, "NO_PROXY": "*"}
    )
    assert told.returncode == 0, told.stdout[-12_000:] + told.stderr[-2000:]


def test_schemathesis_finds_nothing(village_url: str, tmp_path: Path) -> None:
    run(village_url, tmp_path, examples=4, phases="examples,coverage,fuzzing")


@pytest.mark.server
def test_schemathesis_finds_nothing_in_a_longer_run(village_url: str, tmp_path: Path) -> None:
    run(village_url, tmp_path, examples=60, phases="examples,coverage,fuzzing,stateful")
