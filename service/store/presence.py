"""Owns this process among those that share a database: that it lives, and what they tell each other.

PostgreSQL says who lives: each process keeps a connection with an advisory lock of its own, which ends with it. By the
same connection they send each other short messages (NOTIFY), which nobody keeps. A SQLite database is one process's:
there nobody is told anything.
"""

import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Hashable
from itertools import count
from threading import Thread
from typing import Any

from sqlalchemy import URL, Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

LOCK = 7203916
"""Namespace of PostgreSQL's advisory locks of the processes that live."""

PACE_SECONDS = 0.05
"""What a process tells goes together, so far apart: PostgreSQL lets one at a time commit a message."""

_SHOWS_SECONDS = 2.0
"""After so long in which nothing is told the connection is tried."""

_LONGEST = 7999
"""Characters of a message; PostgreSQL takes no longer one."""

# A machine that is cut off is gone after some ten seconds: by itself a server would wait for two hours. Who connects
# tells the others, for they may have missed what it had to tell. Messages need not outlive the server.
_BEGINS = """SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
SET synchronous_commit = off; LISTEN kataribe;
SELECT pg_try_advisory_lock({lock}, {process}), pg_notify('kataribe', '')"""
_TELLS = "SELECT pg_notify('kataribe', message) FROM unnest(%s::text[]) AS message"

_log = logging.getLogger(__name__)


class Presence:
    """This process, as the others see and hear it. A thread has its connection, and makes a lost one anew."""

    def __init__(self, url: URL) -> None:
        self.is_shared = url.get_backend_name() == "postgresql"
        """Whether there may be other processes."""
        self.hear: Callable[[str | None], object] = bool
        """Called in a thread with each message of another process; None: messages may have been lost."""
        self._engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._process = secrets.randbelow(2**31)
        self._numbers = count()
        self._untold: deque[tuple[Hashable, str]] = deque(maxlen=10_000)
        self._thread: Thread | None = None

    def new_holder(self) -> str:
        """A name under which a part of this process holds rows; others see that it lives, from now on until `close`.

        Raises:
            OperationalError: the database is away.
        """
        if self.is_shared and self._thread is None:
            self._thread = Thread(target=self._attend, args=(self._connected(),), daemon=True)
            self._thread.start()
        return f"{self._process}-{next(self._numbers)}"

    def tell(self, about: Hashable, message: str) -> None:
        """Tell all other processes soon, if the database answers. Of messages about the same the newest is told; one of
        more than 7,999 characters of ASCII is left out.
        """
        if len(message) <= _LONGEST:
            self._untold.append((about, message))

    def close(self) -> None:
        """Say nothing any more: what this process holds is everybody's."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_SHOWS_SECONDS)

    def _connected(self) -> Connection:
        connection = self._engine.connect()
        connection.exec_driver_sql(_BEGINS.format(lock=LOCK, process=self._process))
        return connection

    def _attend(self, connection: Connection | None) -> None:
        while self._thread is not None:
            try:
                connection = connection or self._connected()
                self._exchange(connection.connection.driver_connection)
            except (DBAPIError, self._engine.dialect.loaded_dbapi.Error) as exc:
                _log.warning("the connection to other processes is lost, and made anew: %s", exc)
                if connection is not None:
                    connection.invalidate()
                    connection = None
                time.sleep(_SHOWS_SECONDS / 4)
        if connection is not None:
            connection.close()

    def _exchange(self, driver: Any) -> None:
        """Tell and hear until the process closes."""
        self.hear(None)
        told = time.monotonic()
        while self._thread is not None:
            untold = [self._untold.popleft() for _ in range(len(self._untold))]
            newest = {about: place for place, (about, _) in enumerate(untold)}
            if untold or time.monotonic() - told > _SHOWS_SECONDS:
                driver.execute(_TELLS, [[untold[place][1] for place in sorted(newest.values())]])
                told = time.monotonic()
            for heard in driver.notifies(timeout=PACE_SECONDS):
                if heard.pid != driver.info.backend_pid:
                    self.hear(heard.payload or None)
