"""Owns promises in the store: which are open, how each reads, whether one was kept, and what follows from that.

A promise with a place and an hour, or a part of a day, is an appointment: whether it was kept shows in where the two
were. One for a part of a day without a place is kept where they talked then. Any other is kept or broken only where
somebody says so; else it lapses, and nothing follows. What follows is felt `FELT_AFTER` minutes after the promise was
judged: nobody has lived so far ahead of the clock that judges it (docs/decisions/0014).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy.orm import aliased
from sqlmodel import Session, col, func, select

from service.locales import clock_label, date_label
from service.people.commitment import Commitment, DayPart, Due, Promised, around, expires_at
from service.people.person import player_between, segments_between
from service.people.worlds import WorldView
from service.store.event_kinds import (
    CommitmentBroken,
    CommitmentDue,
    CommitmentKept,
    CommitmentMade,
    CommitmentMoved,
    CommitmentReleased,
)
from service.store.events import note, publish, schedule_event
from service.store.ids import derived_id
from service.store.memory_owner import count_up
from service.store.phase import CommitmentState
from service.store.tables import AttitudeChangeRow, CommitmentRow, ConversationRow, MemoryRow, ParticipantRow
from world.life import latest, node_at, walking_at
from world.time import MINUTES_PER_DAY, WorldTime, iso

FELT_AFTER = 20
"""Minutes between the judgement of the clock and what follows from it: as far as the quickest live ahead."""
RESENTED_MINUTES = 3 * MINUTES_PER_DAY
"""How long a broken promise is on the minds of the two."""


PromiseStatus = Literal["made", "moved", "released", "kept"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PromiseTold(Promised):
    """What a closing says of a promise, in `turn`: that it was made, or that the open one with `commitment_id` was
    moved to that `due`, released or kept.
    """

    status: PromiseStatus
    turn: int
    commitment_id: str | None = None


def open_commitments(session: Session, world: WorldView, *person_ids: str) -> list[Commitment]:
    """Those by these persons, and to them, that are open at the moment of `world`; the soonest first."""
    return [one for one in lasting_commitments(session, world, *person_ids) if one.is_open(world.now)]


def lasting_commitments(session: Session, world: WorldView, *person_ids: str) -> list[Commitment]:
    """Those that are open, and those whose time is not over though it is settled what came of them."""
    involved = col(CommitmentRow.by_id).in_(person_ids) | col(CommitmentRow.to_id).in_(person_ids)
    return _lasting(session, world, involved)


def commitments_by_person(session: Session, world: WorldView) -> dict[str, tuple[Commitment, ...]]:
    """Everybody's that are open at the world's clock, or may be later; the soonest first."""
    found: dict[str, list[Commitment]] = {}
    for one in _lasting(session, world):
        for person_id in (one.by_id, one.to_id):
            found.setdefault(person_id, []).append(one)
    return {person_id: tuple(all_of) for person_id, all_of in found.items()}


def commitment_line(world: WorldView, one: Commitment, person_id: str) -> str:
    """How it stands in the person's prompts: whose promise, since when, what, for when and where."""
    key = "people.promise.own" if one.by_id == person_id else "people.promise.others"
    since = world.ago(one.made_at)
    name = world.name_of(one.other(person_id))
    return world.say(key, name=name, since=since, what=one.what.rstrip(".。"), about=promised_for(world, one))


def pass_time(session: Session, world: WorldView, now: WorldTime) -> None:
    """The clock of `world` goes on to `now`: what falls due on the way is told, a part of a day when it begins, and
    what is over is judged; the caller commits.
    """
    due_at = func.coalesce(CommitmentRow.since_at, CommitmentRow.due_at)
    for row, at in session.exec(
        select(CommitmentRow, due_at).where(*_still_open(world), due_at > world.now, due_at <= now)
    ):
        schedule_event(session, world.id, WorldTime(at), CommitmentDue(**_told(row)), row.by_id, key=row.id)
    felt: list[MemoryRow] = []
    over = select(CommitmentRow).where(*_still_open(world), col(CommitmentRow.expires_at) <= now)
    for row in session.exec(over.order_by(col(CommitmentRow.expires_at), col(CommitmentRow.id))).all():
        end = WorldTime(row.expires_at)
        row.state, row.ended_at = _judged(session, world, row), end
        if row.state != CommitmentState.LAPSED:
            schedule_event(session, world.id, end, _outcome(row), row.by_id, key=row.id)
            felt += _follow(session, world, row, WorldTime(end + FELT_AFTER), by_clock=True)
    _remember(session, felt)


def settle(session: Session, world: WorldView, row: CommitmentRow, state: CommitmentState) -> None:
    """A client says what became of the promise, at the moment of `world`; the caller commits."""
    row.state, row.ended_at = state, world.now
    note(session, world.id, world.now, _outcome(row), row.by_id)
    if state != CommitmentState.RELEASED:
        _remember(session, _follow(session, world, row, world.now))
    session.add(row)


