"""Owns the real Neo4j of the tests: its process, its data directory, and the fixture that starts it once a session."""

import os
import secrets
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent / "neo4j-server"
START_SECONDS = 240.0
STOP_SECONDS = 30.0


class Neo4jServer:
    """One Neo4j Community server on loopback. The data directory outlives `kill`, as a machine's disk would."""

    user = "neo4j"
    database = "neo4j"

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.password = secrets.token_urlsafe(12)
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def uri(self) -> str:
        """Where it listens; the same after a restart."""
        return f"bolt://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int | None:
        """Process id, or None while it does not run."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start and wait until Bolt answers with the password set.

        Raises:
            RuntimeError: it did not come up within `START_SECONDS`; the end of its log is in the message.
        """
        log = self.data_dir / "server.log"
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                [
                    "java",
                    "-Xmx512m",
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",  # it lives for minutes: a quick start is worth more than quick code
                    *_OPENS,
                    "-cp",
                    _classpath(),
                    "Neo4jServer",
                    str(self.data_dir),
                    str(self._port),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "NEO4J_TEST_PASSWORD": self.password},
            )
        answer = self._read_line(START_SECONDS)
        if not answer.startswith("READY "):
            self.kill()
            raise RuntimeError(f"Neo4j did not start: {answer!r}\n{log.read_text()[-2000:]}")
        self._port = int(answer.removeprefix("READY "))

    def stop(self) -> None:
        """Stop cleanly (SIGTERM); a server that does not run is left alone."""
        if self._process is not None:
            self._process.terminate()
            self._wait()

    def kill(self) -> None:
        """kill -9, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._wait()

    def _wait(self) -> None:
        process = self._process
        assert process is not None
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None

    def _read_line(self, seconds: float) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], seconds)
        return self._process.stdout.readline().strip() if readable else "no answer"


# Lucene and Neo4j's storage reach into the JDK for memory mapping; without these they warn or fail on Java 17.
_OPENS = [
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
]


def _classpath() -> str:
    target = PROJECT / "target"
    return f"{target / 'neo4j-server.jar'}{os.pathsep}{target / 'dependency'}{os.sep}*"


def require_neo4j() -> None:
    """Skip the test where Neo4j cannot be run; fail in CI, where it must."""
    if shutil.which("java") is None:
        reason = "needs Java 17 or later"
    elif not (PROJECT / "target" / "neo4j-server.jar").exists():
        reason = "needs Neo4j, built by: mvn -q -B -f tests/neo4j-server package"
    else:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def neo4j_server() -> Iterator[Neo4jServer]:
    """A running server with an empty database, one for the whole session."""
    require_neo4j()
    with tempfile.TemporaryDirectory(prefix="kataribe-neo4j-") as directory:
        server = Neo4jServer(Path(directory))
        server.start()
        try:
            yield server
        finally:
            server.kill()  # its data goes with it
