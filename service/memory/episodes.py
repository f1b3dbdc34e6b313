"""Owns a person's conversations in SQL, for every store: what each was about, and what was said in it.

What a person perceived can be found once the conversation is closed for it: then it has a summary, whose revision says
since when. Until then the last lines are told as they were said (recall.py). What it overheard has a row of its own.
Talks of a past that was given to it are rows of its memories (seeding.py), and so is a turn that an author has
corrected (authoring.py).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from sqlalchemy import ColumnElement, Select, select
from sqlmodel import Session, col

from service.memory.fading import Faded
from service.memory.record import Episode, Group, HeardTurn, Kind, Source, Support
from service.memory.revision import next_revision
from service.people.worlds import WorldView
from service.store.perception import perceives, told_of_turn
from service.store.tables import (
    ConversationKey,
    MemoryRow,
    OverheardRow,
    ParticipantRow,
    SummaryRow,
    TurnRow,
    shared_alias,
)
from world.time import WorldTime


def read_episodes(session: Session, group: Group, *, after: int = -1) -> list[Episode]:
    """Those written after that revision, oldest first. A summary that an author has deleted is empty: its row tells
    that the talk was closed.
    """
    row = SummaryRow
    own = select(row).where(*_mine(row, group, after), col(row.summary) != "")
    found = [episode_of(one) for one in session.scalars(own)]
    found += [
        Episode(
            conversation_id=given.id,
            partner_id=given.partner_id,
            text=given.text,
            topics=tuple(given.topics),
            at=WorldTime(given.known_from),
            support=Support.AUTHOR,
        )
        for given in _views(session, group, Kind.SUMMARY, after)
    ]
    return sorted(found, key=lambda one: (one.at, one.conversation_id))


def episode_of(row: SummaryRow) -> Episode:
    """The episode that a summary tells of."""
    return Episode(
        conversation_id=row.conversation_id,
        partner_id=row.partner_id,
        text=row.summary,
        topics=tuple(row.topics),
        at=WorldTime(row.at),
        others=tuple(row.others),
        support=Support(row.support),
        kept_from=tuple(row.kept_from),
    )


def read_turns(session: Session, group: Group, faded: Faded, *, after: int = -1) -> list[HeardTurn]:
    """What the person perceived in the conversations that it remembers since after that revision, and what it overheard
    since, but for faded ones and for turns that are not to be quoted.
    """
    given = {one.id: _given_turn(one) for one in _views(session, group, Kind.TURN, -1)}
    heard = _perceived(session, group, faded, after)
    took_part = {one.id for one in heard}
    heard += [one for one in _overheard(session, group, faded, after) if one.id not in took_part]
    heard = [replace(one, text=given.pop(one.id).text) if one.id in given else one for one in heard]
    past = {one.id for one in _views(session, group, Kind.TURN, after) if one.source != Source.AUTHOR}
    return heard + [one for key, one in given.items() if key in past]


def _views(session: Session, group: Group, kind: Kind, after: int) -> Sequence[MemoryRow]:
    """Rows that stand for turns or summaries: those given, and corrections by an author."""
    which = (*_mine(MemoryRow, group, after), col(MemoryRow.kind) == kind, col(MemoryRow.deleted).is_(False))
    return session.scalars(select(MemoryRow).where(*which)).all()


def _given_turn(row: MemoryRow) -> HeardTurn:
    return HeardTurn(
        conversation_id=row.conversation_id,
        turn=row.turns[0],
        speaker_id=row.told_by or "",
        speaker_name=row.about,
        text=row.text,
        at=WorldTime(row.known_from),
        partner_id=row.partner_id,
        given=True,
    )


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


def deleted(session: Session, group: Group) -> frozenset[tuple[Kind, str]]:
    """What authors have deleted, by kind and id."""
    row = MemoryRow
    query = select(col(row.kind), col(row.id)).where(*group.owns(row), col(row.deleted).is_(True))
    return frozenset((Kind(kind), key) for kind, key in session.execute(query))


def acquainted(session: Session, world: WorldView, person_ids: Collection[str]) -> set[frozenset[str]]:
    """Which two of them knew each other before they first talked here: by an author's word, or from the past that was
    given to one of them.
    """
    one, other = col(MemoryRow.person_id), col(MemoryRow.partner_id)
    here = (col(MemoryRow.world_id) == world.id, one.in_(person_ids), other.in_(person_ids))
    given = select(one, other).where(*here, col(MemoryRow.given_id) != "")
    authored = (pair for pair in combinations(person_ids, 2) if world.cast.are_acquainted(*pair))
    return {frozenset(pair) for pair in (*session.execute(given.distinct()), *authored)}


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
            kept_from=tuple(kept_from),
        )
        for key, number, speaker_id, name, text, at, kept_from, partner in rows
    ]


_TURN = tuple(
    col(getattr(TurnRow, name))
    for name in "conversation_id turn speaker_id speaker_name text at kept_from act heard_by seen_by".split()
)


def _turns_of(row: type[SummaryRow | OverheardRow], *columns: Any) -> Select[Any]:
    """Of the turns of a person's conversations, which `row` has."""
    both = (col(row.world_id) == col(TurnRow.world_id)) & (col(row.conversation_id) == col(TurnRow.conversation_id))
    return select(*_TURN, *columns).join(row, both).where(col(TurnRow.not_to_quote).is_(False))


def _perceived(session: Session, group: Group, faded: Faded, after: int) -> list[HeardTurn]:
    row = SummaryRow
    there = (col(row.at) >= faded.since) | col(row.conversation_id).in_(faded.still)
    kept = select(col(MemoryRow.conversation_id)).where(
        *group.owns(MemoryRow), col(MemoryRow.source) == Source.CONVERSATION, col(MemoryRow.deleted).is_(False)
    )
    is_retold = col(row.conversation_id).in_(kept)
    query = _turns_of(row, col(row.partner_id), col(row.others), col(row.at), is_retold)
    rows = session.execute(query.where(*_mine(row, group, after), there)).all()
    people = _companies(session, group, after) if rows else {}
    one_of_two = ParticipantRow(**group.whose, conversation_id="", seat=0)
    heard = []
    for *turn, act, heard_by, seen_by, partner_id, others, known_at, retold in rows:
        key, number, speaker_id, _, text, *_ = turn
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
            told = {"text": said, "others": more, "later": late, "retold": retold}
            heard += [replace(one, **told) for one in _turns([(*turn, partner_id)])]
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
    row: type[SummaryRow | MemoryRow | OverheardRow], group: Group, after: int
) -> tuple[ColumnElement[bool], ...]:
    return *group.owns(row), col(row.revision) > after
