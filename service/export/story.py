"""Owns the story of a world as lines, read from the store a few rows at a time, and written into a world that has not
lived. One JSON object a line: the first is the `Header`, every other one a `RowLine`, table by table in the order in
which `store/tables.py` declares them, within a table by primary key.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, ValidationError
from sqlalchemy.exc import DataError, IntegrityError
from sqlmodel import Session, col, func, select

from service.content.fields import Key, Slug, key_path, mismatch, reason_of, refusal
from service.content.made import read_made
from service.errors import BadLine, NoSuchWorld, NothingThen, ProfileWrong, WorldHasLived
from service.locales import Language, Phrase, languages
from service.memory.record import Group, expect_vectors, next_epoch
from service.people.worlds import count_people_revision
from service.store.event_kinds import KINDS, payload_of
from service.store.events import hear_of_world
from service.store.insert import insert_rows
from service.store.phase import Audience, ClockPolicy, Phase
from service.store.policy import TABLES, GoesWith, Policy, exported
from service.store.tables import ConversationRow, EventRow, MadePersonRow, MovementRow, PersonRow, WorldRow
from service.store.world_rows import Row
from world.errors import BadWorldTime
from world.ids import is_slug
from world.time import WorldTime, iso, parse_time


class UnreadableLine(ValueError):
    """A line whose content makes no sense. Whoever knows the line makes it a BadLine."""

    def __init__(self, reason: Phrase) -> None:
        super().__init__(reason)
        self.reason = reason


def _no_id(key: Key, value: str) -> UnreadableLine:
    """The error that what was written at that key is no id."""
    return UnreadableLine(mismatch("slug", key_path(key), value))


FORMAT = 5
"""The version of the format; a reader refuses any other."""


def _minute(value: object) -> object:
    try:
        if isinstance(value, str) and iso(parse_time(value)) == value:
            return parse_time(value)
    except BadWorldTime:
        pass
    raise refusal("world_time")


Minute = Annotated[int, BeforeValidator(_minute), PlainSerializer(lambda t: iso(WorldTime(t)))]
"""A world time, as text: ``2026-04-01T07:30``."""


class StoryLine(BaseModel, extra="forbid", strict=True, frozen=True):
    """A line of the file."""


class Header(StoryLine, serialize_by_alias=True):
    """The story is all that happened `since` .. `until` in a world of that name; keys ``from`` and ``to``."""

    type: Literal["kataribe"] = "kataribe"
    version: int = FORMAT
    world_id: Slug
    name: str
    language: Language
    since: Minute = Field(alias="from")
    until: Minute = Field(alias="to")


class RowLine(StoryLine):
    """A row of that table, with its columns as they are; times are minutes."""

    table: str
    row: dict[str, Any]


def written(line: BaseModel) -> bytes:
    """The line as it stands in the file, its end included."""
    record = line.model_dump()
    try:
        return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except UnicodeEncodeError:  # half of a letter, as a model may write it: only its escape can be written
        return (json.dumps(record, allow_nan=False) + "\n").encode()


def parsed(line: bytes) -> dict[str, Any]:
    """The object in a line.

    Raises:
        UnreadableLine: there is none.
    """
    try:
        record = json.loads(line, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as exc:
        raise UnreadableLine(Phrase("export.no_json", reason=str(exc) or type(exc).__name__)) from exc
    if not isinstance(record, dict):
        raise UnreadableLine(Phrase("export.no_object"))
    return record


@contextmanager
def telling(file: Path, line: int) -> Iterator[None]:
    """Whatever is wrong with that line is told with its place. Raises: BadLine."""
    try:
        yield
    except ValidationError as exc:
        raise BadLine(file=str(file), line=line, reason=reason_of(exc)) from exc
    except (IntegrityError, DataError, OverflowError) as exc:
        raise BadLine(file=str(file), line=line, reason=Phrase("export.no_place")) from exc
    except UnreadableLine as exc:
        raise BadLine(file=str(file), line=line, reason=exc.reason) from exc


def require_ids(data: object, key: Key) -> None:
    """Of an event's data, which stands at that key, what is named ``…_id`` is an id.

    Raises:
        UnreadableLine: it is none.
    """
    for name, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        place = (*key, name)
        if isinstance(name, str) and name.endswith("_id") and isinstance(value, str) and not is_slug(value):
            raise _no_id(place, value)
        require_ids(value, place)


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(digits)
    return number


ROWS = 500
"""How many rows are held in memory at once."""

_OVER_AT: sa.ColumnElement[int] = func.coalesce(col(ConversationRow.closed_at), col(ConversationRow.ended_at))
"""When a conversation was over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StorySpan:
    """World times: from `since` until before `until`; None: from the world's beginning, up to its clock and with it."""

    since: WorldTime | None = None
    until: WorldTime | None = None


