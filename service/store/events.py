"""Owns the log of a world, whoever is told of its events: what happened, what clients are told, and what came from
outside (with seed and answers, a world's story is a function of that, see service/replay.py); and what was worked out
ahead of its clock and is not told yet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy import BindParameter, ColumnElement, Executable, bindparam, delete, insert, literal
from sqlmodel import Session, col, func, select
from sqlmodel.sql.expression import SelectOfScalar

from service.store.client_event_kinds import UtteranceCompleted, UtteranceDiscarded, UtteranceStarted
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
from service.store.insert import insert_rows, upsert
from service.store.phase import Audience, ClockPolicy, Phase
from service.store.tables import (
    ClientEventCountRow,
    ConversationKey,
    ConversationRow,
    EventRow,
    ParticipantRow,
    PendingEventRow,
    WorldRow,
)
from world.time import WorldTime, iso, parse_time

_OF_AN_UTTERANCE = (UtteranceStarted.kind, UtteranceCompleted.kind, UtteranceDiscarded.kind)

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


Command = Literal[
    "request",
    "started",
    "said",
    "answered",
    "waits",
    "cut_back",
    "taken_back",
    "unanswered",
    "lengthened",
    "handed_over",
    "action_settled",
    "ended",
    "reopened",
    "closed",
    "looked",
    "opened",
    "joined",
    "left",
    "intervened",
    "proposed",
    "judged",
]
"""What a client has asked of the living world; in a conversation that clients began, what was said by whom, or taken
back, who joined or left, when it was remembered, and what a writer did to it, what was proposed for long and what
became of that; `looked`: those who live have found out
who is free and what is promised; `opened`: they have spoken to players first.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request that changes a world, as it came; `key` is its Idempotency-Key, "": it has none."""

    method: str
    path: str
    query: str
    body: str
    key: str


def note(session: Session, world_id: str, at: WorldTime, payload: Payload, person_id: str | None = None) -> None:
    """Add an event to the log of what happened."""
    told: dict[str, Any] = {"kind": payload.kind, "person_id": person_id, "data": payload.stored()}
    append(session, EventRow(world_id=world_id, audience=payload.audience, id=0, at=at, **told))


def append(session: Session, event: EventRow) -> None:
    """Add an event to the log, numbered as it is inserted. The conversation that it hangs on is there."""
    hold_log(session, event.world_id)
    told = {f"its_{name}": value for name, value in event.model_dump(exclude={"id"}).items()}
    session.connection().execute(_appending(), told)


@cache
def _appending() -> Executable:
    """The statement that adds an event; made once, for it is run at every turn. Nobody asks for the number."""
    told: dict[str, Any] = {name: bindparam(f"its_{name}") for name in EventRow.model_fields if name != "id"}
    newest = _newest(told["world_id"], told["audience"])
    return insert(EventRow).values(id=newest.scalar_subquery() + 1, **told).inline()


def schedule_event(
    session: Session, world_id: str, at: WorldTime, payload: Payload, person_id: str = "", *, key: str = ""
) -> None:
    """Keep an event until the world's clock has passed it. `key` tells two events of one kind, person and minute apart.

    Raises:
        KeyError: the kind has no place in a minute (`IN_A_MINUTE`).
    """
    session.add(pending(world_id, at, payload, person_id, key))


def publish(
    session: Session,
    conversation: ConversationRow,
    at: WorldTime,
    payload: Payload,
    person_id: str,
    *,
    index: int | None = None,
) -> None:
    """Tell that something happened in the conversation. `index` tells events of one kind, person and minute apart.

    What comes too late for `at`, because the world's clock did not wait for it, happens now.
    """
    if conversation.clock_policy == ClockPolicy.NONE:
        note(session, conversation.world_id, at, payload, person_id)
        return
    at = max(at, WorldTime(session.get_one(WorldRow, conversation.world_id).now))
    key = str(conversation.talk_id) if index is None else f"{conversation.talk_id}/{index:03}"
    schedule_event(session, conversation.world_id, at, payload, person_id, key=key)


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
            literal(Audience.WORLD.value),
            _newest(world_id, Audience.WORLD).scalar_subquery() + func.row_number().over(order_by=order),
            col(PendingEventRow.at),
            col(PendingEventRow.kind),
            func.nullif(col(PendingEventRow.person_id), ""),
            col(PendingEventRow.data),
        )
        .where(*past)
        .order_by(*order)
    )
    columns = ["world_id", "audience", "id", "at", "kind", "person_id", "data"]
    session.execute(insert(EventRow).from_select(columns, told))
    session.execute(delete(PendingEventRow).where(*past))


def told_to(audience: Audience, world_id: str | BindParameter[str]) -> tuple[ColumnElement[bool], ...]:
    """Of events: those of the world that this audience is told."""
    return col(EventRow.world_id) == world_id, col(EventRow.audience) == audience


def events_after(
    session: Session,
    world_id: str,
    after: int,
    limit: int,
    *which: ColumnElement[bool],
    audience: Audience = Audience.WORLD,
) -> list[EventRow]:
    """Events with an id above `after`, oldest first."""
    query = select(EventRow).where(*told_to(audience, world_id), col(EventRow.id) > after, *which)
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
    return session.exec(_newest(world_id, Audience.WORLD)).one()


def _newest(world_id: Any, audience: Any) -> SelectOfScalar[int]:
    return select(func.coalesce(func.max(EventRow.id), 0)).where(*told_to(audience, world_id))


def tell_clients(session: Session, key: ConversationKey, at: WorldTime, told: Sequence[Payload]) -> None:
    """Add events of a conversation to the log; the caller commits.

    A number is never given twice, whatever becomes of its event.
    """
    hold_log(session, key.world_id)
    row = {"world_id": key.world_id, "newest": len(told)}
    newest = session.connection().execute(_counting(session.get_bind().dialect.name), row).scalar_one()
    first = newest - len(told) + 1
    place: dict[str, Any] = {**key._asdict(), "audience": Audience.PARTICIPANTS.value, "at": at}
    rows = (EventRow(**place, id=seq, kind=one.kind, data=one.stored()) for seq, one in enumerate(told, first))
    insert_rows(session, rows)


@cache
def _counting(dialect: str) -> Executable:
    return upsert(ClientEventCountRow, dialect, sums=("newest",)).returning(col(ClientEventCountRow.newest))


def newest_client_event(session: Session, world_id: str) -> int:
    """The number of the newest event of the world; 0: none was told."""
    count = session.get(ClientEventCountRow, world_id)
    return 0 if count is None else count.newest


class Told(NamedTuple):
    """An event that clients were told."""

    kind: str
    data: Mapping[str, Any]


_LAST_OF_AN_UTTERANCE = (
    select(EventRow.kind, EventRow.data)
    .where(
        *told_to(Audience.PARTICIPANTS, bindparam("world_id")),
        EventRow.conversation_id == bindparam("conversation_id"),
        col(EventRow.kind).in_(_OF_AN_UTTERANCE),
    )
    .order_by(col(EventRow.id).desc())
    .limit(1)
)
"""Made once, for it is asked at every turn."""


def last_of_an_utterance(session: Session, key: ConversationKey) -> Told | None:
    """What was told last of how an utterance of the conversation began or ended."""
    found = session.exec(_LAST_OF_AN_UTTERANCE, params=key._asdict()).first()
    return None if found is None else Told(*found)


def utterances_open(session: Session, world_id: str, seq: int, of: Sequence[ColumnElement[bool]]) -> list[EventRow]:
    """The utterances that somebody had set about when event `seq` was told, and that nobody had said or dropped."""
    last = (
        select(func.max(col(EventRow.id)))
        .join(
            ConversationRow,
            (col(ConversationRow.world_id) == EventRow.world_id)
            & (col(ConversationRow.id) == EventRow.conversation_id),
        )
        .where(
            *told_to(Audience.PARTICIPANTS, world_id),
            col(EventRow.id) <= seq,
            col(EventRow.kind).in_(_OF_AN_UTTERANCE),
            ConversationRow.phase == Phase.RUNNING,
            *of,
        )
        .group_by(col(EventRow.conversation_id))
    )
    query = select(EventRow).where(
        *told_to(Audience.PARTICIPANTS, world_id),
        col(EventRow.id).in_(last),
        EventRow.kind == UtteranceStarted.kind,
    )
    return list(session.exec(query.order_by(col(EventRow.id))))


def of_conversation(conversation_id: str) -> tuple[ColumnElement[bool], ...]:
    """Of client events: those of the conversation, and that the world was restored."""
    return ((col(EventRow.conversation_id) == conversation_id) | col(EventRow.conversation_id).is_(None),)


def of_person(world_id: str, person_id: str) -> tuple[ColumnElement[bool], ...]:
    """Of client events: those of every conversation in which the person takes part, and that the world was restored."""
    part = select(ParticipantRow.conversation_id).where(
        ParticipantRow.world_id == world_id, ParticipantRow.person_id == person_id
    )
    return (col(EventRow.conversation_id).in_(part) | col(EventRow.conversation_id).is_(None),)


def hold_log(session: Session, world_id: str) -> None:
    """Let nobody else add to the world's log until the transaction ends."""
    if session.get_bind().dialect.name == "postgresql":
        # Whoever commits first must have the smaller id, or a reader that asks for what comes after the last id it
        # saw misses the other; and no two may have the same.
        session.connection().execute(select(func.pg_advisory_xact_lock(_LOCK, func.hashtext(world_id))))


