"""Starts the real Neo4j that the tests use, for benchmarks; built by ``mvn -q -B -f tests/neo4j-server package``."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.neo4j import Neo4jServer


@contextmanager
def neo4j_server() -> Iterator[Neo4jServer]:
    """A fresh server with an empty database.

    Raises:
        FileNotFoundError: there is no Java.
        RuntimeError: it did not start, for example because it was not built.
    """
    with tempfile.TemporaryDirectory(prefix="kataribe-bench-neo4j-") as directory:
        server = Neo4jServer(Path(directory))
        server.start()
        try:
            yield server
        finally:
            server.stop()
