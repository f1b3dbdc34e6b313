"""Owns a person's conversations in SQL, for every store: what each was about, and what was said in it.

What a person perceived can be found once the conversation is closed for it: then it has a summary, whose revision says
since when. Until then the last lines are told as they were said (recall.py). What it overheard has a row of its own.
Talks of a past that was given to it stand
beside, in tables of their own (seeding.py). What an author has corrected is read as corrected (authoring.py).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from sqlalchemy import JSON, ColumnElement, Select, delete, literal, select
from sqlmodel import Session, col

from service.memory.fading import Faded
from service.memory.revision import next_revision
from service.memory.store import Episode, Group, HeardTurn, Kind
from service.people.worlds import WorldView
from service.store.perceived import perceives, told_of_turn
from service.store.tables import (
    ConversationKey,
    CorrectionRow,
    OverheardRow,
    ParticipantRow,
    PastSummaryRow,
    PastTurnRow,
    SeedRow,
    SummaryRow,
    TurnRow,
    shared_alias,
)
from world.time import WorldTime

Corrections = Mapping[tuple[Kind, str], str | None]
"""By kind and id: the words that stand in the place of a turn's own, or None: it is deleted."""


def read_episodes(session: Session, group: Group, *, after: int = -1) -> list[Episode]:
    """Those written after that revision, oldest first."""
    found = [one for row in (SummaryRow, PastSummaryRow) for one in _episodes(session, row, group, after)]
    return sorted(found, key=lambda one: (one.at, one.conversation_id))


def read_turns(session: Session, group: Group, faded: Faded, *, after: int = -1) -> list[HeardTurn]:
    """What the person perceived in the conversations that it remembers since after that revision, and what it overheard
    since, but for faded ones.
    """
    corrected = read_corrections(session, group)
    heard = _perceived(session, group, faded, after)
    took_part = {one.key for one in heard}
    heard += [one for one in _overheard(session, group, faded, after) if one.key not in took_part]
    if corrected:
        heard = [_corrected(one, corrected) for one in heard]
    past = PastTurnRow
    given = (col(past.conversation_id), col(past.turn), col(past.speaker_id), col(past.speaker_name), col(past.text))
    query = select(*given, col(past.at), col(past.partner_id)).where(*_mine(PastTurnRow, group, after))
    return heard + _turns(session.execute(query))


def overhear(
    session: Session, world: WorldView, key: ConversationKey, person_id: str, turns: Iterable[int], known_at: WorldTime
) -> None:
    """Let the person remember, from `known_at` on, these turns of a conversation that it takes no part in, and that
    have been said; the caller commits.
    """
    group = Group(world_id=world.id, person_id=person_id)
    session.add(
        OverheardRow(
            **group.whose,
            conversation_id=key.conversation_id,
            turns=sorted(turns),
            known_at=known_at,
            revision=next_revision(session, group),
        )
    )


def read_corrections(session: Session, group: Group) -> Corrections:
    """What authors have made of single memories."""
    row = CorrectionRow
    query = select(col(row.kind), col(row.memory_id), col(row.text)).where(*group.owns(row))
    return {(Kind(kind), key): text for kind, key, text in session.execute(query)}


def deleted(session: Session, group: Group) -> frozenset[tuple[Kind, str]]:
    """What authors have deleted."""
    return frozenset(key for key, text in read_corrections(session, group).items() if text is None)


def acquainted(session: Session, world: WorldView, person_ids: Collection[str]) -> set[frozenset[str]]:
    """Which two of them knew each other before they first talked here: by an author's word, or from the past that was
    given to one of them.
    """
    one, other = col(SeedRow.person_id), col(SeedRow.partner_id)
    given = select(one, other).where(col(SeedRow.world_id) == world.id, one.in_(person_ids), other.in_(person_ids))
    authored = (pair for pair in combinations(person_ids, 2) if world.cast.are_acquainted(*pair))
    return {frozenset(pair) for pair in (*session.execute(given.distinct()), *authored)}


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
    others = col(SummaryRow.others) if row is SummaryRow else literal([], JSON)
    for key, partner, summary, topics, at, more in session.execute(
        select(*columns, others).where(*_mine(row, group, after), col(row.summary) != "")
    ):
        yield Episode(
            conversation_id=key,
            partner_id=partner,
            summary=summary,
            topics=tuple(topics),
            at=WorldTime(at),
            others=tuple(more),
        )


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


