"""Owns the checks of a model's answer: each gives the reason why it cannot be used, in the character's language, or
None.
"""

from functools import partial

from service.content.profile import RoutineBlock
from service.decision.context import DayPlan, Decision, DecisionContext, Offer, PlanContext, PlannedBlock, PlanPlace
from service.decision.descriptions import minute_of
from service.locales import sentence
from world.actions import TALK
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR


def decision_fault(context: DecisionContext, decision: Decision) -> str | None:
    """Why the decision cannot be carried out as it is answered."""
    say, offer = partial(sentence, context.language), offer_of(context, decision)
    if offer is None:
        return say("decision.faults.choice", choice=decision.choice, last=len(context.offers))
    if offer.option.action_id != TALK:
        return None
    if not (decision.goal.strip() and decision.success_criteria.strip()):
        return say("decision.faults.goal")
    target = decision.target.strip()
    if target and not _is(target, offer):
        return say("decision.faults.target", choice=decision.choice, name=offer.partner_name, target=target)
    return None


def offer_of(context: DecisionContext, decision: Decision) -> Offer | None:
    """What it chose; None: no option has that number."""
    return context.offers[decision.choice - 1] if decision.choice <= len(context.offers) else None


def plan_fault(context: PlanContext, plan: DayPlan) -> str | None:
    """Why the plan cannot be lived: its order, a place or action that is not there, a place that is closed."""
    say, earlier = partial(sentence, context.language), -1
    # An hour ago at the earliest: what goes on already may be the first block. Blocks may run past midnight.
    begins = minute_of(context.at) - MINUTES_PER_HOUR
    for block in plan.blocks:
        offset = (minute_of(block.starts) - begins) % MINUTES_PER_DAY
        if offset <= earlier:
            return say("decision.faults.order", starts=context.at, at=block.starts)
        earlier = offset
        if block.place > len(context.places):
            return say("decision.faults.place", place=block.place, last=len(context.places))
        fault = _place_fault(context, block)
        if fault is not None:
            return fault
    return None


def plan_blocks(context: PlanContext, plan: DayPlan) -> tuple[RoutineBlock, ...]:
    """A checked plan as it is kept. What lies before its first block is free."""
    blocks = tuple(
        RoutineBlock(
            starts=minute_of(block.starts),
            activity=block.activity.strip(),
            facility_id=context.places[block.place - 1].facility_id if block.place else None,
            action_id=block.action.strip() or None,
        )
        for block in plan.blocks
    )
    begins = minute_of(context.at)
    if 0 < (blocks[0].starts - begins) % MINUTES_PER_DAY < MINUTES_PER_DAY - MINUTES_PER_HOUR:
        return RoutineBlock(starts=begins, activity=sentence(context.language, "decision.free")), *blocks
    return blocks


def _place_fault(context: PlanContext, block: PlannedBlock) -> str | None:
    say = partial(sentence, context.language)
    place: PlanPlace | None = context.places[block.place - 1] if block.place else None
    doings = (*place.actions, *context.at_home) if place else context.at_home
    action = block.action.strip()
    if action and action not in {doing.action_id for doing in doings}:
        return say("decision.faults.action", action=action, name=place.name if place else say("decision.faults.home"))
    if place is None or place.is_open(minute_of(block.starts)):
        return None
    return say("decision.faults.closed", name=place.name, at=block.starts, hours=place.hours)


def _is(target: str, offer: Offer) -> bool:
    said, name = target.casefold(), offer.partner_name.casefold()
    return said in (name, (offer.option.target_id or "").casefold()) or (bool(name) and name in said)
