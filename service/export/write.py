"""Owns how the story of a world is read from the store as lines, a few rows at a time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy import ColumnElement, String, collate
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, func, select

from service.export.problem import NoSuchWorld, NothingThen
from service.export.record import (
    EVENT_LINES,
    ConversationLine,
    EventLine,
    Header,
    OverheardLine,
    PartLine,
    PersonLine,
    RowLine,
    SummaryLine,
    TurnLine,
)
from service.locales import Language, languages
from service.people.worlds import made_people
from service.store.event_kinds import payload_of
from service.store.phase import ClockPolicy, Phase
from service.store.policy import exported
from service.store.tables import ConversationRow, EventRow, OverheardRow, SummaryRow, TurnRow, WorldRow
from world.time import WorldTime, iso

ROWS = 500
"""How many events are held in memory at once."""

CONVERSATIONS = 50

LineT = TypeVar("LineT", bound=BaseModel)


_OVER_AT: ColumnElement[int] = func.coalesce(col(ConversationRow.closed_at), col(ConversationRow.ended_at))
"""When a conversation was over."""

_APART = ("world_id", "revision", "runner", "lease_until")
"""What a row's line has not: whose world it is, and what only a service that runs knows of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """World times: from `since` until before `until`; None: from the world's beginning, up to its clock and with it."""

    since: WorldTime | None = None
    until: WorldTime | None = None


def story(
    session: Session, world_id: str, names: Mapping[Language, str], span: Span, *, place: str
) -> Iterator[BaseModel]:
    """The header, who was made at run time, then events and conversations as they happened; a conversation stands where
    it was closed.

    What the world has worked out ahead of its clock, and conversations that are not over, are left out. `names`: what
    the world is called; `place` names the store for people.

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
    for made in made_people(session, world_id):
        profile = json.loads(made.profile)
        yield PersonLine(id=made.id, kind=made.kind, profile=profile, removed=made.removed)
    yield from _merged(_events(session, world_id, since, before), _conversations(session, world, since, before))


def held(session: Session, world_id: str) -> Iterator[RowLine]:
    """What the world holds beside its story, as it stands; of what is of the moment, and of conversations that are not
    over, nothing.
    """
    world = session.get_one(WorldRow, world_id)
    others = select(ConversationRow.id).where(ConversationRow.world_id == world_id, ~_is_told(world))
    for table, policy in exported():
        columns = (column for column in table.c if column.name not in (*_APART, *policy.passing_columns))
        query = sa.select(*columns).where(table.c.world_id == world_id)
        if policy.known is not None:
            query = query.where(table.c[policy.known] <= world.now)
        if policy.conversation is not None:
            of = table.c[policy.conversation]
            query = query.where(of.is_(None) | of.not_in(others))
        key = (_bytewise(session, one) if isinstance(one.type, String) else one for one in table.primary_key)
        for row in session.execute(query.order_by(*key).execution_options(yield_per=ROWS)):
            yield RowLine(table=table.name, row=dict(row._mapping))


def _is_told(world: WorldRow) -> ColumnElement[bool]:
    """Of conversations: they are over. What the living world ends in the minute its clock shows is told when that
    minute is over.
    """
    by_client = col(ConversationRow.clock_policy) == ClockPolicy.NONE
    is_over = col(ConversationRow.phase).in_([Phase.CLOSED, Phase.CLOSING_FAILED])
    return is_over & ((world.now > _OVER_AT) | (by_client & (world.now == _OVER_AT)))


def _merged(events: Iterator[EventLine], conversations: Iterator[ConversationLine]) -> Iterator[BaseModel]:
    """The events in the order of the log, each conversation before the first event that is later than its closing."""
    due = next(conversations, None)
    for event in events:
        while due is not None and due.over_at < event.at:
            yield due
            due = next(conversations, None)
        yield event
    if due is not None:
        yield due
        yield from conversations


def _events(session: Session, world_id: str, since: int, before: int) -> Iterator[EventLine]:
    query = (
        select(EventRow.at, EventRow.kind, EventRow.person_id, EventRow.data)
        .where(EventRow.world_id == world_id, EventRow.at >= since, EventRow.at < before)
        .order_by(col(EventRow.id))
    )
    for at, kind, person_id, data in session.exec(query.execution_options(yield_per=ROWS)):
        payload = payload_of(kind, data)
        yield EVENT_LINES[kind].model_construct(at=at, kind=kind, person_id=person_id, data=payload)


def _conversations(session: Session, world: WorldRow, since: int, before: int) -> Iterator[ConversationLine]:
    query = (
        select(ConversationRow.id)
        .where(ConversationRow.world_id == world.id, *_is_told(world), since <= _OVER_AT, before > _OVER_AT)
        .order_by(_OVER_AT, _bytewise(session, col(ConversationRow.id)))
    )
    ids = iter(session.exec(query).all())
    while some := list(islice(ids, CONVERSATIONS)):
        yield from _told(session, world.id, some, world.now)


def _told(session: Session, world_id: str, ids: Sequence[str], now: int) -> Iterator[ConversationLine]:
    rows = {
        row.id: row
        for row in session.exec(
            select(ConversationRow).where(ConversationRow.world_id == world_id, col(ConversationRow.id).in_(ids))
        ).unique()
    }
    of_person = "person_id"
    turns = _with(session, world_id, ids, TurnRow, TurnLine, "turn")
    summaries = _with(session, world_id, ids, SummaryRow, SummaryLine, of_person)
    overheard = _with(session, world_id, ids, OverheardRow, OverheardLine, of_person, OverheardRow.known_at <= now)
    for row_id in ids:
        row = rows[row_id]
        columns = _columns(row, ConversationLine) | {"character_id": row.opener_id}
        people = row.participants if len(row.participants) > 2 else []
        yield ConversationLine.model_construct(
            **columns,
            turns=turns[row_id],
            summaries=summaries[row_id],
            people=[PartLine.model_construct(**_columns(one, PartLine)) for one in people],
            overheard=overheard[row_id],
        )
    session.expunge_all()


def _with(
    session: Session, world_id: str, ids: Sequence[str], table: Any, line: type[LineT], order: str, *where: Any
) -> dict[str, list[LineT]]:
    """The lines of the rows that hang on each of these conversations."""
    found: dict[str, list[LineT]] = {row_id: [] for row_id in ids}
    query = select(table).where(table.world_id == world_id, col(table.conversation_id).in_(ids), *where)
    by = getattr(table, order)
    for row in session.exec(query.order_by(_bytewise(session, by) if isinstance(by.type, String) else by)):
        more = {"character_id": row.person_id} if "character_id" in line.model_fields else {}
        found[row.conversation_id].append(line.model_construct(**_columns(row, line), **more))
    return found


def _columns(row: BaseModel, line: type[BaseModel]) -> dict[str, Any]:
    """What the row and the line call the same."""
    return {name: getattr(row, name) for name in line.model_fields if hasattr(row, name)}


def _bytewise(session: Session, column: Mapped[str] | ColumnElement[str]) -> ColumnElement[str]:
    """To sort by letters' codes, as SQLite does, wherever the database is."""
    return collate(column, "BINARY" if session.get_bind().dialect.name == "sqlite" else "C")
