"""Owns how the lines of an export become a world that can be looked at as the first one could."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import insert
from sqlalchemy.exc import DataError, IntegrityError
from sqlmodel import Session, SQLModel, select

from service.content.fields import reason_of
from service.content.made import read_made
from service.errors import ProfileWrong
from service.export.problem import BadLine, Unreadable, WorldHasLived
from service.export.record import (
    EVENT_LINES,
    FORMAT,
    ConversationLine,
    EventLine,
    Header,
    PersonLine,
    RowLine,
    parsed,
    require_ids,
)
from service.export.write import ROWS
from service.locales import Phrase
from service.memory.record import Group
from service.memory.revision import expect_vectors, next_epoch
from service.people.worlds import count_people_revision
from service.store.events import hear_of_world
from service.store.phase import ClockPolicy
from service.store.policy import TABLES, GoesWith, exported
from service.store.tables import (
    ConversationRow,
    EventRow,
    MadePersonRow,
    MovementRow,
    OverheardRow,
    ParticipantRow,
    PersonRow,
    SummaryRow,
    TurnRow,
    WorldRow,
)

ENDED_NIGHT = -1
"""The night of what was read in: it belongs to no day that anybody still lives."""


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
        self._told = 0
        self._events: list[dict[str, Any]] = []
        self._told_of_world: dict[str, Any] = {"weather": "", "flags": {}, "notices": []}
        self._people: set[str] = set()

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
        events = conversations = 0
        for raw in lines:
            self._line += 1
            line = _read_line(raw)
            if isinstance(line, PersonLine | RowLine):
                self._make(line) if isinstance(line, PersonLine) else self._put(line)
                continue
            at = line.at if isinstance(line, EventLine) else line.over_at
            if not header.since <= at <= header.until:
                raise Unreadable(Phrase("export.not_within"))
            if isinstance(line, EventLine):
                events += 1
                self._keep(line)
            else:
                conversations += 1
                self._hold(line)
        self._flush()
        self._session.get_one(WorldRow, self._world_id).sqlmodel_update(self._told_of_world)
        for person_id in sorted(self._people):
            group = Group(world_id=self._world_id, person_id=person_id)
            next_epoch(self._session, group)
            expect_vectors(self._session, group)
        return Imported(events=events, conversations=conversations)

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

    def _make(self, line: PersonLine) -> None:
        try:
            made = read_made(line.id, json.dumps({**line.profile, "kind": line.kind}).encode())
        except ProfileWrong as exc:
            raise Unreadable(exc.found[0].reason) from exc
        self._session.merge(
            MadePersonRow(
                world_id=self._world_id,
                person_id=made.id,
                kind=made.kind,
                profile=made.profile,
                removed=line.removed,
            )
        )
        count_people_revision(self._session, self._world_id)

    def _keep(self, line: EventLine) -> None:
        self._told += 1
        hear_of_world(self._told_of_world, line.at, line.kind, line.data.stored())
        self._events.append(
            {
                "world_id": self._world_id,
                "id": self._told,
                "at": line.at,
                "kind": line.kind,
                "person_id": line.person_id,
                "data": line.data.stored(),
            }
        )
        if len(self._events) == ROWS:
            self._flush()

    def _put(self, line: RowLine) -> None:
        """What of it belongs to a person's memory is read, and gets its vectors, anew."""
        named = {table.name: policy for table, policy in exported()}
        if line.table not in named:
            raise Unreadable(Phrase("export.table", table=line.table, known=", ".join(named)))
        row = {**line.row, "world_id": self._world_id, "revision": 0}
        self._session.add(TABLES[line.table].model_validate(row, strict=True))
        self._session.flush()
        if named[line.table].goes == GoesWith.MEMORY:
            self._people.add(line.row[named[line.table].whose or ""])

    def _flush(self) -> None:
        if self._events:
            self._session.execute(insert(EventRow), self._events)
            self._events = []

    def _hold(self, line: ConversationLine) -> None:
        known = select(ConversationRow.id).where(
            ConversationRow.world_id == self._world_id, ConversationRow.id == line.id
        )
        if self._session.exec(known).first() is not None:
            raise Unreadable(Phrase("export.twice", id=line.id))
        columns = line.model_dump(exclude=_NO_COLUMNS)
        row = {"id": line.id, "world_id": self._world_id, "clock_policy": ClockPolicy.NONE, **columns, **_times(line)}
        self._session.execute(insert(ConversationRow), [row])
        key: dict[str, Any] = {"world_id": self._world_id, "conversation_id": line.id}
        stay = {one.person_id: one for one in line.people}
        people = dict.fromkeys((line.character_id, line.partner_id, *stay))
        rows: list[SQLModel] = [
            ParticipantRow(**key, **(stay[one].model_dump() if one in stay else {"person_id": one}), seat=seat)
            for seat, one in enumerate(people)
        ]
        rows += [TurnRow(**key, **{name: getattr(one, name) for name in type(one).model_fields}) for one in line.turns]
        rows += [
            SummaryRow(
                **key,
                **{name: getattr(one, name) for name in type(one).model_fields if name != "character_id"},
                person_id=one.character_id,
                night=ENDED_NIGHT,
                revision=0,
            )
            for one in line.summaries
        ]
        rows += [
            OverheardRow(**key, person_id=one.person_id, turns=one.turns, known_at=one.known_at, revision=0)
            for one in line.overheard
        ]
        self._session.add_all(rows)
        self._session.flush()
        self._people.update(summary.character_id for summary in line.summaries)
        self._people.update(one.person_id for one in line.overheard)


_NO_COLUMNS = {"type", "id", "character_id", "partner_id", "turns", "summaries", "people", "overheard"}


def _read_line(raw: bytes) -> EventLine | ConversationLine | PersonLine | RowLine:
    record = parsed(raw)
    match record:
        case {"type": "row"}:
            return RowLine.model_validate(record)
        case {"type": "person"}:
            return PersonLine.model_validate(record)
        case {"type": "conversation"}:
            return ConversationLine.model_validate(record)
        case {"type": "event", "kind": str(kind)} if kind in EVENT_LINES:
            require_ids(record.get("data"))
            return EVENT_LINES[kind].model_validate(record)
        case {"type": "event"}:
            raise Unreadable(Phrase("export.kind", kind=record.get("kind"), known=", ".join(EVENT_LINES)))
    raise Unreadable(Phrase("export.type", type=record.get("type"), known="event, conversation, person, row"))


def _times(line: ConversationLine) -> dict[str, int | None]:
    return {"started_at": line.started_at, "ended_at": line.ended_at, "closed_at": line.closed_at}
