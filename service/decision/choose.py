"""Owns a character's decision: plan the day if it is due, ask the model with what the character knows, check the
answer.
"""

import logging
from dataclasses import dataclass, field, replace
from typing import Literal

from service.decision.agent_state import AgentState
from service.decision.appointments import earliest, in_time, wake_for
from service.decision.basis import Basis, Made
from service.decision.carry_on import after_going_on, carry_on, last_asked
from service.decision.check import decision_fault, offer_of
from service.decision.context import Decision, DecisionContext, Offer
from service.decision.dependencies import Deciding, DecisionDependencies
from service.decision.descriptions import told_refusals
from service.decision.options import offered
from service.decision.plan import Planning, plan_ahead
from service.decision.prompt import Asked, ask, decide_prompt
from service.decision.recall import recalled, recent
from service.decision.routine import by_routine
from service.decision.situation import Situation
from service.errors import KataribeError
from service.people.commitment import Commitment
from service.people.worlds import WorldView
from service.store.event_kinds import FailedCall
from service.store.quality import Checked
from service.usage import Usage
from world.actions import TALK
from world.option import Option
from world.perceive import Snapshot
from world.time import WorldTime

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What a character does next, as `world.simulation.World.decide` takes it, and what is on its mind then.

    `by`: its model; its plan, or routine, with which it goes on unasked; the same as a fallback, because its model
    failed. `failures` are calls that gave no answer to use; `failure` is that of `failed_call`, for its decision or for
    its plan of the day: without an answer it, or its plan, falls back to the routine.
    `planned`: a new plan was made on the way. `made` is what was asked for it. `checked`: the decision was, and this is
    kept of it; what that cost is none of `usage`.
    """

    option: Option
    wake_at: WorldTime | None
    agent_state: AgentState
    by: Literal["model", "plan", "fallback"]
    usage: Usage = field(default_factory=Usage)
    failures: int = 0
    failure: KataribeError | None = None
    failed_call: FailedCall | None = None
    planned: bool = False
    made: tuple[Made, ...] = ()
    checked: Checked[Asked[Decision]] | None = None


async def choose(
    deps: DecisionDependencies,
    world: WorldView,
    snapshot: Snapshot,
    agent_state: AgentState,
    promised: tuple[Commitment, ...] = (),
) -> Chosen:
    """Decide. `world` is at the snapshot's time; `promised` is by the character, or to it.

    While nothing is new and its day's block goes on, the character goes on too, without a model call (`carry_on`).
    A model that fails, or answers wrongly twice, makes the character fall back to its plan or routine. The memory graph
    being away does not keep it from deciding.

    Raises:
        NotFound: the author has taken the character out of the game.
    """
    world.cast.character(snapshot.person_id)
    situation = Situation(
        world=world,
        snapshot=snapshot,
        agent_state=agent_state,
        recent=await recent(deps, world, snapshot.person_id),
        promised=promised,
    )
    planning = await plan_ahead(deps, situation)
    situation = replace(situation, agent_state=planning.agent_state)
    if planning.is_away:
        return _fall_back(situation, planning, None, planning.asked.failure, "plan")
    if not planning.asked.usage.calls and (further := carry_on(situation)):
        return _go_on(situation, *further)
    offers = offered(world, snapshot, situation.slot, promised)
    today = {talk.conversation_id for talk in situation.recent.today}
    remembered = await recalled(deps, world, snapshot.person_id, situation.query(), today)
    context = situation.decision(offers, remembered.lines)
    asked = await ask(deps.models.for_role("decision"), decide_prompt, context, decision_fault, situation.thread)
    checked = await _checked(deps, situation, context, asked)
    asked = asked if checked is None else checked.value
    offer = offer_of(context, asked.value) if asked.value else None
    made = Made(
        call="decision",
        basis=Basis.of_decision(
            context,
            (*remembered.refs, *situation.memories()),
            told_refusals(world, offers.refusals),
            offer.number if offer else None,
        ),
        asked=asked,
    )
    if asked.value is None or offer is None:
        return _fall_back(situation, planning, made, asked.failure, "decision")
    wake_at = wake_for(world.setting, snapshot, offer.option, promised)
    return Chosen(
        option=in_time(world.setting, snapshot, offer.option, wake_at),
        wake_at=earliest(_wake_at(situation, offer), wake_at),
        agent_state=_with_thought(situation, asked.value, offer),
        by="model",
        usage=planning.asked.usage + asked.usage,
        failures=planning.asked.failures + asked.failures,
        failure=planning.asked.failure,
        failed_call="plan" if planning.asked.failure else None,
        planned=planning.made,
        made=(*_plan_made(planning), made),
        checked=checked,
    )


async def _checked(
    deps: DecisionDependencies, situation: Situation, context: DecisionContext, asked: Asked[Decision]
) -> Checked[Asked[Decision]] | None:
    """What is decided after a check of its quality; None: it is not checked."""
    world, snapshot, last = situation.world, situation.snapshot, situation.agent_state.last_asked
    if asked.value is None or deps.quality is None:
        return None
    if not deps.quality.wants(world.id, snapshot.person_id, snapshot.time):
        return None
    deciding = Deciding(
        world_id=world.id,
        at=snapshot.time,
        context=context,
        thread=situation.thread,
        thought=f"{situation.agent_state.thought} {situation.agent_state.goal or ''}".strip(),
        last=(last.action_id, last.facility_id) if last else None,
    )
    return await deps.quality.best(deciding, asked)


def _plan_made(planning: Planning) -> tuple[Made, ...]:
    """The question for the plan of the day, if it was asked."""
    return () if planning.basis is None else (Made(call="plan", basis=planning.basis, asked=planning.asked),)


def _go_on(situation: Situation, option: Option, wake_at: WorldTime | None) -> Chosen:
    agent_state = replace(_unasked(situation), last_asked=after_going_on(situation, option))
    return Chosen(option=option, wake_at=wake_at, agent_state=agent_state, by="plan")


def _fall_back(
    situation: Situation,
    planning: Planning,
    made: Made | None,
    failure: KataribeError | None,
    failed_call: FailedCall,
) -> Chosen:
    """`made` is the decision that was asked for in vain, if it was."""
    _log.warning("%s decides by its routine: %s", situation.snapshot.person_id, failure)
    option, wake_at = by_routine(
        situation.world.setting,
        situation.speaker,
        situation.snapshot,
        situation.agent_state.plan,
        situation.promised,
    )
    return Chosen(
        option=option,
        wake_at=wake_at,
        agent_state=replace(_unasked(situation), last_asked=None),
        by="fallback",
        usage=planning.asked.usage + (made.asked.usage if made else Usage()),
        failures=planning.asked.failures + (made.asked.failures if made else 0),
        failure=failure,
        failed_call=failed_call,
        planned=planning.made,
        made=(*_plan_made(planning), *((made,) if made else ())),
    )


def _unasked(situation: Situation) -> AgentState:
    """The state after a decision without a question: no thought, and no goal."""
    return replace(
        situation.agent_state,
        thought="",
        goal=None,
        success_criteria=None,
        failed=None,
        decided_at=situation.snapshot.time,
    )


def _with_thought(situation: Situation, decision: Decision, offer: Offer) -> AgentState:
    talks = offer.option.action_id == TALK
    return replace(
        situation.agent_state,
        thought=decision.thought.strip(),
        goal=decision.goal.strip() if talks else None,
        success_criteria=decision.success_criteria.strip() if talks else None,
        failed=None,
        decided_at=situation.snapshot.time,
        last_asked=last_asked(situation, offer.option),
    )


def _wake_at(situation: Situation, offer: Offer) -> WorldTime | None:
    """When the next block begins; never in the middle of something that was paid for, or is done to keep a promise."""
    slot, option = situation.slot, offer.option
    costs = any(action.id == option.action_id and action.cost for action in situation.world.setting.catalogue.actions)
    return slot.until if slot and not costs and not offer.keeps else None