def settle_told(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    told: Sequence[PromiseTold],
    at: WorldTime,
    made_at: Callable[[PromiseTold], WorldTime],
) -> list[CommitmentRow]:
    """Write what a closing, of a conversation that was over `at`, says of promises; the caller commits. Nothing happens
    to one that something else ended meanwhile, nor is an appointment kept by words before its time. Answers those that
    were made, also by moving one.
    """
    made = []
    for index, one in enumerate(told):
        old = None if one.commitment_id is None else _ending(session, world, one, at)
        if one.commitment_id is not None and old is None:
            continue
        if one.status in ("made", "moved"):
            row = _made(conversation, one, made_at(one), index, old)
            session.add(row)
            told_made = CommitmentMade(conversation_id=conversation.id, **_told(row))
            publish(session, conversation, at, told_made, row.by_id, index=index)
            made.append(row)
        if old is not None:
            old.state, old.ended_at, old.ended_in = CommitmentState(one.status), at, conversation.id
            old.moved_to = made[-1].id if one.status == "moved" else None
            publish(session, conversation, at, _outcome(old), old.by_id, index=index)
            if one.status == "kept":
                _remember(session, _follow(session, world, old, at))
    session.flush()
    return made


def _ending(session: Session, world: WorldView, one: PromiseTold, at: WorldTime) -> CommitmentRow | None:
    """The row that ends with what was told; None: it does not end."""
    row = session.get(CommitmentRow, (world.id, one.commitment_id), with_for_update=True)
    if row is None or row.state != CommitmentState.OPEN:
        return None
    old = as_commitment(row)
    is_early = old.appointment is not None and old.window is not None and at < old.window[0]
    return None if one.status == "kept" and is_early else row


def _made(
    conversation: ConversationRow, one: PromiseTold, at: WorldTime, index: int, old: CommitmentRow | None
) -> CommitmentRow:
    """The row of a promise; of one that was moved the place stays where none was said, or the time, where another place
    was and no time.
    """
    place, node_id, due = one.place, one.node_id, one.due
    if old is not None and not place:
        place, node_id = old.place, old.node_id
    elif old is not None and due is None and place != old.place:
        due = as_commitment(old).due
    return CommitmentRow(
        world_id=conversation.world_id,
        id=derived_id(conversation.id, one.by_id, "commitment", index),
        by_id=one.by_id,
        to_id=one.to_id,
        what=one.what,
        place=place,
        node_id=node_id,
        due_at=None if due is None else due.at,
        since_at=None if due is None else due.since,
        has_hour=due is not None and due.has_hour,
        conversation_id=conversation.id,
        turn=one.turn,
        made_at=at,
        expires_at=expires_at(at, due),
    )


