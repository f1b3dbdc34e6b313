"""Owns the tests of the log of what happened."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

from sqlmodel import Session, col

from service.store.event_kinds import Arrived, Slept
from service.store.events import events_after, flush_due, note, schedule_event
from service.store.session import Database
from service.store.tables import EventRow
from world.time import WorldTime


def _note(session: Session, number: int, world_id: str = "main", person_id: str | None = None) -> None:
    note(session, world_id, WorldTime(number), Slept(cleared=number), person_id)


def _page(database: Database, after: int, limit: int, **only: str) -> list[EventRow]:
    which = (col(getattr(EventRow, name)) == value for name, value in only.items())
    return database.read_now(lambda s: events_after(s, "main", after, limit, *which))


def test_a_reader_who_pages_misses_no_event_of_a_slower_writer(database: Database) -> None:
    """An event that is committed later must not get a smaller id than one that can be read already."""
    noted, read = threading.Event(), threading.Event()

    def slow(session: Session) -> None:
        _note(session, 1)
        session.flush()
        noted.set()
        read.wait(5)

    with ThreadPoolExecutor(2) as threads:
        threads.submit(database.write_now, slow)
        noted.wait(5)
        second = threads.submit(database.write_now, lambda s: _note(s, 2))
        wait([second], timeout=0.2)
        early = _page(database, 0, 9)
        read.set()
    late = _page(database, early[-1].id if early else 0, 9)
    assert [event.data["cleared"] for event in (*early, *late)] == [1, 2]


def test_ids_count_a_worlds_own_events_from_one(database: Database) -> None:
    for number in range(3):
        database.write_now(partial(_note, number=number))
        database.write_now(partial(_note, number=number, world_id="other"))
    assert [event.id for event in _page(database, 0, 9)] == [1, 2, 3]


def test_events_that_were_scheduled_go_on_where_the_log_ends(database: Database) -> None:
    def work(session: Session) -> None:
        note(session, "main", WorldTime(1), Slept(cleared=0), "mio")
        for at, person_id in ((4, "aoi"), (3, "mio"), (3, "aoi"), (9, "aoi")):
            schedule_event(session, "main", WorldTime(at), Arrived(node_id="quay"), person_id)
        flush_due(session, "main", WorldTime(5))
        note(session, "main", WorldTime(5), Slept(cleared=0), "mio")

    database.write_now(work)
    told = [(event.id, event.at, event.person_id) for event in _page(database, 0, 9)]
    assert told == [(1, 1, "mio"), (2, 3, "aoi"), (3, 3, "mio"), (4, 4, "aoi"), (5, 5, "mio")]


def test_many_writers_at_once_get_an_id_each(database: Database) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: database.write_now(partial(_note, number=number)), range(20)))
    assert [event.id for event in _page(database, 0, 99)] == list(range(1, 21))