def story(
    session: Session, world_id: str, names: Mapping[Language, str], span: StorySpan, *, place: str
) -> Iterator[BaseModel]:
    """The header, then the rows of the world, as they stand: all of them, or those that came to be within the span.

    What the world has worked out ahead of its clock, what is of the moment, and conversations that are not over, are
    left out. `names`: what the world is called; `place` names the store for people.

    Raises:
        NoSuchWorld: it has not begun.
        NothingThen: the span has nothing in common with what the world has lived.
    """
    world = session.get(WorldRow, world_id)
    if world is None:
        raise NoSuchWorld(kind="world", id=world_id, place=place)
    since = max(world.started_at, world.started_at if span.since is None else span.since)
    before = world.now + 1 if span.until is None else min(span.until, world.now + 1)
    if since >= before:
        raise NothingThen(
            since=iso(WorldTime(since)) if span.since is None else iso(span.since),
            until=iso(WorldTime(before)) if span.until is None else iso(span.until),
            begun=iso(WorldTime(world.started_at)),
            now=iso(WorldTime(world.now)),
        )
    language = world.language if world.language in languages() else "en"
    lived: dict[str, Any] = {"from": since, "to": min(before, world.now)}
    yield Header.model_construct(world_id=world_id, name=names[language], language=language, **lived)
    over = [_is_over(world), before > _OVER_AT]
    if span.since is not None:
        over.append(since <= _OVER_AT)
    talks = select(ConversationRow.id).where(ConversationRow.world_id == world_id)
    told, others = talks.where(*over), talks.where(~sa.and_(*over))
    for table, policy in exported():
        where = [table.c.world_id == world_id, *(table.c[name] != value for name, value in policy.unexported.items())]
        if policy.conversation is not None:
            where.append(table.c[policy.conversation].is_(None) | table.c[policy.conversation].not_in(others))
        if policy.known is not None:
            where.append(table.c[policy.known] < before)
            if span.since is not None:
                of_told = [table.c[policy.conversation].in_(told)] if policy.conversation is not None else []
                where.append(sa.or_(table.c[policy.known] >= since, *of_told))
        yield from rows_of(session, table, policy.columns_of(table), where)


def rows_of(
    session: Session,
    table: sa.Table,
    columns: Iterable[sa.ColumnElement[Any]],
    where: Iterable[sa.ColumnElement[bool]] = (),
) -> Iterator[RowLine]:
    """Rows of the table with these columns, in the order of their primary key; letters by their codes, as SQLite does,
    wherever the database is.
    """
    bytewise = "BINARY" if session.get_bind().dialect.name == "sqlite" else "C"
    key = (sa.collate(one, bytewise) if isinstance(one.type, sa.String) else one for one in table.primary_key)
    query = sa.select(*columns).where(*where).order_by(*key)
    for row in session.execute(query.execution_options(yield_per=ROWS)):
        yield RowLine(table=table.name, row=dict(row._mapping))


