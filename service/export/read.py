"""Owns how the lines of an export become a world that can be looked at as the first one could."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy.exc import DataError, IntegrityError
from sqlmodel import Session, select

from service.content.fields import key_path, mismatch, reason_of
from service.content.made import read_made
from service.errors import ProfileWrong
from service.export.problem import BadLine, Unreadable, WorldHasLived, no_id
from service.export.record import FORMAT, Header, RowLine, parsed, require_ids
from service.locales import Phrase
from service.memory.record import Group
from service.memory.revision import expect_vectors, next_epoch
from service.people.worlds import count_people_revision
from service.store.event_kinds import KINDS, payload_of
from service.store.events import hear_of_world
from service.store.insert import insert_rows
from service.store.policy import TABLES, GoesWith, Policy, exported
from service.store.tables import ConversationRow, EventRow, MadePersonRow, MovementRow, PersonRow, WorldRow
from service.store.world_rows import Row
from world.ids import is_slug


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """How much of a story was read."""

    events: int
    conversations: int


def read_story(session: Session, world_id: str, file: Path, lines: Iterable[bytes]) -> Imported:
    """Write a story into a world that has not lived; the caller commits. The world's clock then stands where it ends.

    Raises:
        BadLine: a line is not as `service.export.record` says.
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
        self._line = 0
        self._told_of_world: dict[str, Any] = {"weather": "", "flags": {}, "notices": []}
        self._people: set[str] = set()
        self._tables = {table.name: (table, policy) for table, policy in exported()}

    def read(self, lines: Iterator[bytes]) -> Imported:
        try:
            return self._read(lines)
        except ValidationError as exc:
            raise BadLine(file=str(self._file), line=self._line, reason=reason_of(exc)) from exc
        except (IntegrityError, DataError, OverflowError) as exc:
            raise BadLine(file=str(self._file), line=self._line, reason=Phrase("export.no_place")) from exc
        except Unreadable as exc:
            raise BadLine(file=str(self._file), line=self._line, reason=exc.reason) from exc

    def _read(self, lines: Iterator[bytes]) -> Imported:
        header = self._begin(lines)
        read: Counter[str] = Counter()
        for raw in lines:
            self._line += 1
            line = RowLine.model_validate(parsed(raw))
            self._put(line, header)
            read[line.table] += 1
        self._session.get_one(WorldRow, self._world_id).sqlmodel_update(self._told_of_world)
        for person_id in sorted(self._people):
            group = Group(world_id=self._world_id, person_id=person_id)
            next_epoch(self._session, group)
            expect_vectors(self._session, group)
        return Imported(events=read["events"], conversations=read["conversations"])

    def _begin(self, lines: Iterator[bytes]) -> Header:
        self._line = 1
        record = parsed(next(lines, b""))
        if record.get("type") != "kataribe":
            raise Unreadable(Phrase("export.no_export"))
        version = record.get("version")
        if version != FORMAT:
            key = "export.older" if version in range(1, FORMAT) else "export.version"
            raise Unreadable(Phrase(key, version=version, known=FORMAT))
        header = Header.model_validate(record)
        if header.since > header.until:
            raise Unreadable(Phrase("export.from_after_to"))
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
            raise Unreadable(Phrase("export.table", table=line.table, known=", ".join(self._tables)))
        table, policy = self._tables[line.table]
        _check_columns(line.row, policy, {column.name for column in policy.columns_of(table)})
        row = TABLES[line.table].model_validate({**line.row, "world_id": self._world_id, "revision": 0}, strict=True)
        if policy.known is not None and getattr(row, policy.known) > header.until:
            raise Unreadable(Phrase("export.not_within"))
        if isinstance(row, EventRow):
            self._hear(row)
        elif isinstance(row, MadePersonRow):
            self._make(row)
        insert_rows(self._session, [row])
        if policy.goes == GoesWith.MEMORY:
            self._people.add(line.row[policy.whose or ""])

    def _hear(self, row: EventRow) -> None:
        if row.kind not in KINDS:
            raise Unreadable(Phrase("export.kind", kind=row.kind, known=", ".join(KINDS)))
        require_ids(row.data, ("data",))
        payload_of(row.kind, row.data)
        hear_of_world(self._told_of_world, row.at, row.kind, row.data)

    def _make(self, row: MadePersonRow) -> None:
        try:
            profile = {**parsed(row.profile.encode()), "kind": row.kind}
            row.profile = read_made(row.person_id, json.dumps(profile).encode()).profile
        except ProfileWrong as exc:
            raise Unreadable(exc.found[0].reason) from exc
        count_people_revision(self._session, self._world_id)


def _check_columns(row: Row, policy: Policy, known: set[str]) -> None:
    """There is no other column, ids are ids, and a store can hold the words."""
    for name, value in row.items():
        if name not in known:
            raise Unreadable(Phrase("export.extra_forbidden", where=key_path((name,))))
        if isinstance(value, str) and ("\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value)):
            raise Unreadable(mismatch("plain_text", name, value))
    for name in filter(None, (policy.whose, policy.conversation, *policy.names)):
        for value in row[name] if isinstance(row.get(name), list) else [row.get(name)]:
            if value and isinstance(value, str) and not is_slug(value):
                raise no_id((name,), value)
