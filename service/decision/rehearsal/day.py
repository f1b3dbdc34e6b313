"""Owns the rehearsed plan: the usual day from now on, what is closed or broken spent at home, asleep at the end."""

from service.decision.scene import MAX_BLOCKS, MIN_BLOCKS, DayPlan, PlanLine, PlannedBlock, PlanPlace, PlanScene
from service.decision.wording import clock
from world.time import MINUTES_PER_DAY

_SLEEP = {"en": "Goes to sleep", "ja": "眠る"}
_REST = {"en": "Takes it slowly", "ja": "ゆっくり過ごす"}
_BEFORE_SLEEP = 60


def plan_day(scene: PlanScene) -> DayPlan:
    """The lines of the day that are still to come, the current one from now on."""
    blocks = [_block(scene, line, max(line.at, scene.at)) for line in _left(scene)]
    if not blocks:
        blocks = [PlannedBlock(starts=scene.at, activity=_REST[scene.language], place=0, action="")]
    if scene.broken:
        blocks[0] = PlannedBlock(starts=blocks[0].starts, activity=_REST[scene.language], place=0, action="")
    if len(blocks) < MIN_BLOCKS:
        at = clock((_minutes(blocks[-1].starts) + _BEFORE_SLEEP) % MINUTES_PER_DAY)
        blocks.append(PlannedBlock(starts=at, activity=_SLEEP[scene.language], place=0, action=""))
    return DayPlan(blocks=blocks)


def _left(scene: PlanScene) -> list[PlanLine]:
    """The current line, if it has begun today, and those after it; the last line always, for the night."""
    coming = [line for line in scene.day if line.at > scene.at]
    current = [line for line in scene.day if line.is_current and line.at <= scene.at]
    lines = [*current, *coming]
    return lines if len(lines) <= MAX_BLOCKS else [*lines[: MAX_BLOCKS - 1], lines[-1]]


def _block(scene: PlanScene, line: PlanLine, at: str) -> PlannedBlock:
    place = next((place for place in scene.places if place.facility_id == line.facility_id), None)
    if place is not None and not place.is_open(_minutes(at)):
        place = None
    return PlannedBlock(
        starts=at,
        activity=line.activity[:80],
        place=place.number if place else 0,
        action=_action(scene, place, line.action_id),
    )


def _action(scene: PlanScene, place: PlanPlace | None, action_id: str | None) -> str:
    doings = (*(place.actions if place else ()), *scene.at_home)
    return action_id if action_id and any(doing.action_id == action_id for doing in doings) else ""


def _minutes(at: str) -> int:
    return int(at[:2]) * 60 + int(at[3:])