def _is_over(world: WorldRow) -> sa.ColumnElement[bool]:
    """Of conversations. What the living world ends in the minute its clock shows is told when that minute is over."""
    by_client = col(ConversationRow.clock_policy) == ClockPolicy.NONE
    is_over = col(ConversationRow.phase).in_([Phase.CLOSED, Phase.CLOSING_FAILED])
    return is_over & ((world.now > _OVER_AT) | (by_client & (world.now == _OVER_AT)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """How much of a story was read."""

    events: int
    conversations: int


def read_story(session: Session, world_id: str, file: Path, lines: Iterable[bytes]) -> Imported:
    """Write a story into a world that has not lived; the caller commits. The world's clock then stands where it ends.

    Raises:
        BadLine: a line is not as `service.export.story` says.
        WorldHasLived.
    """
    require_new(session, world_id)
    return _Reader(session, world_id, file).read(iter(lines))


def require_new(session: Session, world_id: str) -> None:
    """Raises: WorldHasLived."""
    row = session.get(WorldRow, world_id)
    lived = any(
        session.exec(select(table.world_id).where(table.world_id == world_id).limit(1)).first() is not None
        for table in (EventRow, ConversationRow, PersonRow, MovementRow)
    )
    if lived or (row is not None and row.now != row.started_at):
        raise WorldHasLived(world_id=world_id)


class _Reader:
    def __init__(self, session: Session, world_id: str, file: Path) -> None:
        self._session = session
        self._world_id = world_id
        self._file = file
        self._told_of_world: dict[str, Any] = {"weather": "", "flags": {}, "notices": []}
        self._people: set[str] = set()
        self._tables = {table.name: (table, policy) for table, policy in exported()}

    def read(self, lines: Iterator[bytes]) -> Imported:
        with telling(self._file, 1):
            header = self._begin(next(lines, b""))
        read: Counter[str] = Counter()
        for number, raw in enumerate(lines, 2):
            with telling(self._file, number):
                line = RowLine.model_validate(parsed(raw))
                self._put(line, header)
            read[line.table] += line.row.get("audience") != Audience.AUTHOR
        self._session.get_one(WorldRow, self._world_id).sqlmodel_update(self._told_of_world)
        for person_id in sorted(self._people):
            group = Group(world_id=self._world_id, person_id=person_id)
            next_epoch(self._session, group)
            expect_vectors(self._session, group)
        return Imported(events=read["events"], conversations=read["conversations"])

    def _begin(self, line: bytes) -> Header:
        record = parsed(line)
        if record.get("type") != "kataribe":
            raise UnreadableLine(Phrase("export.no_export"))
        version = record.get("version")
        if version != FORMAT:
            key = "export.older" if version in range(1, FORMAT) else "export.version"
            raise UnreadableLine(Phrase(key, version=version, known=FORMAT))
        header = Header.model_validate(record)
        if header.since > header.until:
            raise UnreadableLine(Phrase("export.from_after_to"))
        row = self._session.get(WorldRow, self._world_id) or WorldRow(
            id=self._world_id, language="", started_at=0, now=0
        )
        row.language, row.started_at, row.now, row.target = header.language, header.since, header.until, None
        self._session.add(row)
        self._session.flush()
        return header

    def _put(self, line: RowLine, header: Header) -> None:
        """What of it belongs to a person's memory is read, and gets its vectors, anew."""
        if line.table not in self._tables:
            raise UnreadableLine(Phrase("export.table", table=line.table, known=", ".join(self._tables)))
        table, policy = self._tables[line.table]
        _check_columns(line.row, policy, {column.name for column in policy.columns_of(table)})
        row = TABLES[line.table].model_validate({**line.row, "world_id": self._world_id, "revision": 0}, strict=True)
        if policy.known is not None and getattr(row, policy.known) > header.until:
            raise UnreadableLine(Phrase("export.not_within"))
        if isinstance(row, EventRow):
            self._hear(row)
        elif isinstance(row, MadePersonRow):
            self._make(row)
        insert_rows(self._session, [row])
        if policy.goes == GoesWith.MEMORY:
            self._people.add(line.row[policy.whose or ""])

    def _hear(self, row: EventRow) -> None:
        if row.audience == Audience.AUTHOR:
            return
        if row.kind not in KINDS or row.audience != Audience.WORLD:
            raise UnreadableLine(Phrase("export.kind", kind=row.kind, known=", ".join(KINDS)))
        require_ids(row.data, ("data",))
        payload_of(row.kind, row.data)
        hear_of_world(self._told_of_world, row.at, row.kind, row.data)

    def _make(self, row: MadePersonRow) -> None:
        try:
            profile = {**parsed(row.profile.encode()), "kind": row.kind}
            row.profile = read_made(row.person_id, json.dumps(profile).encode()).profile
        except ProfileWrong as exc:
            raise UnreadableLine(exc.found[0].reason) from exc
        count_people_revision(self._session, self._world_id)


def _check_columns(row: Row, policy: Policy, known: set[str]) -> None:
    """There is no other column, ids are ids, and a store can hold the words."""
    for name, value in row.items():
        if name not in known:
            raise UnreadableLine(Phrase("export.extra_forbidden", where=key_path((name,))))
        if isinstance(value, str) and ("\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value)):
            raise UnreadableLine(mismatch("plain_text", name, value))
    for name in filter(None, (policy.whose, policy.conversation, *policy.names)):
        for value in row[name] if isinstance(row.get(name), list) else [row.get(name)]:
            if value and isinstance(value, str) and not is_slug(value):
                raise _no_id((name,), value)
