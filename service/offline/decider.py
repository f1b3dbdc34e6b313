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
from service.decision.options import minute_of
from service.offline.phrases import phrases, set_goal
from world.actions import TALK, WAIT
from world.time import MINUTES_PER_DAY, clock

_NEAR = 3
"""Minutes somebody walks for a talk, or for what no plan asks for."""
_SOCIAL = 0.5
"""How often it talks when it can."""
_SMALL = 20
"""Minutes of what nobody does over and over."""
_LONG = 60
"""Minutes between what a day that has too few lines is filled with."""
_LONGEST_ACTIVITY = 80


def decide(context: DecisionContext, rng: random.Random) -> Decision:
    """A believable choice: what it has the best reason for; then the nearest, and of equals any. The same context and
    generator state make the same one.
    """
    is_social, offers = rng.random() < _SOCIAL, rng.sample(context.offers, len(context.offers))
    reasons = [_reason(context, offer, is_social=is_social) for offer in offers]
    (_, why), offer = min(zip(reasons, offers, strict=True), key=lambda one: (one[0][0], one[1].option.walk_minutes))
    need = next((need.name for need in context.needs if need.need_id == offer.helps), "")
    day = next((line.activity.rstrip("。.") for line in context.day if line.is_current), "")
    thoughts = phrases(context.language).wordings(f"thought.{why}", need=need, name=offer.partner_name, activity=day)
    decided = Decision(thought=rng.choice(thoughts)[:200], choice=offer.number, target="", goal="", success_criteria="")
    if why != "talk":
        return decided
    wanted = set_goal(context.speaker, offer.partner_name, context.language, rng).model_dump()
    return decided.model_copy(update={"target": offer.partner_name[:80], **wanted})


def _reason(context: DecisionContext, offer: Offer, *, is_social: bool) -> tuple[int, str]:
    """The best reason there is for an offer: its place among all reasons, and its name."""
    option, is_talk = offer.option, offer.option.action_id == TALK
    is_near, is_again = option.walk_minutes <= _NEAR, option.action_id == context.ended_id
    is_met = any(talk.partner_id == option.target_id for talk in context.today)
    is_day_over = not context.day or context.day[-1].is_current
    reasons = (
        ("promise", bool(offer.keeps)),
        ("need", any(need.is_critical and need.need_id == offer.helps for need in context.needs)),
        ("night", offer.is_night and is_day_over and not is_again),
        ("talk", is_talk and is_social and is_near and not is_met),
        ("day", offer.is_planned and not offer.is_night and not (is_again and 0 < option.minutes <= _SMALL)),
        ("quiet", is_near and not (is_talk or is_again or offer.is_night or option.action_id == WAIT)),
        ("quiet", option.action_id == WAIT),
        ("quiet", True),
    )
    return next((rank, why) for rank, (why, holds) in enumerate(reasons) if holds)


def plan_day(context: PlanContext, rng: random.Random) -> DayPlan:
    """The lines of the day that are still to come, the current one from now on unless it cannot be; then rest."""
    lines = [line for line in context.day if line.at > context.at or (line.is_current and not context.broken)]
    blocks = [_block(context, line) for line in (*lines[:-1][: MAX_BLOCKS - 1], *lines[-1:])]  # the last is the night's
    while len(blocks) < MIN_BLOCKS:
        after = clock((minute_of(blocks[-1].starts if blocks else context.at) + _LONG) % MINUTES_PER_DAY)
        rest = phrases(context.language).only("plan.rest")
        blocks.append(PlannedBlock(starts=after, activity=rest, place=0, action=""))
    return DayPlan(blocks=blocks)


def _block(context: PlanContext, line: PlanLine) -> PlannedBlock:
    """The line as it can be: what is closed is spent at home."""
    at = max(line.at, context.at)
    found = (place for place in context.places if place.facility_id == line.facility_id)
    place = next((place for place in found if place.is_open(minute_of(at))), None)
    possible = {action.action_id for action in (*(place.actions if place else ()), *context.at_home)}
    return PlannedBlock(
        starts=at,
        activity=line.activity[:_LONGEST_ACTIVITY],
        place=place.number if place else 0,
        action=line.action_id if line.action_id in possible else "",
    )
