"""Owns promises in the store: which are open, how each reads, whether one was kept, and what follows from that.

A promise with a place and an hour is an appointment: whether it was kept shows in where the two were. Any other is kept
or broken only where somebody says so; else it lapses, and nothing follows. What follows is felt `FELT_AFTER` minutes
after the promise was judged: nobody has lived so far ahead of the clock that judges it (docs/decisions/0014).
"""

from itertools import islice
from typing import Any

from sqlmodel import Session, col, select

from service.locales.time import clock_label, date_label
from service.people.agenda import EARLY_MINUTES, LAPSE_MINUTES, LATE_MINUTES, Commitment, around
from service.people.whereabouts import segments_between, standing_players
from service.people.worlds import WorldView
from service.store.event_kinds import CommitmentBroken, CommitmentDue, CommitmentKept, CommitmentMade
from service.store.events import note, schedule_event
from service.store.ids import derived_id
from service.store.phase import CommitmentState
from service.store.publish import publish
from service.store.tables import AttitudeChangeRow, CommitmentRow, ConversationRow, MidTermRow
from world.movement import latest, node_at, walking_at
from world.time import WorldTime, iso

MOST_TOLD = 6
"""How many promises a closing is told of."""
FELT_AFTER = 20
"""Minutes between the judgement of the clock and what follows from it: as far as the quickest live ahead."""


def open_commitments(session: Session, world: WorldView, *person_ids: str) -> list[Commitment]:
    """Those by these persons, and to them, that are open at the moment of `world`; the soonest first."""
    involved = col(CommitmentRow.by_id).in_(person_ids) | col(CommitmentRow.to_id).in_(person_ids)
    return [one for one in _lasting(session, world, involved) if one.is_open(world.now)]


def told_commitments(session: Session, world: WorldView, one_id: str, other_id: str) -> list[Commitment]:
    """What the two have promised each other and is open at the moment of `world`, and is no appointment: only words may
    keep it. What is over soonest comes first, at most `MOST_TOLD`.
    """
    pair = {one_id, other_id}
    found = (
        one
        for one in open_commitments(session, world, one_id)
        if {one.by_id, one.to_id} == pair and one.appointment is None
    )
    return list(islice(found, MOST_TOLD))


def agendas(session: Session, world: WorldView) -> dict[str, tuple[Commitment, ...]]:
    """Everybody's that are open at the world's clock, or may be later; the soonest first."""
    found: dict[str, list[Commitment]] = {}
    for one in _lasting(session, world):
        for person_id in (one.by_id, one.to_id):
            found.setdefault(person_id, []).append(one)
    return {person_id: tuple(all_of) for person_id, all_of in found.items()}


def commitment_line(world: WorldView, one: Commitment, person_id: str) -> str:
    """How it stands in the person's prompts: whose promise, to whom, for when and where, and its words."""
    key = "people.promise.own" if one.by_id == person_id else "people.promise.others"
    return world.say(key, name=world.name_of(one.other(person_id)), about=_about(world, one), words=one.words)


def told_made(row: CommitmentRow) -> CommitmentMade:
    """What is told of a promise that was just made."""
    return CommitmentMade(conversation_id=row.conversation_id, **_told(row))


def pass_time(session: Session, world: WorldView, now: WorldTime) -> None:
    """The clock of `world` goes on to `now`: what falls due on the way is told, and what is over is judged; the caller
    commits.
    """
    due = select(CommitmentRow).where(
        *_still_open(world), col(CommitmentRow.due_at) > world.now, col(CommitmentRow.due_at) <= now
    )
    for row in session.exec(due):
        schedule_event(
            session, world.id, WorldTime(row.due_at or 0), CommitmentDue(**_told(row)), row.by_id, key=row.id
        )
    over = select(CommitmentRow).where(*_still_open(world), col(CommitmentRow.expires_at) <= now)
    for row in session.exec(over.order_by(col(CommitmentRow.expires_at), col(CommitmentRow.id))).all():
        end = WorldTime(row.expires_at)
        row.state, row.ended_at = _judged(session, world, row), end
        if row.state != CommitmentState.LAPSED:
            schedule_event(session, world.id, end, _outcome(row), row.by_id, key=row.id)
            _follow(session, world, row, WorldTime(end + FELT_AFTER))


def settle(session: Session, world: WorldView, row: CommitmentRow, state: CommitmentState) -> None:
    """A client says what became of the promise, at the moment of `world`; the caller commits."""
    row.state, row.ended_at = state, world.now
    if state in (CommitmentState.KEPT, CommitmentState.BROKEN):
        note(session, world.id, world.now, _outcome(row), row.by_id)
        _follow(session, world, row, world.now)
    session.add(row)


def keep_told(
    session: Session, world: WorldView, conversation: ConversationRow, commitment_id: str, at: WorldTime, *, index: int
) -> None:
    """The words of the conversation, over at `at`, say that the promise was kept; the caller commits. Nothing happens
    where something else ended it meanwhile. `index` parts several of one conversation.
    """
    row = session.get(CommitmentRow, (world.id, commitment_id), with_for_update=True)
    if row is None or row.state != CommitmentState.OPEN:
        return
    row.state, row.ended_at = CommitmentState.KEPT, at
    publish(session, conversation, at, _outcome(row), row.by_id, index=index)
    _follow(session, world, row, at, conversation.id)
    session.add(row)


