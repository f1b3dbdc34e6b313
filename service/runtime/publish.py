"""Owns how what the core works out becomes the world's log, its movements and the character's day."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert
from sqlmodel import Session, func, select

from service.decision.agent_state import PlanBlock
from service.people.person import person_row
from service.runtime.world_session import WorldSession
from service.store.events import IN_A_MINUTE, note
from service.store.tables import MovementRow, PendingEventRow, SummaryRow
from world.actions import BUILT_IN, HOLD, WALK
from world.events import Event, Kind
from world.people import Segment
from world.time import LATEST, WorldTime, iso

_KINDS = {
    Kind.ENDED: "activity_ended",
    Kind.ARRIVED: "arrived",
    Kind.DECIDED: "decided",
    Kind.DEPARTED: "departed",
    Kind.STARTED: "activity_started",
    Kind.FAILED: "action_failed",
    Kind.CHANGED: "changed",
}
"""What the log calls them. Of talks the conversation itself tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """What a decision was made with, beside what it was: told in its event."""

    by: str
    thought: str = ""
    failure: str = ""
    plan: tuple[PlanBlock, ...] = ()
    """The plan of the day, where it was made or changed with the decision."""


def publish(
    session: Session,
    living: WorldSession,
    events: Iterable[Event],
    why: Mapping[tuple[str, WorldTime], Why],
    *,
    at_once: WorldTime | None = None,
) -> None:
    """Write the events down, to be told when the clock has passed them; those until `at_once` are told now. The caller
    commits.
    """
    rows: list[dict[str, Any]] = []
    walks: list[dict[str, Any]] = []
    for event in events:
        if event.kind not in _KINDS or event.data.get("action_id") == HOLD:
            continue
        if event.kind is Kind.DEPARTED:
            walk = _walk(living, event)
            walks.append(_movement(living, event.person_id, walk))
            data: dict[str, Any] = _departed(walk)
        else:
            data = _data(event, why)
        if event.kind is Kind.DECIDED and (plan := _plan(event, why)):
            rows.append(_row(living.world.id, event, "planned", {"blocks": plan}))
        rows.append(_row(living.world.id, event, _KINDS[event.kind], data))
        if event.kind is Kind.STARTED and _ends_day(living, event):
            cleared = fall_asleep(session, living.world.id, event.person_id)
            rows.append(_row(living.world.id, event, "slept", {"cleared": cleared}))
    for row in rows:
        if at_once is not None and row["at"] <= at_once:
            note(session, living.world.id, row["at"], row["kind"], row["person_id"], **row["data"])
    later = [row for row in rows if at_once is None or row["at"] > at_once]
    if later:
        session.execute(insert(PendingEventRow), later)
    if walks:
        session.execute(insert(MovementRow), walks)


def fall_asleep(session: Session, world_id: str, character_id: str) -> int:
    """The character's day is over: the next one begins without its conversations. Answers how many they were."""
    row = person_row(session, world_id, character_id, lock=True)
    day = select(func.count()).where(
        SummaryRow.world_id == world_id, SummaryRow.person_id == character_id, SummaryRow.night == row.sleeps
    )
    row.sleeps += 1
    return session.exec(day).one()


def _row(world_id: str, event: Event, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "world_id": world_id,
        "at": event.time,
        "rank": IN_A_MINUTE.index(kind),
        "person_id": event.person_id,
        "key": "",
        "kind": kind,
        "data": data,
    }


def _data(event: Event, why: Mapping[tuple[str, WorldTime], Why]) -> dict[str, Any]:
    data: dict[str, Any] = dict(event.data)
    if event.kind is Kind.STARTED:
        data["until"] = iso(WorldTime(min(int(data["until"]), LATEST)))
    if event.kind is Kind.DECIDED:
        made = why.get((event.person_id, event.time))
        if made is not None:
            data |= {"by": made.by, "thought": made.thought}
            data |= {"failure": made.failure} if made.failure else {}
    return data


def _plan(event: Event, why: Mapping[tuple[str, WorldTime], Why]) -> list[dict[str, Any]]:
    made = why.get((event.person_id, event.time))
    return [
        {
            "starts": f"{block.starts // 60:02d}:{block.starts % 60:02d}",
            "activity": block.activity,
            "facility_id": block.facility_id,
            "action_id": block.action_id,
        }
        for block in (made.plan if made else ())
    ]


def _walk(living: WorldSession, event: Event) -> Segment:
    past = living.core.people[event.person_id].past
    return next(a.segment for a in reversed(past) if a.action_id == WALK and a.start == event.time)


def _departed(walk: Segment) -> dict[str, Any]:
    return {"from_node_id": walk.path[0], "to_node_id": walk.path[-1], "arrives_at": iso(walk.arrival)}


def _movement(living: WorldSession, character_id: str, segment: Segment) -> dict[str, Any]:
    return {
        "world_id": living.world.id,
        "character_id": character_id,
        "starts_at": segment.start,
        "path": list(segment.path),
        "times": list(segment.times),
    }


def _ends_day(living: WorldSession, event: Event) -> bool:
    action_id = str(event.data["action_id"])
    return action_id not in BUILT_IN and living.core.setting.catalogue.action(action_id).ends_day
