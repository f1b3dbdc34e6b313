"""Owns the service as users run it: `kataribe serve` in a process of its own, which a test may stop or kill.

Such a process is a copy of one that has imported the service: to import it anew takes seconds of CPU, and most of what
a short command costs. That the installed command starts by itself is tested in `tests/packaging` and `tests/run`.
"""

import gc
import io
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from studio.cli import main as cli
from tests.servers import NO_AUTHORITIES
from tests.servers.postgres import free_port

KATARIBE = Path(sys.executable).parent / "kataribe"
START_SECONDS = 60


def environment(**settings: str) -> dict[str, str]:
    """The machine's environment without its Kataribe settings, and with these; nothing heavy is loaded."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("KATARIBE_", "OPENAI_"))}
    return {**own, "KATARIBE_EMBEDDING__PROVIDER": "none", "PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8", **settings}


def forked(work: Callable[..., None], *given: Any) -> ForkServerProcess:
    """Begin `work` in a new process, in which the service is imported already; it ends with the tests at the latest."""
    copies = multiprocessing.get_context("forkserver")
    copies.set_forkserver_preload(["tests.end_to_end.uncollected", __name__])
    process = copies.Process(target=_collected, args=(work, *given), daemon=True)
    process.start()
    return process


def _collected(work: Callable[..., None], *given: Any) -> None:
    """What was imported stays to the end: only what `work` makes is looked through."""
    gc.freeze()
    gc.enable()
    work(*given)


def start(
    directory: Path, arguments: tuple[str | Path, ...], settings: Mapping[str, str], out: Path, errors: Path
) -> ForkServerProcess:
    """`kataribe` with these arguments; what it says is added to the files `out` and `errors`, which may be one."""
    return forked(_be_kataribe, directory, arguments, environment(**settings), out, errors)


def _be_kataribe(
    directory: Path, arguments: tuple[str | Path, ...], variables: dict[str, str], out: Path, errors: Path
) -> None:
    _settle(directory, variables, out, errors)
    sys.argv = ["kataribe", *map(str, arguments)]
    cli.main()


def _settle(directory: Path, variables: dict[str, str], out: Path, errors: Path) -> None:
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(variables)
    for number, stream, path in ((1, sys.stdout, out), (2, sys.stderr, errors)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), number)
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(encoding="utf-8", write_through=True)


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that has ended."""

    returncode: int | None
    stdout: str
    stderr: str


def kataribe(directory: Path, *arguments: str | Path, **settings: str) -> Done:
    """Run `kataribe` to its end. Raises: AssertionError: it is not over after two minutes."""
    return _done(directory, lambda out, errors: start(directory, arguments, settings, out, errors))


def program(directory: Path, source: str, **settings: str) -> Done:
    """Run a Python program to its end. Raises: AssertionError: it is not over after two minutes."""
    return _done(directory, lambda *files: forked(_be_program, directory, source, environment(**settings), *files))


def _be_program(directory: Path, source: str, variables: dict[str, str], out: Path, errors: Path) -> None:
    _settle(directory, variables, out, errors)
    exec(compile(source, "program", "exec"), {"__name__": "__main__"})  # noqa: S102 - it is ours


def _done(directory: Path, begin: Callable[[Path, Path], ForkServerProcess]) -> Done:
    out, errors = directory / f"out-{time.monotonic_ns()}", directory / f"errors-{time.monotonic_ns()}"
    process = begin(out, errors)
    process.join(120)
    if process.is_alive():
        process.kill()
        raise AssertionError(f"it did not end\n{out.read_text('utf-8')}{errors.read_text('utf-8')}")
    told, wrong = (path.read_text("utf-8") for path in (out, errors))
    out.unlink()
    errors.unlink()
    return Done(returncode=process.exitcode, stdout=told, stderr=wrong)


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
        self.port = port or free_port()
        self._log = directory / f"log-{self.port}"
        command = ("serve", "--port", str(self.port), "--content", content, "--data", directory / data)
        self.process = start(directory, command, settings, self._log, self._log)
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}", timeout=30, trust_env=False, verify=NO_AUTHORITIES
        )

    @property
    def log(self) -> str:
        """What it has told so far."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

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
            assert self.process.is_alive(), self.log
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
        self.kill()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.join(10)

    def terminate(self) -> float:
        """SIGTERM; answers the seconds until it was gone."""
        begun = time.monotonic()
        self.process.terminate()
        self.process.join(20)
        assert not self.process.is_alive(), self.log
        return time.monotonic() - begun