def log_command(
    session: Session,
    world_id: str,
    at: WorldTime,
    kind: Command,
    data: Mapping[str, Any],
    conversation_id: str | None = None,
) -> None:
    """Add it to the world's log, in the transaction of what it tells; the conversation's row is there."""
    told: dict[str, Any] = {"kind": kind, "conversation_id": conversation_id, "data": dict(data)}
    append(session, EventRow(world_id=world_id, audience=Audience.AUTHOR.value, id=0, at=at, **told))


def log_in(session: Session, key: ConversationKey, at: WorldTime, kind: Command, **data: Any) -> None:
    """The same of a conversation."""
    log_command(session, key.world_id, at, kind, data, key.conversation_id)


def log_look(session: Session, world_id: str, at: WorldTime) -> None:
    """Those who live look round, if anything came from outside since they did so last."""
    kinds = select(EventRow.kind).where(*told_to(Audience.AUTHOR, world_id))
    if session.exec(kinds.order_by(col(EventRow.id).desc()).limit(1)).first() not in (None, "looked"):
        log_command(session, world_id, at, "looked", {})


def line_of(row: EventRow) -> dict[str, Any]:
    """As it stands in a file, as JSON; its time is world time."""
    told = row.model_dump(include={"kind", "conversation_id", "data"})
    return {"at": iso(WorldTime(row.at)), "seq": row.id, **told}
