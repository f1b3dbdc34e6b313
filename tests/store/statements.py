"""Owns the count of what a database is asked."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, event


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """What the database is asked meanwhile."""
    asked: list[str] = []

    def hear(*told: object) -> None:
        asked.append(str(told[2]))

    event.listen(engine, "before_cursor_execute", hear)
    yield asked
    event.remove(engine, "before_cursor_execute", hear)
