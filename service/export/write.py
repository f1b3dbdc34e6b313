"""Owns how the story of a world is read from the store as lines, a few rows at a time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, collate
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
    SummaryLine,
    TurnLine,
)
from service.locales import Language, languages
from service.people.worlds import made_people
from service.store.event_kinds import payload_of
from service.store.phase import ClockPolicy, Phase
from service.store.tables import ConversationRow, EventRow, OverheardRow, SummaryRow, TurnRow, WorldRow
from world.time import WorldTime, iso

ROWS = 500
"""How many events are held in memory at once."""

CONVERSATIONS = 50


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
    over_at = func.coalesce(col(ConversationRow.closed_at), col(ConversationRow.ended_at))
    query = (
        select(ConversationRow.id)
        .where(
            ConversationRow.world_id == world.id,
            col(ConversationRow.phase).in_([Phase.CLOSED, Phase.CLOSING_FAILED]),
            over_at >= since,
            over_at < before,
            # What the living world ends in the minute its clock shows is told when that minute is over.
            (over_at < world.now) | (col(ConversationRow.clock_policy) == ClockPolicy.NONE),
        )
        .order_by(over_at, _bytewise(session, col(ConversationRow.id)))
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
    turns: dict[str, list[TurnLine]] = {row_id: [] for row_id in ids}
    overheard: dict[str, list[OverheardLine]] = {row_id: [] for row_id in ids}
    summaries: dict[str, list[SummaryLine]] = {row_id: [] for row_id in ids}
    of_turns = (
        select(TurnRow)
        .where(TurnRow.world_id == world_id, col(TurnRow.conversation_id).in_(ids))
        .order_by(col(TurnRow.turn))
    )
    for turn in session.exec(of_turns):
        turns[turn.conversation_id].append(TurnLine.model_construct(**_columns(turn, TurnLine)))
    person_id = _bytewise(session, col(SummaryRow.person_id))
    of_summaries = select(SummaryRow).where(SummaryRow.world_id == world_id, col(SummaryRow.conversation_id).in_(ids))
    for summary in session.exec(of_summaries.order_by(person_id)):
        line = SummaryLine.model_construct(**_columns(summary, SummaryLine), character_id=summary.person_id)
        summaries[summary.conversation_id].append(line)
    heard = select(OverheardRow).where(
        OverheardRow.world_id == world_id, col(OverheardRow.conversation_id).in_(ids), OverheardRow.known_at <= now
    )
    for one in session.exec(heard.order_by(_bytewise(session, col(OverheardRow.person_id)))):
        overheard[one.conversation_id].append(OverheardLine.model_construct(**_columns(one, OverheardLine)))
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


def _columns(row: BaseModel, line: type[BaseModel]) -> dict[str, Any]:
    """What the row and the line call the same."""
    return {name: getattr(row, name) for name in line.model_fields if hasattr(row, name)}


def _bytewise(session: Session, column: Mapped[str]) -> ColumnElement[str]:
    """To sort by letters' codes, as SQLite does, wherever the database is."""
    return collate(column, "BINARY" if session.get_bind().dialect.name == "sqlite" else "C")