def as_commitment(row: CommitmentRow) -> Commitment:
    """A row as a value."""
    return Commitment(
        id=row.id,
        by_id=row.by_id,
        to_id=row.to_id,
        what=row.what,
        place=row.place,
        node_id=row.node_id,
        due=None
        if row.due_at is None
        else Due(
            at=WorldTime(row.due_at),
            since=None if row.since_at is None else WorldTime(row.since_at),
            has_hour=row.has_hour,
        ),
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


def promised_for(world: WorldView, one: Commitment) -> str:
    """`` (Thursday 2 April, 17:00; the pier)``: for when and where; "" where neither was said."""
    due, when = one.due, ""
    if due is not None and due.since is not None:
        day = date_label(due.since, world.language)
        when = world.say(f"people.promise.part.{DayPart.begun_at(due.since)}", day=day)
    elif due is not None:
        label = clock_label if due.has_hour else date_label
        when = label(due.at if due.has_hour else WorldTime(due.at - 1), world.language)
    facility = world.map.facilities.get(one.place)
    told = world.say("common.semicolon").join(filter(None, (when, facility.name if facility else one.place)))
    return world.say("people.promise.about", about=told) if told else ""


def _judged(session: Session, world: WorldView, row: CommitmentRow) -> CommitmentState:
    """What became of a promise by its end. An appointment is kept if both were there at once, broken if the promiser
    never was, else lapsed. A promise for a part of a day without a place is kept if they talked then, and never broken:
    what was promised may be a deed that nobody saw.
    """
    window = as_commitment(row).window
    if row.since_at is not None and window is not None and not row.place:
        return CommitmentState.KEPT if _talked(session, row, *window) else CommitmentState.LAPSED
    if window is None or row.node_id is None or row.node_id not in world.map.nodes:
        return CommitmentState.LAPSED
    there = [_minutes_at(session, world, person_id, row.node_id, *window) for person_id in (row.by_id, row.to_id)]
    if there[0] & there[1]:
        return CommitmentState.KEPT
    return CommitmentState.LAPSED if there[0] else CommitmentState.BROKEN


def _talked(session: Session, row: CommitmentRow, since: WorldTime, until: WorldTime) -> bool:
    """Whether the two talked with each other then, after the talk in which it was promised."""
    talk, one, other = ConversationRow, aliased(ParticipantRow), aliased(ParticipantRow)
    query = select(talk.id).where(
        talk.world_id == row.world_id,
        talk.id != row.conversation_id,
        talk.started_at < until,
        col(talk.ended_at).is_(None) | (col(talk.ended_at) >= since),
    )
    for there, person_id in ((one, row.by_id), (other, row.to_id)):
        query = query.where(
            there.world_id == talk.world_id, there.conversation_id == talk.id, there.person_id == person_id
        )
    return session.exec(query.limit(1)).first() is not None


def _minutes_at(
    session: Session, world: WorldView, person_id: str, node_id: str, since: WorldTime, until: WorldTime
) -> set[int]:
    """The minutes from `since` to before `until` in which the person stands within talking distance of the place."""
    near = around(world.setting, node_id)
    minutes = range(since, until)
    if person_id in world.map.posts:
        return set(minutes) if world.map.posts[person_id] in near else set()
    if person_id in world.cast.players:
        stood = player_between(session, world, person_id, since, until)
        return {t for t, found in stood.items() if found in near}
    if person_id not in world.cast.homes:
        return set()
    segments = segments_between(session, world, person_id, WorldTime(minutes[0]), WorldTime(minutes[-1]))
    held = ((t, latest(segments, WorldTime(t))) for t in minutes)
    return {
        t for t, segment in held if not walking_at(segment, WorldTime(t)) and node_at(segment, WorldTime(t)) in near
    }


def _remember(session: Session, felt: Sequence[MemoryRow]) -> None:
    """Write what people have on their minds. Their memories are locked in one order, as those of a closing are."""
    for one in sorted(felt, key=lambda one: one.person_id):
        one.revision = count_up(session, one.world_id, one.person_id)
        session.add(one)


def _follow(
    session: Session, world: WorldView, row: CommitmentRow, at: WorldTime, *, by_clock: bool = False
) -> list[MemoryRow]:
    """What follows from a kept or broken promise: the other likes the promiser more or less, and both remember it, a
    kept one for long, a broken one for some days. `by_clock`: the clock judged it, which saw them meet and no deed.
    """
    kept = row.state == CommitmentState.KEPT
    session.add(
        AttitudeChangeRow(
            world_id=world.id,
            owner_id=row.to_id,
            other_id=row.by_id,
            id=derived_id(row.id, "outcome"),
            at=at,
            conversation_id=row.ended_in,
            affinity_delta=world.settings.promise_kept if kept else world.settings.promise_broken,
        )
    )
    by, to = world.name_of(row.by_id), world.name_of(row.to_id)
    told = "met" if kept and by_clock else row.state
    return [
        MemoryRow(
            world_id=world.id,
            person_id=person_id,
            id=derived_id(row.id, "outcome", person_id),
            kind="observed" if kept else "mid_term",
            text=world.say(f"people.promise.{told}", by=by, to=to, what=row.what.rstrip(".。")),
            about=world.name_of(other_id),
            subject_id=other_id,
            importance=7,
            support="perceived",
            source="promise",
            evidence=[f"promise:{row.id}"],
            conversation_id=row.ended_in or row.conversation_id,
            partner_id=other_id,
            valid_from=at,
            known_from=at,
            expires_at=None if kept else WorldTime(at + RESENTED_MINUTES),
            level=None if kept else "high",
            revision=0,
        )
        for person_id, other_id in ((row.by_id, row.to_id), (row.to_id, row.by_id))
    ]


_Outcome = CommitmentKept | CommitmentBroken | CommitmentMoved | CommitmentReleased
_OUTCOMES: dict[CommitmentState, type[_Outcome]] = {
    CommitmentState.KEPT: CommitmentKept,
    CommitmentState.BROKEN: CommitmentBroken,
    CommitmentState.MOVED: CommitmentMoved,
    CommitmentState.RELEASED: CommitmentReleased,
}


def _outcome(row: CommitmentRow) -> _Outcome:
    moved = {} if row.moved_to is None else {"moved_to": row.moved_to}
    return _OUTCOMES[CommitmentState(row.state)](**_told(row), **moved)


def _told(row: CommitmentRow) -> dict[str, str | None]:
    return {
        "commitment_id": row.id,
        "to_id": row.to_id,
        "what": row.what,
        "place": row.place,
        "node_id": row.node_id,
        "due_at": None if row.due_at is None else iso(WorldTime(row.due_at)),
    }
