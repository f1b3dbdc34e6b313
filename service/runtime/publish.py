"""Owns how what happened in a living world is written down, and told when the clock has passed it."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlmodel import Session, func, select

from service.decision.choose import KEPT, Chosen
from service.decision.options import told_block
from service.memory.mind import begin_reflections
from service.people.person import person_row
from service.runtime.world_session import WorldSession
from service.store.event_kinds import (
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Arrived,
    Changed,
    Decided,
    Departed,
    Payload,
    Planned,
    Slept,
)
from service.store.events import note, pending
from service.store.insert import insert_rows, upsert_rows
from service.store.quality import MARKED
from service.store.tables import DecisionRow, MovementRow, QualityRow, SummaryRow
from world.actions import BUILT_IN, HOLD, WAIT, WALK
from world.events import Event, EventKind
from world.life import Segment
from world.time import LATEST, WorldTime, iso

_TALKS = (EventKind.TALK_STARTED, EventKind.TALK_JOINED, EventKind.TURN, EventKind.TALK_LEFT, EventKind.TALK_ENDED)
"""Kinds of events that the conversation itself writes to the log."""


def publish(
    session: Session,
    world_session: WorldSession,
    events: Iterable[Event],
    chosen: Mapping[tuple[str, WorldTime], Chosen],
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
        decided = chosen.get((event.person_id, event.time))
        if event.kind is EventKind.DEPARTED:
            walk = _walk(world_session, event)
            moved = {"starts_at": walk.start, "path": list(walk.path), "times": list(walk.times)}
            walks.append({"world_id": world_session.world.id, "character_id": event.person_id, **moved})
        if event.kind is EventKind.DECIDED and decided and decided.planned and decided.agent_state.plan:
            happened.append((event, Planned(blocks=tuple(map(told_block, decided.agent_state.plan)))))
        happened.append((event, _payload(world_session, event, decided)))
        if event.kind is EventKind.STARTED and _ends_day(world_session, event):
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
    session: Session, world_id: str, chosen: Mapping[tuple[str, WorldTime], Chosen], *, keep_prompts: bool
) -> None:
    """Write down what models were asked for these decisions, by person and time, and how good these were; the caller
    commits.
    """
    left_out = set() if keep_prompts else {"prompt"}
    asked = [made.model_dump(exclude=left_out) for one in chosen.values() for made in one.made]
    upsert_rows(session, DecisionRow, asked, KEPT)
    checked = [one.checked.row.model_dump() for one in chosen.values() if one.checked is not None]
    upsert_rows(session, QualityRow, checked, MARKED)


def fall_asleep(session: Session, world_session: WorldSession, character_id: str, at: WorldTime) -> int:
    """End the character's day: the next one begins without its conversations, and a reflection on them is due. Answers
    how many they were.
    """
    world_id = world_session.world.id
    row = person_row(session, world_id, character_id, lock=True)
    day = select(func.count()).where(
        SummaryRow.world_id == world_id, SummaryRow.person_id == character_id, SummaryRow.night == row.sleeps
    )
    row.sleeps += 1
    world_session.reflecting |= begin_reflections(session, world_session.world, {character_id: at})
    return session.exec(day).one()


_PAYLOADS: Mapping[EventKind, type[Payload]] = {
    EventKind.ARRIVED: Arrived,
    EventKind.ENDED: ActivityEnded,
    EventKind.DECIDED: Decided,
    EventKind.DEPARTED: Departed,
    EventKind.STARTED: ActivityStarted,
    EventKind.FAILED: ActionFailed,
    EventKind.CHANGED: Changed,
}


def _payload(world_session: WorldSession, event: Event, chosen: Chosen | None) -> Payload:
    """What the log tells of what the core has worked out."""
    data: dict[str, Any] = dict(event.data)
    if event.kind is EventKind.DECIDED and chosen is not None:
        data |= {"by": chosen.by, "thought": chosen.agent_state.thought, "failed_call": chosen.failed_call}
        data["failure"] = chosen.failure.slug if chosen.failure else None
    elif event.kind is EventKind.DEPARTED:
        walk = _walk(world_session, event)
        data = {"from_node_id": walk.path[0], "to_node_id": walk.path[-1], "arrives_at": iso(walk.arrival)}
    elif event.kind is EventKind.STARTED:
        data["until"] = iso(WorldTime(min(int(data["until"]), LATEST)))
    return _PAYLOADS[event.kind](**data)


def _walk(world_session: WorldSession, event: Event) -> Segment:
    past = world_session.core.people[event.person_id].past
    return next(a.segment for a in reversed(past) if a.action_id == WALK and a.start == event.time)


def _ends_day(world_session: WorldSession, event: Event) -> bool:
    action_id = str(event.data["action_id"])
    return action_id not in BUILT_IN and world_session.core.setting.catalogue.action(action_id).ends_day
