"""Tests that share a fixture run in one process, so that it is made once: seen with the runner that is installed."""

import os
import subprocess
import sys
from pathlib import Path

SHARING = """
import os
from pathlib import Path

import pytest

MADE = Path(__file__).with_name("made")


@pytest.fixture(scope="module")
def made():
    with MADE.open("a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + " ")


@pytest.mark.parametrize("number", range(8))
def test_shares(number, made):
    assert MADE.read_text().split() == [os.environ["PYTEST_XDIST_WORKER"]]
"""


def test_a_fixture_that_tests_of_a_module_share_is_made_once(tmp_path: Path) -> None:
    (tmp_path / "test_sharing.py").write_text(SHARING, encoding="utf-8")
    plugins = ("-p", "xdist", "-p", "tests.servers.together")
    in_two = ("-n", "2", "--dist", "loadgroup")
    ours = Path(__file__).parents[2]
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *in_two, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={**outside, "PYTHONPATH": str(ours), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "8 passed" in told.stdout
