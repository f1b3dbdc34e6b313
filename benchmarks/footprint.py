"""Measures how much of the house a request goes through: functions and files of ours, and statements of SQL.

In the bundled village, with the scripted model of `tests.freeze`, on SQLite: a conversation from its start until it is
remembered, a recall of it, and an hour in which six characters live by their model and two by routine.
"""

import sqlite3
import sqlite3.dbapi2
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fastapi.testclient import TestClient

import service
import world
from service.app import create_app
from service.llm.choose import ROLES, Models
from service.settings import Settings
from tests.freeze.calls import promised
from tests.freeze.day import BY_ROUTINE
from tests.freeze.script import Script

ROUNDS = 3
"""Each in a world of its own; the median is shown, for which thread is first differs."""
REST_SECONDS = 0.5
"""After a call: what it has left to do in the background belongs to it."""
LIVED_BEFORE = 120
"""Minutes that have passed when the measured hour begins."""
_READS = ("SELECT", "WITH")
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


@dataclass(kw_only=True)
class Trace:
    """What is called and asked while it is on. Lambdas and comprehensions are part of the function around them."""

    roots: tuple[Path, ...]
    on: bool = False
    called: set[CodeType] = field(default_factory=set)
    statements: list[str] = field(default_factory=list)
    _last: dict[int, str] = field(default_factory=dict)
    """what SQLite ran last, by thread"""
    _ours: dict[CodeType, bool] = field(default_factory=dict)

    def figures(self, name: str) -> dict[str, float]:
        """Functions and files, statements that read and that write, and transactions of every SQLite database."""
        words = [statement.split(None, 1)[0].upper() for statement in self.statements]
        return {
            f"{name}_functions": len(self.called),
            f"{name}_files": len({code.co_filename for code in self.called}),
            f"{name}_reads": sum(word in _READS for word in words),
            f"{name}_writes": sum(word in _WRITES for word in words),
            f"{name}_transactions": sum(word == "BEGIN" for word in words),
        }

    def profile(self, frame: FrameType, event: str, arg: object) -> None:
        """Note a call of one of our functions; for `sys.setprofile`."""
        if self.on and event == "call" and self._is_ours(frame.f_code):
            self.called.add(frame.f_code)

    def sql(self, statement: str) -> None:
        """Note a statement. What SQLite does by itself for its full text is told as a comment; for each row that has a
        trigger (see `keep_what_changes`), Python is told the statement again that changed the row.
        """
        thread = threading.get_ident()
        is_again = statement == self._last.get(thread) and statement.lstrip().upper().startswith(_WRITES)
        self._last[thread] = statement
        if self.on and not is_again and not statement.startswith("--"):
            self.statements.append(statement)

    def _is_ours(self, code: CodeType) -> bool:
        known = self._ours.get(code)
        if known is None:
            here = Path(code.co_filename)
            named = not code.co_name.startswith("<")
            known = self._ours[code] = named and any(here.is_relative_to(root) for root in self.roots)
        return known


def run(*, times: int = ROUNDS, lived_before: int = LIVED_BEFORE) -> dict[str, float]:
    """Figures ``start|recall|hour_functions|files|reads|writes|transactions``."""
    rounds = [{**_conversation(), **_hour(lived_before)} for _ in range(times)]
    return {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}


@contextmanager
def tracing(roots: Sequence[Path]) -> Iterator[Trace]:
    """A trace, off at first, of all threads and SQLite connections that are opened from here on."""
    trace, connect = Trace(roots=tuple(roots)), sqlite3.connect

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(trace.sql)
        return connection

    sqlite3.connect = sqlite3.dbapi2.connect = traced  # type: ignore[assignment] # called alike
    threading.setprofile(trace.profile)
    sys.setprofile(trace.profile)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        sqlite3.connect = sqlite3.dbapi2.connect = connect


def _conversation() -> dict[str, float]:
    """README's calls, of which the start and the recall are measured."""
    figures: dict[str, float] = {}
    with _served() as (client, trace):
        for call in promised("en"):
            trace.on = True
            client.request(call.method, call.path, params=call.query, json=call.body).raise_for_status()
            time.sleep(REST_SECONDS)
            trace.on = False
            if call.name in ("start", "memory"):
                figures |= trace.figures("recall" if call.name == "memory" else "start")
            trace.called.clear()
            trace.statements.clear()
    return figures


def _hour(lived_before: int) -> dict[str, float]:
    with _served() as (client, trace):
        for character_id in BY_ROUTINE:
            client.patch(f"/characters/{character_id}", json={"decision": "routine"}).raise_for_status()
        client.post("/world/tick", json={"ticks": lived_before}).raise_for_status()
        trace.on = True
        client.post("/world/tick", json={"ticks": 60}).raise_for_status()
        trace.on = False
        return trace.figures("hour")


@contextmanager
def _served() -> Iterator[tuple[TestClient, Trace]]:
    roots = [Path(str(package.__file__)).parent for package in (service, world)]
    with tempfile.TemporaryDirectory() as directory, tracing(roots) as trace:
        settings = Settings(
            _env_file=None,
            data_dir=Path(directory),
            allowed_hosts=["testserver"],
            embedding={"provider": "none"},
            memory={"verify": False},
            world={"language": "en", "table": 2},  # as when the house began
        )
        with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, Script())))) as client:
            yield client, trace
