"""Owns the tests of the lock on a data directory."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from service.errors import Misconfigured
from service.store.session import DataLock

HOLD = """
import pathlib, sys
from service.store.session import DataLock
lock = DataLock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        with pytest.raises(Misconfigured) as refused:
            DataLock(tmp_path)
        assert refused.value.facts["setting"] == "KATARIBE_DATA_DIR"
        assert "another process" in str(refused.value.facts["reason"])
        assert (tmp_path / "lock").read_text() == f"{first.pid}\n"
        os.kill(first.pid, signal.SIGKILL)
        first.wait(10)
    lock = DataLock(tmp_path)
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    lock.close()


def test_a_lock_let_go_can_be_taken_again(tmp_path: Path) -> None:
    DataLock(tmp_path / "new").close()
    DataLock(tmp_path / "new").close()


def test_two_directories_are_two_locks(tmp_path: Path) -> None:
    one, two = DataLock(tmp_path / "one"), DataLock(tmp_path / "two")
    one.close()
    two.close()


def test_a_directory_that_cannot_be_made_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(Misconfigured) as refused:
        DataLock(tmp_path / "file" / "data")
    assert refused.value.facts["setting"] == "KATARIBE_DATA_DIR"
