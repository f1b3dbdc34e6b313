"""Owns decisions and plans: needs that press, the night, a talk now and then, what the day says, a quiet while."""

import random

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
from service.offline.lines import set_goal
from service.offline.phrases import phrases
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
_WHY = ("promise", "need", "night", "talk", "need", "day", "quiet", "quiet", "quiet")
"""What it thinks of, by the rank of what it does."""


def decide(context: DecisionContext, rng: random.Random) -> Decision:
    """A believable choice: what has the lowest rank; of needs the first, and what helps it soonest; of other equals
    any. The same context and generator state make the same one.
    """
    is_social = context.at >= _MORNING and rng.random() < _SOCIAL
    needs = [need.need_id for need in context.needs]

    def place(offer: Offer) -> tuple[float, ...]:
        rank = _rank(context, offer, is_social=is_social)
        if _WHY[rank] != "need":
            return rank, rng.random()
        return rank, needs.index(offer.helps), offer.is_night, not offer.is_planned, offer.option.walk_minutes

    offer = min(context.offers, key=place)
    why = _WHY[_rank(context, offer, is_social=is_social)]
    need = next((need.name for need in context.needs if need.need_id == offer.helps), "")
    day = next((line.activity.rstrip("。.") for line in context.day if line.is_current), "")
    thoughts = phrases(context.language).wordings(f"thought.{why}", need=need, name=offer.partner_name, activity=day)
    decided = Decision(thought=rng.choice(thoughts)[:200], choice=offer.number, target="", goal="", success_criteria="")
    if why != "talk":
        return decided
    goal = set_goal(context.speaker, offer.partner_name, context.language, rng)
    return decided.model_copy(update={"target": offer.partner_name[:80], **goal.model_dump()})


def _rank(context: DecisionContext, offer: Offer, *, is_social: bool) -> int:
    """How far behind others an offer comes: its place in `_WHY`."""
    option, need = offer.option, next((need for need in context.needs if need.need_id == offer.helps), None)
    current = next((line for line in context.day if line.is_current), None)
    is_again, presses = option.action_id == context.ended_id, need is not None and need.can_be_critical
    share = (need.level - need.lowest) / max(1, need.highest - need.lowest) if need is not None else 0.0
    if offer.keeps or (need is not None and need.is_critical):
        return 0 if offer.keeps else 1
    if offer.is_night:
        is_late = context.at >= _EVENING or context.at < _MORNING
        is_home = current is None or current.facility_id is None or context.day[-1].is_current
        return 2 if is_late and is_home and not is_again and share < _RESTED else 8
    if option.action_id == TALK:
        is_met = any(talk.partner_id == option.target_id for talk in context.today)
        return 3 if is_social and option.walk_minutes <= _NEAR and not is_met else 8
    if presses and share < _LOW and option.walk_minutes <= _SHORT_WAY:
        return 4
    is_small = is_again and 0 < option.minutes <= _SMALL
    if offer.is_planned and current is not None and not is_small and not (presses and share > _WELL):
        return 5
    if option.action_id == WAIT:
        return 7
    is_work = need is not None and not presses
    return 8 if is_again or is_work or option.walk_minutes > _SHORT_WAY else 6


def plan_day(context: PlanContext, rng: random.Random) -> DayPlan:
    """The lines of the day that are still to come, the current one from now on; what is closed is spent at home."""
    words = phrases(context.language)
    lines = [line for line in context.day if line.at > context.at or line.is_current]
    if len(lines) > MAX_BLOCKS:
        lines[MAX_BLOCKS - 1 :] = lines[-1:]  # the last one is the night's
    blocks = [_block(context, line, max(line.at, context.at)) for line in lines]
    if not blocks or context.broken:
        blocks[:1] = [_at_home(blocks[0].starts if blocks else context.at, words.only("plan.rest"))]
    if len(blocks) < MIN_BLOCKS:
        bedtime = clock((_minutes(blocks[-1].starts) + _BEFORE_SLEEP) % MINUTES_PER_DAY)
        blocks.append(_at_home(bedtime, words.only("plan.sleep")))
    return DayPlan(blocks=blocks)


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
