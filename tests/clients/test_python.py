"""A Python client is made of the description that a running service answers, and a small game plays with it.

The tool has an environment of its own: what it needs is not what the service needs (see .ci/run).
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from service.content.files import bundled_content
from tests.api.play import serve, settings_for
from tests.servers import missing

HERE = Path(__file__).parent
TOOLS = HERE / ".venv" / "bin"


@pytest.fixture
def village_url(tmp_path: Path) -> Iterator[str]:
    """The sample village, as a rehearsal, on a real uvicorn."""
    with serve(create_app(settings_for(tmp_path, bundled_content(), llm={"provider": "rehearsal"}))) as url:
        yield url


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """What it prints; it must end well."""
    told = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, env={**os.environ, "NO_PROXY": "*", **env}
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


@pytest.mark.server
def test_a_game_plays_with_the_client_that_is_made_of_the_description(village_url: str, tmp_path: Path) -> None:
    if not (TOOLS / "openapi-python-client").exists():
        missing("openapi-python-client: docs/development.md says how to get it")
    described = httpx.get(f"{village_url}/openapi.json", trust_env=False, timeout=60)
    (tmp_path / "openapi.json").write_text(described.text, encoding="utf-8")
    (tmp_path / "config.yaml").write_text("post_hooks: []\n", encoding="utf-8")  # it is run, not read
    make = ("generate", "--path", "openapi.json", "--config", "config.yaml", "--meta", "none", "--fail-on-warning")
    run(TOOLS / "openapi-python-client", *make, "--output-path", "kataribe_client", cwd=tmp_path)
    told: dict[str, Any] = json.loads(
        run(TOOLS / "python", HERE / "program.py", village_url, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    )
    assert told["phase"] == "closed"
    assert {"aoi", "npc_taro"} == set(told["said_by"])
    assert "aoi" in told["arrived"]
    assert told["met"] == 1
    assert told["remembered"]
