"""Owns the log of what games are told of conversations with humans, numbered within each world."""

from collections.abc import Sequence

from sqlalchemy.sql import ColumnElement
from sqlmodel import Session, col, func, select

from service.store.client_event_kinds import UtteranceCompleted, UtteranceDiscarded, UtteranceStarted, WorldRestored
from service.store.event_kinds import Payload
from service.store.events import hold_log
from service.store.insert import insert_rows, upsert
from service.store.phase import Phase
from service.store.tables import (
    ClientEventCountRow,
    ClientEventRow,
    ConversationKey,
    ConversationRow,
    ParticipantRow,
    WorldRow,
)
from world.time import WorldTime

_OF_AN_UTTERANCE = (UtteranceStarted.kind, UtteranceCompleted.kind, UtteranceDiscarded.kind)


def tell_clients(session: Session, key: ConversationKey, at: WorldTime, told: Sequence[Payload]) -> None:
    """Add events of a conversation to the log; the caller commits.

    A number is never given twice, whatever becomes of its event.
    """
    hold_log(session, key.world_id)
    counting = upsert(ClientEventCountRow, session.get_bind().dialect.name, sums=("newest",))
    row = {"world_id": key.world_id, "newest": len(told), "restored": 0}
    newest = session.execute(counting.returning(col(ClientEventCountRow.newest)), row).scalar_one()
    insert_rows(
        session,
        [
            ClientEventRow(**key._asdict(), seq=seq, at=at, kind=payload.kind, data=payload.stored())
            for seq, payload in enumerate(told, newest - len(told) + 1)
        ],
    )


def newest_client_event(session: Session, world_id: str) -> int:
    """The number of the newest event of the world; 0: none was told."""
    count = session.get(ClientEventCountRow, world_id)
    return 0 if count is None else count.newest


def client_events_after(
    session: Session, world_id: str, seq: int, limit: int, of: Sequence[ColumnElement[bool]]
) -> list[ClientEventRow]:
    """Events with a number above `seq`, in order; the newest restore of the world is one of them. `of`: see
    `of_conversation`, `of_person`.
    """
    query = select(ClientEventRow).where(ClientEventRow.world_id == world_id, col(ClientEventRow.seq) > seq, *of)
    rows = list(session.exec(query.order_by(col(ClientEventRow.seq)).limit(limit)))
    count = session.get(ClientEventCountRow, world_id)
    if count is not None and count.restored > seq:
        at = session.get_one(WorldRow, world_id).now
        row = ClientEventRow(
            world_id=world_id, seq=count.restored, conversation_id="", at=at, kind=WorldRestored.kind, data={}
        )
        rows.append(row)
    return sorted(rows, key=lambda row: row.seq)[:limit]


def last_of_an_utterance(session: Session, key: ConversationKey) -> ClientEventRow | None:
    """What was told last of how an utterance of the conversation began or ended."""
    query = select(ClientEventRow).where(
        ClientEventRow.world_id == key.world_id,
        ClientEventRow.conversation_id == key.conversation_id,
        col(ClientEventRow.kind).in_(_OF_AN_UTTERANCE),
    )
    return session.exec(query.order_by(col(ClientEventRow.seq).desc()).limit(1)).first()


def utterances_open(
    session: Session, world_id: str, seq: int, of: Sequence[ColumnElement[bool]]
) -> list[ClientEventRow]:
    """The utterances that somebody had set about when event `seq` was told, and that nobody had said or dropped."""
    last = (
        select(func.max(col(ClientEventRow.seq)))
        .join(
            ConversationRow,
            (col(ConversationRow.world_id) == ClientEventRow.world_id)
            & (col(ConversationRow.id) == ClientEventRow.conversation_id),
        )
        .where(
            ClientEventRow.world_id == world_id,
            col(ClientEventRow.seq) <= seq,
            col(ClientEventRow.kind).in_(_OF_AN_UTTERANCE),
            ConversationRow.phase == Phase.RUNNING,
            *of,
        )
        .group_by(col(ClientEventRow.conversation_id))
    )
    query = select(ClientEventRow).where(
        ClientEventRow.world_id == world_id,
        col(ClientEventRow.seq).in_(last),
        ClientEventRow.kind == UtteranceStarted.kind,
    )
    return list(session.exec(query.order_by(col(ClientEventRow.seq))))


def of_conversation(conversation_id: str) -> tuple[ColumnElement[bool], ...]:
    """Of client events: those of the conversation."""
    return (col(ClientEventRow.conversation_id) == conversation_id,)


def of_person(world_id: str, person_id: str) -> tuple[ColumnElement[bool], ...]:
    """Of client events: those of every conversation in which the person takes part."""
    part = select(ParticipantRow.conversation_id).where(
        ParticipantRow.world_id == world_id, ParticipantRow.person_id == person_id
    )
    return (col(ClientEventRow.conversation_id).in_(part),)
