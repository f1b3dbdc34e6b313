"""Owns the log of what happened in a world, and what was worked out ahead of its clock and is not told yet."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Executable, bindparam, delete, insert, literal
from sqlmodel import Session, SQLModel, col, func, select
from sqlmodel.sql.expression import SelectOfScalar

from service.store.event_kinds import (
    IN_A_MINUTE,
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Announced,
    Arrived,
    Decided,
    Departed,
    FlagsSet,
    Payload,
    Slept,
    WeatherSet,
    payload_of,
)
from service.store.tables import CommandRow, EventRow, PendingEventRow
from world.time import WorldTime, parse_time

_LOCK = 7203915
"""Namespace of PostgreSQL's advisory locks on a world's log."""

_OWN_DOING = frozenset(
    payload.kind for payload in (Arrived, ActivityEnded, Decided, Departed, Slept, ActivityStarted, ActionFailed)
)
"""What does not happen when the person is stopped before."""

_RANKS = {payload: rank for rank, payload in enumerate(IN_A_MINUTE)}
_KNOWN_BEFORE = _RANKS[ActivityEnded]
"""Events of a lower rank are complete when the clock comes to their minute: no decision of that minute adds one.
"""


def note(session: Session, world_id: str, at: WorldTime, payload: Payload, person_id: str | None = None) -> None:
    """Add an event to the log of what happened."""
    append(session, EventRow, world_id, at=at, kind=payload.kind, person_id=person_id, data=payload.stored())


def append(session: Session, log: type[EventRow | CommandRow], world_id: str, **told: Any) -> None:
    """Add a row to a log of the world, numbered as it is inserted. Rows that it refers to are there."""
    hold_log(session, world_id)
    session.connection().execute(_appending(log), {"in_world": world_id} | {f"its_{name}": told[name] for name in told})


@cache
def _appending(log: type[EventRow | CommandRow]) -> Executable:
    """The statement that adds a row; made once, for it is run at every turn. Nobody asks for the number."""
    world_id, number, *others = list(SQLModel.metadata.tables[str(log.__tablename__)].c)
    newest = select(func.coalesce(func.max(number), 0)).where(world_id == bindparam("in_world"))
    told: dict[Any, Any] = {one: bindparam(f"its_{one.name}") for one in others}
    adding = insert(log).values({world_id: bindparam("in_world"), number: newest.scalar_subquery() + 1, **told})
    return adding.inline()


def schedule_event(
    session: Session, world_id: str, at: WorldTime, payload: Payload, person_id: str = "", *, key: str = ""
) -> None:
    """Keep an event until the world's clock has passed it. `key` tells two events of one kind, person and minute apart.

    Raises:
        KeyError: the kind has no place in a minute (`IN_A_MINUTE`).
    """
    session.add(pending(world_id, at, payload, person_id, key))


def pending(world_id: str, at: WorldTime, payload: Payload, person_id: str, key: str = "") -> PendingEventRow:
    """The row of an event that is told when the clock has passed it. Raises: KeyError: as `schedule_event`."""
    told: dict[str, Any] = {"person_id": person_id, "kind": payload.kind, "data": payload.stored()}
    return PendingEventRow(world_id=world_id, at=at, rank=_RANKS[type(payload)], key=key, **told)


def retract(session: Session, world_id: str, person_id: str, since: WorldTime) -> None:
    """Forget what was scheduled of a person from `since` on: it was stopped, and will do something else."""
    session.flush()
    session.execute(
        delete(PendingEventRow).where(
            col(PendingEventRow.world_id) == world_id,
            col(PendingEventRow.person_id) == person_id,
            col(PendingEventRow.at) >= since,
            col(PendingEventRow.kind).in_(_OWN_DOING),
        )
    )


def flush_due(session: Session, world_id: str, now: WorldTime) -> None:
    """Tell what was scheduled and has happened when the clock shows `now`, in the order of the story."""
    session.flush()
    hold_log(session, world_id)
    past = (
        col(PendingEventRow.world_id) == world_id,
        (col(PendingEventRow.at) < now)
        | ((col(PendingEventRow.at) == now) & (col(PendingEventRow.rank) < _KNOWN_BEFORE)),
    )
    order = (
        col(PendingEventRow.at),
        col(PendingEventRow.rank),
        col(PendingEventRow.person_id),
        col(PendingEventRow.key),
        col(PendingEventRow.id),
    )
    told = (
        sa.select(
            literal(world_id),
            _newest(world_id).scalar_subquery() + func.row_number().over(order_by=order),
            col(PendingEventRow.at),
            col(PendingEventRow.kind),
            func.nullif(col(PendingEventRow.person_id), ""),
            col(PendingEventRow.data),
        )
        .where(*past)
        .order_by(*order)
    )
    session.execute(insert(EventRow).from_select(["world_id", "id", "at", "kind", "person_id", "data"], told))
    session.execute(delete(PendingEventRow).where(*past))


def events_after(
    session: Session,
    world_id: str,
    after: int,
    limit: int,
    *,
    kind: str | None = None,
    person_id: str | None = None,
) -> list[EventRow]:
    """Events with an id above `after`, oldest first."""
    query = select(EventRow).where(EventRow.world_id == world_id, col(EventRow.id) > after)
    if kind is not None:
        query = query.where(EventRow.kind == kind)
    if person_id is not None:
        query = query.where(EventRow.person_id == person_id)
    return list(session.exec(query.order_by(col(EventRow.id)).limit(limit)))


def hear_of_world(world: dict[str, Any], at: int, kind: str, data: Mapping[str, Any]) -> None:
    """Bring up to date what authors and games have said of a world, by an event of its log: weather, flags, notices."""
    if kind == WeatherSet.kind:
        world["weather"] = data["weather"]
    elif kind == Announced.kind:
        world["notices"].append({"text": data["text"], "at": at, "until": parse_time(data["until"])})
    elif kind == FlagsSet.kind:
        for flag in data["flags"]:
            world["flags"].pop(flag["name"], None)
            if flag.get("value") is not None:
                world["flags"][flag["name"]] = flag["value"]


def payload_in(event: EventRow) -> Payload:
    """What the event tells."""
    return payload_of(event.kind, event.data)


def last_event(session: Session, world_id: str) -> int:
    """The id of the newest event; 0 when nothing has happened."""
    return session.exec(_newest(world_id)).one()


def _newest(world_id: str) -> SelectOfScalar[int]:
    return select(func.coalesce(func.max(EventRow.id), 0)).where(EventRow.world_id == world_id)


def hold_log(session: Session, world_id: str) -> None:
    """Let nobody else add to the world's log until the transaction ends."""
    if session.get_bind().dialect.name == "postgresql":
        # Whoever commits first must have the smaller id, or a reader that asks for what comes after the last id it
        # saw misses the other; and no two may have the same.
        session.connection().execute(select(func.pg_advisory_xact_lock(_LOCK, func.hashtext(world_id))))
