"""Owns a person's conversations in SQL, for every store: what each was about, and what was said in it.

What a person heard can be found once the conversation is closed for it: then it has a summary, whose revision says
since when. Until then the last lines are told as they were said (recall.py).
"""

from sqlalchemy import ColumnElement, select
from sqlmodel import Session, col

from service.memory.store import Episode, Group, HeardTurn
from service.store.tables import SummaryRow, TurnRow
from world.time import WorldTime


def read_episodes(session: Session, group: Group, *, after: int = -1) -> list[Episode]:
    """Those written after that revision, oldest first."""
    row = SummaryRow
    query = select(col(row.conversation_id), col(row.partner_id), col(row.summary), col(row.topics), col(row.at))
    ordered = query.where(*_mine(group, after)).order_by(col(row.at), col(row.conversation_id))
    return [
        Episode(conversation_id=key, partner_id=partner, summary=summary, topics=tuple(topics), at=WorldTime(at))
        for key, partner, summary, topics, at in session.execute(ordered)
    ]


def read_turns(session: Session, group: Group, *, after: int = -1) -> list[HeardTurn]:
    """What was said in the conversations that the person remembers since after that revision."""
    row = TurnRow
    turn = (col(row.conversation_id), col(row.turn), col(row.speaker_id), col(row.speaker_name), col(row.text))
    query = select(*turn, col(row.at), col(SummaryRow.partner_id)).join(
        SummaryRow,
        (col(SummaryRow.world_id) == col(row.world_id)) & (col(SummaryRow.conversation_id) == col(row.conversation_id)),
    )
    return [
        HeardTurn(
            conversation_id=key,
            turn=number,
            speaker_id=speaker_id,
            speaker_name=name,
            text=text,
            at=WorldTime(at),
            partner_id=partner,
        )
        for key, number, speaker_id, name, text, at, partner in session.execute(query.where(*_mine(group, after)))
    ]


def _mine(group: Group, after: int) -> tuple[ColumnElement[bool], ...]:
    return (
        col(SummaryRow.world_id) == group.world_id,
        col(SummaryRow.person_id) == group.person_id,
        col(SummaryRow.revision) > after,
    )
