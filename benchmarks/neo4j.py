"""Starts the real Neo4j that the tests use, for benchmarks; built by ``mvn -q -B -f tests/neo4j-server package``."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.servers.neo4j import PROJECT, Neo4jServer

Neo4j = Callable[[], AbstractContextManager[Neo4jServer]]
"""Opens the server that is measured: one of its own, or one that runs already."""


class NotHere(Exception):
    """This machine has no Neo4j to measure; the message says how to get it."""


@contextmanager
def neo4j_server() -> Iterator[Neo4jServer]:
    """A fresh server with an empty database.

    Raises:
        NotHere: there is no Java, or the server was not built.
        RuntimeError: it did not start.
    """
    if shutil.which("java") is None or not (PROJECT / "target" / "neo4j-server.jar").exists():
        raise NotHere("needs Java 17 and: mvn -q -B -f tests/neo4j-server package")
    with tempfile.TemporaryDirectory(prefix="kataribe-bench-neo4j-") as directory:
        server = Neo4jServer(Path(directory))
        server.start()
        try:
            yield server
        finally:
            server.kill()  # its data goes with it