_TURN = tuple(
    col(getattr(TurnRow, name))
    for name in ("conversation_id", "turn", "speaker_id", "speaker_name", "text", "at", "act", "heard_by", "seen_by")
)


def _turns_of(row: type[SummaryRow | OverheardRow], *columns: Any) -> Select[Any]:
    """Of the turns of a person's conversations, which `row` has."""
    return select(*_TURN, *columns).join(
        row, (col(row.world_id) == col(TurnRow.world_id)) & (col(row.conversation_id) == col(TurnRow.conversation_id))
    )


def _perceived(session: Session, group: Group, faded: Faded, after: int) -> list[HeardTurn]:
    row = SummaryRow
    there = (col(row.at) >= faded.since) | col(row.conversation_id).in_(faded.still)
    query = _turns_of(row, col(row.partner_id), col(row.others), col(row.at)).where(*_mine(row, group, after), there)
    rows = session.execute(query).all()
    people = _companies(session, group, after) if rows else {}
    one_of_two = ParticipantRow(**group.whose, conversation_id="", seat=0)
    heard = []
    for *turn, act, heard_by, seen_by, partner_id, others, known_at in rows:
        key, number, speaker_id, _, text, _ = turn
        everybody = (partner_id, *others)
        company = people.get(key, ())
        own = next((one for one in company if one.person_id == group.person_id), one_of_two)
        hears, sees = (perceives(own, number, speaker_id, only) for only in (heard_by, seen_by))
        said = told_of_turn(act if sees else "", text if hears else "")
        if company:
            with_it = (
                one.person_id for one in company if one is not own and perceives(one, number, speaker_id, heard_by)
            )
            partner_id = speaker_id if speaker_id != group.person_id else next(with_it, "")
        if said:
            more = everybody if company else ()
            late = None if own.left_turn is None else WorldTime(known_at)
            heard += [replace(one, text=said, others=more, later=late) for one in _turns([(*turn, partner_id)])]
    return heard


def _overheard(session: Session, group: Group, faded: Faded, after: int) -> list[HeardTurn]:
    row = OverheardRow
    there = (col(row.known_at) >= faded.since) | col(row.conversation_id).in_(faded.still)
    query = _turns_of(row, col(row.turns), col(row.known_at)).where(*_mine(row, group, after), there)
    return [
        replace(one, later=WorldTime(known_at), overheard=True)
        for *turn, _, _, _, turns, known_at in session.execute(query)
        for one in _turns([(*turn, turn[2])])
        if one.turn in turns
    ]


def _companies(session: Session, group: Group, after: int) -> Mapping[str, list[ParticipantRow]]:
    """Who took part in those of the person's conversations, written after that revision, that had more than two, in the
    order of their seats.
    """
    row, third = ParticipantRow, shared_alias(ParticipantRow)
    mine = select(col(SummaryRow.conversation_id)).where(*_mine(SummaryRow, group, after))
    more = select(third).where(
        col(third.world_id) == col(row.world_id),
        col(third.conversation_id) == col(row.conversation_id),
        col(third.seat) > 1,
    )
    query = select(row).where(col(row.world_id) == group.world_id, col(row.conversation_id).in_(mine), more.exists())
    found: dict[str, list[ParticipantRow]] = {}
    for one in session.scalars(query.order_by(col(row.conversation_id), col(row.seat))):
        found.setdefault(one.conversation_id, []).append(one)
    return found


def _mine(
    row: type[SummaryRow | PastSummaryRow | PastTurnRow | OverheardRow], group: Group, after: int
) -> tuple[ColumnElement[bool], ...]:
    return *group.owns(row), col(row.revision) > after
