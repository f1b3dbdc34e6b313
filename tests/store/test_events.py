"""Owns the tests of the log of what happened."""

import threading
from concurrent.futures import ThreadPoolExecutor

from sqlmodel import Session

from service.store.events import events_after, note
from service.store.session import Database
from service.store.tables import EventRow
from world.time import WorldTime


def _note(session: Session, number: int, world_id: str = "main", kind: str = "x", person_id: str | None = None) -> None:
    note(session, world_id, WorldTime(number), kind, person_id, number=number)


def _page(database: Database, after: int, limit: int, **only: str) -> list[EventRow]:
    return database.read_now(lambda s: events_after(s, "main", after, limit, **only))


def test_pages_follow_each_other_without_gap_or_repetition(database: Database) -> None:
    for number in range(7):
        database.write_now(lambda s, n=number: _note(s, n, kind="even" if n % 2 == 0 else "odd"))  # type: ignore[misc]
        database.write_now(lambda s: _note(s, 99, world_id="other"))
    seen: list[int] = []
    after = 0
    while page := _page(database, after, 3):
        assert len(page) <= 3
        seen += [event.data["number"] for event in page]
        after = page[-1].id or 0
    assert seen == list(range(7))


def test_events_can_be_asked_for_by_kind_and_person(database: Database) -> None:
    def work(session: Session) -> None:
        _note(session, 1, kind="slept", person_id="aoi")
        _note(session, 2, kind="slept", person_id="mio")
        _note(session, 3, kind="departed", person_id="aoi")

    database.write_now(work)
    assert [event.data["number"] for event in _page(database, 0, 9, kind="slept")] == [1, 2]
    assert [event.data["number"] for event in _page(database, 0, 9, person_id="aoi")] == [1, 3]
    assert [event.data["number"] for event in _page(database, 0, 9, kind="slept", person_id="aoi")] == [1]


def test_a_reader_who_pages_misses_no_event_of_a_slower_writer(database: Database) -> None:
    """An event that is committed later must not get a smaller id than one that can be read already."""
    noted, read = threading.Event(), threading.Event()

    def slow(session: Session) -> None:
        _note(session, 1)
        session.flush()
        noted.set()
        read.wait(0.3)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(database.write_now, slow)
        noted.wait(5)
        second = threads.submit(database.write_now, lambda s: _note(s, 2))
        page = [event for _ in range(10) if not read.wait(0.01) for event in _page(database, 0, 9)]
        seen = page[-1].id or 0 if page else 0
        read.set()
        first.result(5)
        second.result(5)
    late = [event.data["number"] for event in _page(database, seen, 9)]
    assert [event.data["number"] for event in page[-1:]] + late in ([1, 2], [2, 1][:0] or [1, 2])
