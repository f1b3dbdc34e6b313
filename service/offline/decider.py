"""Owns decisions and plans: needs that press, the night, a talk now and then, what the day says, a quiet while."""

import random
from collections.abc import Sequence

from service.decision.context import (
    MAX_BLOCKS,
    MIN_BLOCKS,
    DayPlan,
    Decision,
    DecisionContext,
    Offer,
    PlanContext,
    PlanLine,
    PlannedBlock,
)
from service.decision.descriptions import clock
from service.offline.goals import set_goal
from service.offline.phrases import phrases
from service.people.needs import FeltNeed
from world.actions import TALK, WAIT
from world.time import MINUTES_PER_DAY

_NEAR, _SHORT_WAY = 3, 8
"""Minutes somebody walks to talk, or to care for a need that is low but does not press."""
_SOCIAL = 0.5
"""How often it talks when it can."""
_LOW, _WELL, _RESTED = 0.35, 0.7, 0.95
"""Of a need's range: it is cared for; it needs nothing; whoever is rested does not go to bed."""
_SMALL = 20
"""Minutes of what nobody does over and over."""
_EVENING, _MORNING = "21:30", "05:00"
_BEFORE_SLEEP = 60
_LONGEST_ACTIVITY = 80


def decide(context: DecisionContext, rng: random.Random) -> Decision:
    """A believable choice; the same context and generator state make the same one."""
    line = next((line for line in context.day if line.is_current), None)
    if (offer := next((offer for offer in context.offers if offer.keeps), None)) is not None:
        return _decision(context, rng, offer, "promise")
    if (offer := _pressing(context)) is not None:
        return _decision(context, rng, offer, "need")
    if (offer := _night(context, line)) is not None:
        return _decision(context, rng, offer, "night")
    if (offer := _partner(context, rng)) is not None:
        goal = set_goal(context.speaker, offer.partner_name, context.language, rng)
        told = {"target": offer.partner_name[:80], **goal.model_dump()}
        return _decision(context, rng, offer, "talk").model_copy(update=told)
    if (offer := _low(context)) is not None:
        return _decision(context, rng, offer, "need")
    if line is not None and (planned := _planned(context)):
        return _decision(context, rng, rng.choice(planned), "day", activity=line.activity.rstrip("。."))
    return _decision(context, rng, _quiet(context, rng), "quiet")


def plan_day(context: PlanContext, rng: random.Random) -> DayPlan:
    """The lines of the day that are still to come, the current one from now on; what is closed is spent at home."""
    words = phrases(context.language)
    blocks = [_block(context, line, max(line.at, context.at)) for line in _left(context)]
    if not blocks or context.broken:
        blocks[:1] = [_at_home(blocks[0].starts if blocks else context.at, words.only("plan.rest"))]
    if len(blocks) < MIN_BLOCKS:
        bedtime = clock((_minutes(blocks[-1].starts) + _BEFORE_SLEEP) % MINUTES_PER_DAY)
        blocks.append(_at_home(bedtime, words.only("plan.sleep")))
    return DayPlan(blocks=blocks)


def _pressing(context: DecisionContext) -> Offer | None:
    """What helps a critical need soonest."""
    critical = (need for need in context.needs if need.is_critical)
    return next((offer for need in critical for offer in _helping(context, need)), None)


def _low(context: DecisionContext) -> Offer | None:
    """What helps a low need and is near; going to bed is not meant."""
    low = (need for need in context.needs if need.can_be_critical and _share(need) < _LOW)
    helping = (offer for need in low for offer in _helping(context, need))
    return next((o for o in helping if o.option.walk_minutes <= _SHORT_WAY and not o.is_night), None)


def _helping(context: DecisionContext, need: FeltNeed) -> list[Offer]:
    """The offers for that need, what the day wants first, then by the way there; the night's sleep last."""
    offers = [offer for offer in context.offers if offer.helps == need.need_id]
    return sorted(offers, key=lambda o: (o.is_night, not o.is_planned, o.option.walk_minutes, o.number))


