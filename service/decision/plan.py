"""Owns the day's plan: when it is due, when it breaks, and how it is made: one call, checked, else the routine."""

from dataclasses import dataclass, replace

from service.decision.agent_state import AgentState
from service.decision.basis import Basis
from service.decision.check import plan_blocks, plan_fault
from service.decision.context import DayPlan
from service.decision.day import starts_between
from service.decision.dependencies import DecisionDependencies
from service.decision.descriptions import action_name, failed_line, why
from service.decision.options import obstacle
from service.decision.prompt import Asked, ask, plan_prompt
from service.decision.situation import Situation
from service.errors import ModelBroken, ModelEmpty, ModelRefused, ModelTruncated
from world.option import Refusal
from world.time import MINUTES_PER_HOUR, WorldTime, minute_of_day

MAX_REVISIONS = 2
"""Times a day that a broken plan is made anew."""
_MORNING = 4 * MINUTES_PER_HOUR
"""Before this hour a character that has not slept does not plan: its day before still goes on."""
_ANSWERED = (ModelBroken, ModelEmpty, ModelRefused, ModelTruncated)
"""Failures of a model that could be reached and gave an answer."""


@dataclass(frozen=True, kw_only=True)
class Planning:
    """The outcome of planning: the agent's state with its plan, whether a new one was made, what its question held
    (None: nothing was asked), and what it cost.
    """

    agent_state: AgentState
    asked: Asked[DayPlan]
    made: bool = False
    basis: Basis | None = None

    @property
    def is_away(self) -> bool:
        """Whether the model could not be asked at all: the plan is still due."""
        return self.asked.failure is not None and not isinstance(self.asked.failure, _ANSWERED)


async def plan_ahead(deps: DecisionDependencies, situation: Situation) -> Planning:
    """Plan the day if it is due, or broken; else nothing is asked."""
    due, broken = is_due(situation), ""
    if not due:
        broken = why_broken(situation) or ""
        if not broken:
            return Planning(agent_state=situation.agent_state, asked=Asked())
    # A new day is planned from the usual one, not from yesterday's plan.
    before = replace(situation, agent_state=replace(situation.agent_state, plan=())) if due else situation
    context = before.planning(broken)
    asked = await ask(deps.models.for_role("decision"), plan_prompt, context, plan_fault, situation.thread)
    basis = Basis.of_plan(context, situation.memories())
    planning = Planning(agent_state=situation.agent_state, asked=asked, basis=basis)
    if planning.is_away:
        return planning
    blocks = plan_blocks(context, asked.value) if asked.value else () if due else situation.agent_state.plan
    revisions = 0 if due else situation.agent_state.revisions + 1
    agent_state = replace(situation.agent_state, plan=blocks, plan_day=situation.world.day, revisions=revisions)
    return replace(planning, agent_state=agent_state, made=asked.value is not None)


def is_due(situation: Situation) -> bool:
    """Whether this is the first decision of a world day; a character that is still awake from the day before waits till
    morning.
    """
    if situation.agent_state.plan_day == situation.world.day:
        return False
    return minute_of_day(situation.snapshot.time) >= _MORNING or _has_slept(situation)


def why_broken(situation: Situation) -> str | None:
    """Why today's plan does not hold any more, in words; None while it does, or was revised often enough."""
    slot, agent_state = situation.slot, situation.agent_state
    if slot is None or agent_state.plan_day != situation.world.day or agent_state.revisions >= MAX_REVISIONS:
        return None
    failed = agent_state.failed
    if failed is not None and failed.facility_id is not None and failed.facility_id == slot.block.facility_id:
        return failed_line(situation.world, failed)
    if _slept_through(situation):
        return situation.world.say("decision.slept")
    refusal = obstacle(situation.world, situation.snapshot, slot)
    return _sentence(situation, refusal) if refusal else None


def _sentence(situation: Situation, refusal: Refusal) -> str:
    place = situation.world.map.facilities.get(refusal.facility_id or "")
    what = place.name if place else action_name(situation.world, refusal.action_id)
    return situation.world.say("decision.broken", what=what, why=why(situation.world, refusal))


def _has_slept(situation: Situation) -> bool:
    return any(
        action.ends_day and action.id == situation.snapshot.ended
        for action in situation.world.setting.catalogue.actions
    )


def _slept_through(situation: Situation) -> bool:
    """Whether more than one block began while it did what cannot be interrupted."""
    actions = situation.world.setting.catalogue.actions
    if situation.agent_state.decided_at is None or not any(
        a.id == situation.snapshot.ended and not a.interruptible for a in actions
    ):
        return False
    return starts_between(situation.blocks, WorldTime(situation.agent_state.decided_at), situation.snapshot.time) > 1
