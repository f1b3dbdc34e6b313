"""Owns a person's conversations in SQL, for every store: what each was about, and what was said in it.

What a person heard can be found once the conversation is closed for it: then it has a summary, whose revision says
since when. Until then the last lines are told as they were said (recall.py). Talks of a past that was given to it stand
beside, in tables of their own (seeding.py). What an author has corrected is read as corrected (authoring.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, delete, select
from sqlmodel import Session, col

from service.memory.fading import Faded
from service.memory.store import Episode, Group, HeardTurn, Kind
from service.store.tables import CorrectionRow, PastSummaryRow, PastTurnRow, SeedRow, SummaryRow, TurnRow
from world.time import WorldTime

Corrections = Mapping[tuple[Kind, str], str | None]
"""By kind and id: the words that stand in the place of a turn's own, or None: it is deleted."""


def read_episodes(session: Session, group: Group, *, after: int = -1) -> list[Episode]:
    """Those written after that revision, oldest first."""
    found = [one for row in (SummaryRow, PastSummaryRow) for one in _episodes(session, row, group, after)]
    return sorted(found, key=lambda one: (one.at, one.conversation_id))


def read_turns(session: Session, group: Group, faded: Faded, *, after: int = -1) -> list[HeardTurn]:
    """What was said in the conversations that the person remembers since after that revision, but for faded ones."""
    row = TurnRow
    turn = (col(row.conversation_id), col(row.turn), col(row.speaker_id), col(row.speaker_name), col(row.text))
    query = select(*turn, col(row.at), col(SummaryRow.partner_id)).join(
        SummaryRow,
        (col(SummaryRow.world_id) == col(row.world_id)) & (col(SummaryRow.conversation_id) == col(row.conversation_id)),
    )
    corrected = read_corrections(session, group)
    there = (col(SummaryRow.at) >= faded.since) | col(SummaryRow.conversation_id).in_(faded.still)
    heard = _turns(session.execute(query.where(*_mine(SummaryRow, group, after), there)))
    if corrected:
        heard = [_corrected(one, corrected) for one in heard]
    past = PastTurnRow
    given = (col(past.conversation_id), col(past.turn), col(past.speaker_id), col(past.speaker_name), col(past.text))
    query = select(*given, col(past.at), col(past.partner_id)).where(*_mine(PastTurnRow, group, after))
    return heard + _turns(session.execute(query))


def read_corrections(session: Session, group: Group) -> Corrections:
    """What authors have made of single memories."""
    row = CorrectionRow
    query = select(col(row.kind), col(row.memory_id), col(row.text)).where(*group.owns(row))
    return {(Kind(kind), key): text for kind, key, text in session.execute(query)}


def deleted(session: Session, group: Group) -> frozenset[tuple[Kind, str]]:
    """What authors have deleted."""
    return frozenset(key for key, text in read_corrections(session, group).items() if text is None)


def forget_past(session: Session, group: Group, partner_id: str | None) -> None:
    """Remove the talks of a given past, or those that were with the partner, and word of what was given; the caller
    commits.
    """
    for row in (PastTurnRow, PastSummaryRow, SeedRow):
        which = [*group.owns(row)]
        if partner_id is not None:
            which.append(col(row.partner_id) == partner_id)
        session.execute(delete(row).where(*which))


def _episodes(session: Session, row: type[SummaryRow | PastSummaryRow], group: Group, after: int) -> Iterable[Episode]:
    """A summary that an author has deleted is empty: the row tells that the talk was closed."""
    columns = (col(row.conversation_id), col(row.partner_id), col(row.summary), col(row.topics), col(row.at))
    for key, partner, summary, topics, at in session.execute(
        select(*columns).where(*_mine(row, group, after), col(row.summary) != "")
    ):
        yield Episode(conversation_id=key, partner_id=partner, summary=summary, topics=tuple(topics), at=WorldTime(at))


def _turns(rows: Iterable[Any]) -> list[HeardTurn]:
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
        for key, number, speaker_id, name, text, at, partner in rows
    ]


def _corrected(turn: HeardTurn, corrected: Corrections) -> HeardTurn:
    """A deleted one is left to who takes it in."""
    text = corrected.get((Kind.TURN, turn.key))
    return turn if text is None else replace(turn, text=text)


def _mine(
    row: type[SummaryRow | PastSummaryRow | PastTurnRow], group: Group, after: int
) -> tuple[ColumnElement[bool], ...]:
    return *group.owns(row), col(row.revision) > after