def _night(context: DecisionContext, line: PlanLine | None) -> Offer | None:
    """The night's sleep, once: who has slept is rested."""
    night = next((offer for offer in context.offers if offer.is_night), None)
    late = context.at >= _EVENING or context.at < _MORNING
    at_home = line is None or line.facility_id is None or context.day[-1].is_current
    if night is None or not late or not at_home or night.option.action_id == context.ended_id:
        return None
    rested = any(need.need_id == night.helps and _share(need) >= _RESTED for need in context.needs)
    return None if rested else night


def _partner(context: DecisionContext, rng: random.Random) -> Offer | None:
    """Somebody free and near with whom it has not talked today, about every second time."""
    if context.at < _MORNING:
        return None
    met = {talk.partner_id for talk in context.today}
    talks = [offer for offer in context.offers if offer.option.action_id == TALK]
    near = [o for o in talks if o.option.walk_minutes <= _NEAR and o.option.target_id not in met]
    return rng.choice(near) if near and rng.random() < _SOCIAL else None


def _planned(context: DecisionContext) -> list[Offer]:
    """What the day's block wants and is of use now: who has eaten does not eat again."""
    well = {need.need_id for need in context.needs if need.can_be_critical and _share(need) > _WELL}
    return [
        offer
        for offer in context.offers
        if offer.is_planned
        and not (offer.is_night or offer.helps in well)
        and not (offer.option.action_id == context.ended_id and 0 < offer.option.minutes <= _SMALL)
    ]


def _quiet(context: DecisionContext, rng: random.Random) -> Offer:
    """Something near by that is no work, and not the same again; waiting where there is nothing else."""
    work = {need.need_id for need in context.needs if not need.can_be_critical}
    near = [
        offer
        for offer in context.offers
        if offer.option.action_id not in (TALK, WAIT, context.ended_id)
        and not (offer.is_night or offer.helps in work)
        and offer.option.walk_minutes <= _SHORT_WAY
    ]
    waiting = [offer for offer in context.offers if offer.option.action_id == WAIT]
    return rng.choice(near or waiting or list(context.offers))


def _decision(context: DecisionContext, rng: random.Random, offer: Offer, why: str, activity: str = "") -> Decision:
    need = next((need.name for need in context.needs if need.need_id == offer.helps), "")
    words = phrases(context.language)
    thought = words.pick(f"thought.{why}", rng, need=need, name=offer.partner_name[:80], activity=activity)
    return Decision(thought=thought[:200], choice=offer.number, target="", goal="", success_criteria="")


def _share(need: FeltNeed) -> float:
    return (need.level - need.lowest) / max(1, need.highest - need.lowest)


def _left(context: PlanContext) -> Sequence[PlanLine]:
    """The current line, if it has begun today, and those after it; the last one always, for the night."""
    current = [line for line in context.day if line.is_current and line.at <= context.at]
    lines = [*current, *(line for line in context.day if line.at > context.at)]
    return lines if len(lines) <= MAX_BLOCKS else [*lines[: MAX_BLOCKS - 1], lines[-1]]


def _block(context: PlanContext, line: PlanLine, at: str) -> PlannedBlock:
    found = (place for place in context.places if place.facility_id == line.facility_id)
    place = next((place for place in found if place.is_open(_minutes(at))), None)
    possible = {action.action_id for action in (*(place.actions if place else ()), *context.at_home)}
    return PlannedBlock(
        starts=at,
        activity=line.activity[:_LONGEST_ACTIVITY],
        place=place.number if place else 0,
        action=line.action_id if line.action_id in possible else "",
    )


def _at_home(at: str, activity: str) -> PlannedBlock:
    return PlannedBlock(starts=at, activity=activity, place=0, action="")


def _minutes(at: str) -> int:
    return int(at[:2]) * 60 + int(at[3:])
