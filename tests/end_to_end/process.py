"""Owns the service as users run it: `kataribe serve` in a process of its own, which a test may stop or kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

import httpx

from tests.servers.postgres import free_port

KATARIBE = Path(sys.executable).parent / "kataribe"
START_SECONDS = 60


def environment(**settings: str) -> dict[str, str]:
    """The machine's environment without its Kataribe settings, and with these; nothing heavy is loaded."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("KATARIBE_", "OPENAI_"))}
    return {**own, "KATARIBE_EMBEDDING__PROVIDER": "none", "PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8", **settings}


class Service:
    """One process that serves `data`; a context manager that waits until it answers. `client` talks to it. `port`: that
    of one that was killed, which its clients know.
    """

    def __init__(
        self,
        directory: Path,
        content: Path,
        settings: Mapping[str, str],
        *,
        data: str = "data",
        port: int | None = None,
    ) -> None:
        self._directory = directory
        self.port = port or free_port()
        self._log: IO[bytes] = (directory / f"log-{self.port}").open("ab")
        command: list[str | Path] = [
            KATARIBE,
            "serve",
            "--port",
            str(self.port),
            "--content",
            content,
            "--data",
            directory / data,
        ]
        self.process = subprocess.Popen(
            command, cwd=directory, env=environment(**settings), stdout=self._log, stderr=subprocess.STDOUT
        )
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30, trust_env=False)

    @property
    def log(self) -> str:
        """What it has told so far."""
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> "Service":
        try:
            self._wait()
        except BaseException:
            self.__exit__(None, None, None)  # who does not get in is not let out: the process would stay
            raise
        return self

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, f"it did not start\n{self.log}"
            try:
                self.client.get("/healthz")
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self._log.close()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait(10)

    def terminate(self) -> float:
        """SIGTERM; answers the seconds until it was gone. Raises: TimeoutExpired: it stayed."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        return time.monotonic() - begun