def told_kept_in(session: Session, row: CommitmentRow) -> str | None:
    """The conversation whose words said that the promise was kept; None: none did."""
    felt = session.get(AttitudeChangeRow, (row.world_id, row.to_id, row.by_id, derived_id(row.id, "outcome")))
    return felt.conversation_id if felt else None


def as_commitment(row: CommitmentRow) -> Commitment:
    """A row as a value."""
    return Commitment(
        id=row.id,
        by_id=row.by_id,
        to_id=row.to_id,
        what=row.what,
        words=row.words,
        place=row.place,
        node_id=row.node_id,
        due_at=None if row.due_at is None else WorldTime(row.due_at),
        has_hour=row.has_hour,
        is_firm=row.is_firm,
        made_at=WorldTime(row.made_at),
        ends_at=WorldTime(row.expires_at if row.ended_at is None else row.ended_at),
    )


def _lasting(session: Session, world: WorldView, *which: Any) -> list[Commitment]:
    query = select(CommitmentRow).where(
        CommitmentRow.world_id == world.id,
        CommitmentRow.expires_at > world.now,
        *which,
    )
    rows = session.exec(query.order_by(col(CommitmentRow.expires_at), col(CommitmentRow.id)))
    return [as_commitment(row) for row in rows]


def _still_open(world: WorldView) -> tuple[Any, ...]:
    return CommitmentRow.world_id == world.id, CommitmentRow.state == CommitmentState.OPEN


def _about(world: WorldView, one: Commitment) -> str:
    """``Thursday 2 April, 17:00, the pier``; "" where neither was said."""
    parts = [one.place]
    if one.due_at is not None:
        last = WorldTime(one.due_at - 1)
        parts.insert(0, clock_label(one.due_at, world.language) if one.has_hour else date_label(last, world.language))
    told = world.say("common.semicolon").join(filter(None, parts))
    return world.say("people.promise.about", about=told) if told else ""


def _judged(session: Session, world: WorldView, row: CommitmentRow) -> CommitmentState:
    """Of an appointment: kept, if both were there at once; broken, if who promised it never was; else it lapses."""
    at = as_commitment(row).appointment
    if at is None or row.node_id is None or row.node_id not in world.map.nodes:
        return CommitmentState.LAPSED
    there = [_minutes_at(session, world, person_id, row.node_id, at) for person_id in (row.by_id, row.to_id)]
    if there[0] & there[1]:
        return CommitmentState.KEPT
    return CommitmentState.LAPSED if there[0] else CommitmentState.BROKEN


def _minutes_at(session: Session, world: WorldView, person_id: str, node_id: str, at: WorldTime) -> set[int]:
    """The minutes around `at` in which the person stands within talking distance of the place."""
    near = around(world.setting, node_id)
    minutes = range(at - EARLY_MINUTES, at + LATE_MINUTES)
    if person_id in world.map.posts:
        return set(minutes) if world.map.posts[person_id] in near else set()
    if person_id in world.cast.players:
        stood = {t: standing_players(session, world, WorldTime(t), only=[person_id]) for t in minutes}
        return {t for t, found in stood.items() if found.get(person_id) in near}
    if person_id not in world.cast.characters:
        return set()
    segments = segments_between(session, world, person_id, WorldTime(minutes[0]), WorldTime(minutes[-1]))
    held = ((t, latest(segments, WorldTime(t))) for t in minutes)
    return {
        t for t, segment in held if not walking_at(segment, WorldTime(t)) and node_at(segment, WorldTime(t)) in near
    }


def _follow(session: Session, world: WorldView, row: CommitmentRow, at: WorldTime, told_in: str | None = None) -> None:
    """The other likes who promised it more, or less; and both have it in mind for some days. `told_in` is the
    conversation in which it was said.
    """
    kept = row.state == CommitmentState.KEPT
    session.add(
        AttitudeChangeRow(
            world_id=world.id,
            owner_id=row.to_id,
            other_id=row.by_id,
            id=derived_id(row.id, "outcome"),
            at=at,
            conversation_id=told_in,
            affinity_delta=world.settings.promise_kept if kept else world.settings.promise_broken,
        )
    )
    for person_id, other_id in ((row.by_id, row.to_id), (row.to_id, row.by_id)):
        whose = "own" if person_id == row.by_id else "others"
        session.add(
            MidTermRow(
                world_id=world.id,
                person_id=person_id,
                id=derived_id(row.id, "outcome", person_id),
                content=world.say(f"people.promise.{row.state}_{whose}", name=world.name_of(other_id), words=row.words),
                importance="high",
                created_at=at,
                expires_at=WorldTime(at + LAPSE_MINUTES),
                partner_id=other_id,
                conversation_id=told_in or row.conversation_id,
                kind="commitment",
            )
        )


def _outcome(row: CommitmentRow) -> CommitmentKept | CommitmentBroken:
    return (CommitmentKept if row.state == CommitmentState.KEPT else CommitmentBroken)(**_told(row))


def _told(row: CommitmentRow) -> dict[str, str | None]:
    return {
        "commitment_id": row.id,
        "to_id": row.to_id,
        "words": row.words,
        "place": row.place,
        "node_id": row.node_id,
        "due_at": None if row.due_at is None else iso(WorldTime(row.due_at)),
    }
