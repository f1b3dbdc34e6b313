"""Owns how the story of a world is read from the store as lines, a few rows at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy import ColumnElement, String, Table, collate
from sqlmodel import Session, col, func, select

from service.export.problem import NoSuchWorld, NothingThen
from service.export.record import Header, RowLine
from service.locales import Language, languages
from service.store.phase import ClockPolicy, Phase
from service.store.policy import Policy, exported
from service.store.tables import ConversationRow, WorldRow
from world.time import WorldTime, iso

ROWS = 500
"""How many rows are held in memory at once."""

_OVER_AT: ColumnElement[int] = func.coalesce(col(ConversationRow.closed_at), col(ConversationRow.ended_at))
"""When a conversation was over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """World times: from `since` until before `until`; None: from the world's beginning, up to its clock and with it."""

    since: WorldTime | None = None
    until: WorldTime | None = None


def story(
    session: Session, world_id: str, names: Mapping[Language, str], span: Span, *, place: str
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
        where = [table.c.world_id == world_id]
        if policy.conversation is not None:
            where.append(table.c[policy.conversation].is_(None) | table.c[policy.conversation].not_in(others))
        if policy.known is not None:
            where.append(table.c[policy.known] < before)
            if span.since is not None:
                of_told = [table.c[policy.conversation].in_(told)] if policy.conversation is not None else []
                where.append(sa.or_(table.c[policy.known] >= since, *of_told))
        yield from _rows(session, table, policy, where)


def _rows(session: Session, table: Table, policy: Policy, where: list[ColumnElement[bool]]) -> Iterator[RowLine]:
    """In the order of their primary key; letters by their codes, as SQLite does, wherever the database is."""
    bytewise = "BINARY" if session.get_bind().dialect.name == "sqlite" else "C"
    key = (collate(one, bytewise) if isinstance(one.type, String) else one for one in table.primary_key)
    query = sa.select(*policy.columns_of(table)).where(*where).order_by(*key)
    for row in session.execute(query.execution_options(yield_per=ROWS)):
        yield RowLine(table=table.name, row=dict(row._mapping))


def _is_over(world: WorldRow) -> ColumnElement[bool]:
    """Of conversations. What the living world ends in the minute its clock shows is told when that minute is over."""
    by_client = col(ConversationRow.clock_policy) == ClockPolicy.NONE
    is_over = col(ConversationRow.phase).in_([Phase.CLOSED, Phase.CLOSING_FAILED])
    return is_over & ((world.now > _OVER_AT) | (by_client & (world.now == _OVER_AT)))
