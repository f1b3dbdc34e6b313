"""A footprint holds our functions that are called, in any thread, and what is asked of any SQLite database."""

import sqlite3
import threading
from pathlib import Path

import world
from benchmarks.footprint import tracing
from world.time import iso, parse_time


def test_our_functions_and_all_statements_are_counted_while_it_is_on(tmp_path: Path) -> None:
    def work() -> None:
        connection = sqlite3.connect(tmp_path / "some.db", isolation_level=None)
        connection.execute("CREATE TABLE t (id INTEGER)")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
        connection.execute("COMMIT")
        assert list(connection.execute("SELECT id FROM t")) == [(1,), (2,)]
        connection.close()
        iso(parse_time("2026-04-01T07:00"))

    untouched = sqlite3.connect
    with tracing([Path(str(world.__file__)).parent]) as trace:
        work_off = threading.Thread(target=iso, args=(parse_time("2026-04-01T07:00"),))
        work_off.start()
        work_off.join()
        assert trace.figures("off")["off_functions"] == 0
        trace.on = True
        working = threading.Thread(target=work)
        working.start()
        working.join()
        trace.on = False
    assert {code.co_name for code in trace.called} >= {"iso", "parse_time"}
    assert {Path(code.co_filename).name for code in trace.called} == {"time.py"}
    figures = trace.figures("work")
    assert (figures["work_reads"], figures["work_writes"], figures["work_transactions"]) == (1, 2, 1)
    assert sqlite3.connect is untouched
