"""Owns how what the core works out becomes the world's log, its movements and the character's day."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, func, select

from service.content.profile import RoutineBlock
from service.decision.basis import KEPT, Made
from service.decision.options import told_block
from service.memory.reflections import begin_reflections
from service.people.person import person_row
from service.runtime.world_session import WorldSession
from service.store.event_kinds import (
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Arrived,
    Changed,
    Decided,
    DecidedBy,
    Departed,
    FailedCall,
    Payload,
    Planned,
    Slept,
)
from service.store.events import note, pending
from service.store.insert import insert_rows, upsert_rows
from service.store.quality import MARKED
from service.store.tables import DecisionRow, MovementRow, QualityRow, SummaryRow
from world.actions import BUILT_IN, HOLD, WAIT, WALK
from world.events import Event, Kind
from world.life import Segment
from world.time import LATEST, WorldTime, iso

_TALKS = (Kind.TALK_STARTED, Kind.TALK_JOINED, Kind.TURN, Kind.TALK_LEFT, Kind.TALK_ENDED)
"""Kinds of events that the conversation itself writes to the log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """How a decision was made: this is part of its event."""

    by: DecidedBy
    thought: str = ""
    failure: str = ""
    failed_call: FailedCall | None = None
    plan: tuple[RoutineBlock, ...] = ()
    """The plan of the day, where it was made or changed with the decision."""
    made: tuple[Made, ...] = ()
    """What its model was asked."""
    checked: QualityRow | None = None
    """What is kept of a check of it."""


def publish(
    session: Session,
    world_session: WorldSession,
    events: Iterable[Event],
    why: Mapping[tuple[str, WorldTime], Why],
    *,
    at_once: WorldTime | None = None,
) -> None:
    """Write the events down, to be told when the clock has passed them; those until `at_once` are told now. The caller
    commits.
    """
    happened: list[tuple[Event, Payload]] = []
    walks: list[dict[str, Any]] = []
    bases = world_session.world.map.bases
    for event in events:
        stands = (HOLD, WAIT) if event.person_id in bases else (HOLD,)  # that an NPC stands at its post is no news
        if event.kind in _TALKS or event.data.get("action_id") in stands:
            continue
        made = why.get((event.person_id, event.time))
        if event.kind is Kind.DEPARTED:
            walks.append(_movement(world_session, event))
        if event.kind is Kind.DECIDED and made is not None and made.plan:
            happened.append((event, Planned(blocks=tuple(map(told_block, made.plan)))))
        happened.append((event, _payload(world_session, event, made)))
        if event.kind is Kind.STARTED and _ends_day(world_session, event):
            happened.append((event, Slept(cleared=fall_asleep(session, world_session, event.person_id, event.time))))
    later = []
    for event, payload in happened:
        if at_once is not None and event.time <= at_once:
            note(session, world_session.world.id, event.time, payload, event.person_id)
        else:
            later.append(pending(world_session.world.id, event.time, payload, event.person_id))
    insert_rows(session, later)
    upsert_rows(session, MovementRow, walks, ("path", "times"))


def keep_basis(
    session: Session, world_id: str, why: Mapping[tuple[str, WorldTime], Why], *, keep_prompts: bool
) -> None:
    """Write down what models were asked for these decisions, by person and time, and how good these were; the caller
    commits.
    """
    rows = [
        made.row(world_id, person_id, at, keep_prompt=keep_prompts)
        for (person_id, at), one in why.items()
        for made in one.made
    ]
    upsert_rows(session, DecisionRow, rows, KEPT)
    checked = [one.checked.model_dump() for one in why.values() if one.checked is not None]
    upsert_rows(session, QualityRow, checked, MARKED)


def fall_asleep(session: Session, world_session: WorldSession, character_id: str, at: WorldTime) -> int:
    """The character's day is over: the next one begins without its conversations, and it thinks them over. Answers how
    many they were.
    """
    world_id = world_session.world.id
    row = person_row(session, world_id, character_id, lock=True)
    day = select(func.count()).where(
        SummaryRow.world_id == world_id, SummaryRow.person_id == character_id, SummaryRow.night == row.sleeps
    )
    row.sleeps += 1
    world_session.reflecting |= begin_reflections(session, world_session.world, {character_id: at})
    return session.exec(day).one()


_PAYLOADS: Mapping[Kind, type[Payload]] = {
    Kind.ARRIVED: Arrived,
    Kind.ENDED: ActivityEnded,
    Kind.DECIDED: Decided,
    Kind.DEPARTED: Departed,
    Kind.STARTED: ActivityStarted,
    Kind.FAILED: ActionFailed,
    Kind.CHANGED: Changed,
}


def _payload(world_session: WorldSession, event: Event, made: Why | None) -> Payload:
    """What the log tells of what the core has worked out."""
    data: dict[str, Any] = dict(event.data)
    if event.kind is Kind.DECIDED and made is not None:
        failed = {"failure": made.failure or None, "failed_call": made.failed_call}
        data |= {"by": made.by, "thought": made.thought, **failed}
    elif event.kind is Kind.DEPARTED:
        walk = _walk(world_session, event)
        data = {"from_node_id": walk.path[0], "to_node_id": walk.path[-1], "arrives_at": iso(walk.arrival)}
    elif event.kind is Kind.STARTED:
        data["until"] = iso(WorldTime(min(int(data["until"]), LATEST)))
    return _PAYLOADS[event.kind](**data)


def _walk(world_session: WorldSession, event: Event) -> Segment:
    past = world_session.core.people[event.person_id].past
    return next(a.segment for a in reversed(past) if a.action_id == WALK and a.start == event.time)


def _movement(world_session: WorldSession, event: Event) -> dict[str, Any]:
    walk = _walk(world_session, event)
    return {
        "world_id": world_session.world.id,
        "character_id": event.person_id,
        "starts_at": walk.start,
        "path": list(walk.path),
        "times": list(walk.times),
    }


def _ends_day(world_session: WorldSession, event: Event) -> bool:
    action_id = str(event.data["action_id"])
    return action_id not in BUILT_IN and world_session.core.setting.catalogue.action(action_id).ends_day
