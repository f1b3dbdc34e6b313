"""Owns the way between a store and a file: which database, who may use it at the same time, and what is left on an
error.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlmodel import Session

from service.errors import BadWorldName, Misconfigured, NoSuchTime, NoSuchWorld, usable
from service.export.story import Imported, StorySpan, read_story, story, written
from service.locales import Language
from service.settings import Settings
from service.store.session import Database, one_picture, store_lock, unopenable
from world.errors import BadWorldTime
from world.ids import is_slug
from world.time import MINUTES_PER_DAY, WorldTime, parse_time


def world_name(text: str) -> str:
    """The id of a world, as a user types it. Raises: BadWorldName."""
    if not is_slug(text):
        raise BadWorldName(value=text)
    return text


def span_of(day: str | None, since: str | None, until: str | None, *, day_starts: int) -> StorySpan:
    """The span that the options of the command line name. A world day begins `day_starts` minutes after midnight.

    Raises:
        NoSuchTime: an option is no date or time.
    """
    if day is not None:
        begins = WorldTime(named_time("--day", day) // MINUTES_PER_DAY * MINUTES_PER_DAY + day_starts)
        return StorySpan(since=begins, until=WorldTime(begins + MINUTES_PER_DAY))
    return StorySpan(
        since=None if since is None else named_time("--from", since),
        until=None if until is None else named_time("--to", until),
    )


def export_into(
    settings: Settings, world_id: str, names: Mapping[Language, str], span: StorySpan, out: BinaryIO
) -> int:
    """Write the story of a world as it stands; the service may run meanwhile. Answers the number of lines.

    Raises:
        NoSuchWorld, NothingThen: as `story`.
        Misconfigured: the database cannot be opened.
    """
    place = store_place(settings)

    def work(session: Session) -> int:
        one_picture(session)
        count = 0
        for line in story(session, world_id, names, span, place=place):
            out.write(written(line))
            count += 1
        return count

    with written_before(settings, world_id) as database:
        return database.read_now(work)


def export_to(settings: Settings, world_id: str, names: Mapping[Language, str], span: StorySpan, file: Path) -> int:
    """The same into a file, which is there wholly or not at all.

    Raises:
        FileUnusable: it cannot be written.
    """
    with whole_file(file) as out:
        return export_into(settings, world_id, names, span, out)


@contextmanager
def whole_file(file: Path) -> Iterator[BinaryIO]:
    """What is written becomes the file when all of it was; else the file stays as it was, or away.

    Raises:
        FileUnusable: it cannot be written.
    """
    part = file.with_name(f".{file.name}.part")
    with usable(file):
        try:
            with part.open("wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            os.replace(part, file)
        finally:
            part.unlink(missing_ok=True)


def import_from(settings: Settings, world_id: str, file: Path) -> Imported:
    """Read a story into a world that has not lived: all of it or nothing. No service may serve the store meanwhile.

    Raises:
        BadLine, WorldHasLived: as `read_story`.
        FileUnusable: it cannot be read.
        Misconfigured: another process serves the data directory, or the database cannot be opened.
    """
    with usable(file), store_lock(settings), opened(settings) as database:
        database.migrate()
        return database.write_now(lambda s: read_file(s, world_id, file))


def read_file(session: Session, world_id: str, file: Path) -> Imported:
    """As `read_story`, from a file. Raises: OSError: it cannot be read."""
    with file.open("rb") as lines:
        return read_story(session, world_id, file, lines)


def store_place(settings: Settings) -> str:
    """What the store is called for people; a database's URL may hold a password."""
    return "KATARIBE_DATABASE_URL" if settings.database_url else str(settings.data_dir)


@contextmanager
def written_before(settings: Settings, world_id: str) -> Iterator[Database]:
    """A store that is there, with this version's tables; a service may run on it.

    Raises:
        NoSuchWorld: there is none, and so no such world.
        Misconfigured: it cannot be opened.
    """
    if is_missing(settings):
        raise NoSuchWorld(kind="world", id=world_id, place=store_place(settings))
    _bring_up_to_date(settings)
    with opened(settings) as database:
        yield database


def _bring_up_to_date(settings: Settings) -> None:
    """A store of an older version gets this one's tables, unless a service runs on it, which has done so already."""
    try:
        lock = store_lock(settings)
    except Misconfigured:
        return
    with lock, opened(settings) as database:
        database.migrate()


@contextmanager
def opened(settings: Settings) -> Iterator[Database]:
    """The database as it is. Raises: Misconfigured: it cannot be opened."""
    try:
        with closing(Database(settings.store_url)) as database:
            yield database
    except OperationalError as exc:
        raise unopenable(exc) from exc


def is_missing(settings: Settings) -> bool:
    """Whether there is no such file of SQLite's: opening it would make it."""
    try:
        file = make_url(settings.store_url).database
    except ArgumentError:
        return False  # whoever opens it says so
    return settings.is_sqlite and file is not None and not Path(file).exists()


def named_time(option: str, value: str) -> WorldTime:
    """The world time that an option of the command line names. Raises: NoSuchTime."""
    try:
        return parse_time(value)
    except BadWorldTime as exc:
        raise NoSuchTime(option=option, value=value) from exc
