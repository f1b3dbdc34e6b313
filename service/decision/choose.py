"""Owns a character's decision: plan the day if that is due, go on with its block, or ask the model what it does; and
what is kept of a question to its model: what its prompt held, in a few hundred bytes, and what it cost.

It goes on without a question only if all of this holds, each for a reason of its own:

- what it has been doing since its model was last asked is over, by itself, and was not in vain;
- no need is critical, and no promise is to be kept now;
- the day's block is still the one of that question (a plan that is due or broken is a question of its own);
- the block wants the same thing here again (`by_routine`); at home, a character at leisure may stay at leisure;
- nobody new is in sight, and nothing new is announced or carried;
- nobody it has not talked with today is free within talking distance: whom to talk to is the model's to say;
- it has not gone on so `MOST` times already.
"""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from service.decision.context import (
    BaseContext,
    DayPlan,
    Decision,
    ModelReply,
    Offer,
    ask,
    decide_prompt,
    decision_fault,
    offer_of,
    plan_blocks,
    plan_fault,
    plan_prompt,
)
from service.decision.options import LONGEST_WAIT, action_name, failed_line, obstacle, offered, told_refusals, why
from service.decision.routine import at_home, by_routine, earliest, in_time, keeping, starts_between, wake_for
from service.decision.situation import AgentState, DecisionDependencies, LastAsked, Situation, recalled, situation_of
from service.errors import ANSWERED, KataribeError
from service.people.commitment import Commitment
from service.people.worlds import WorldView
from service.store.event_kinds import DecidedBy, FailedCall
from service.store.quality import CheckedAnswer
from service.store.tables import DecisionRow
from service.usage import Usage
from world.actions import TALK, WAIT, Option, Reason, Refusal, Where
from world.life import Because
from world.perception import Snapshot
from world.time import MINUTES_PER_HOUR, WorldTime, minute_of_day

_log = logging.getLogger(__name__)

MAX_REVISIONS = 2
"""Times a day that a broken plan is made anew."""
_MORNING = 4 * MINUTES_PER_HOUR
"""A character that has not slept plans no new day before this hour."""


async def plan_ahead(
    deps: DecisionDependencies, situation: Situation
) -> tuple[AgentState, ModelReply[DayPlan], tuple[DecisionRow, ...]]:
    """Plan the day if it is due, or broken: the agent's state with its plan, the reply to the question for a new one,
    and what is kept of that question. Else nothing is asked.
    """
    due, state = is_due(situation), situation.agent_state
    broken = "" if due else why_broken(situation) or ""
    if not due and not broken:
        return state, ModelReply(), ()
    # A new day is planned from the usual one, not from yesterday's plan.
    before = replace(situation, agent_state=replace(state, plan=())) if due else situation
    context = before.planning(broken)
    reply = await ask(deps.models.for_role("decision"), plan_prompt, context, plan_fault, situation.thread)
    places = tuple(place.facility_id for place in context.places)
    made = question_row(
        situation, "plan", context, reply, memories=situation.memories(), places=places, broken=context.broken
    )
    if _is_away(reply):
        return state, reply, (made,)
    blocks = plan_blocks(context, reply.value) if reply.value else () if due else state.plan
    revisions = 0 if due else state.revisions + 1
    state = replace(state, plan=blocks, plan_day=situation.world.day, revisions=revisions)
    return state, reply, (made,)


def _is_away(plan: ModelReply[DayPlan]) -> bool:
    """Whether the model could not be reached: the plan is still due."""
    return plan.failure is not None and not isinstance(plan.failure, ANSWERED)


def is_due(situation: Situation) -> bool:
    """Whether the day is to be planned: once a world day, at the first decision after sleep or in the morning."""
    if situation.agent_state.plan_day == situation.world.day:
        return False
    nights = {action.id for action in situation.world.setting.catalogue.actions if action.ends_day}
    return minute_of_day(situation.snapshot.time) >= _MORNING or situation.snapshot.ended in nights


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
    if refusal is None:
        return None
    place = situation.world.map.facilities.get(refusal.facility_id or "")
    what = place.name if place else action_name(situation.world, refusal.action_id)
    return situation.world.say("decision.broken", what=what, why=why(situation.world, refusal))


def _slept_through(situation: Situation) -> bool:
    """Whether more than one block began while the character could not be interrupted."""
    actions = situation.world.setting.catalogue.actions
    if situation.agent_state.decided_at is None or not any(
        a.id == situation.snapshot.ended and not a.interruptible for a in actions
    ):
        return False
    return starts_between(situation.blocks, WorldTime(situation.agent_state.decided_at), situation.snapshot.time) > 1


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What a character does next, as `world.simulation.World.decide` takes it, and what is on its mind then.

    `by` says who chose: its model, the rehearsal in its place, its plan or routine without a question, its routine
    because its model failed (fallback), or a client. `failure` is that of `failed_call`, for its decision or for its
    plan of the day: without an answer it, or its plan, falls back to the routine. `planned`: a new plan was made on the
    way. `made` is kept of what was asked for it. `checked`: the decision was, and this is kept of that; its cost is not
    in `usage`.
    """

    option: Option
    wake_at: WorldTime | None = None
    agent_state: AgentState = field(default_factory=AgentState)
    by: DecidedBy
    usage: Usage = field(default_factory=Usage)
    failure: KataribeError | None = None
    failed_call: FailedCall | None = None
    planned: bool = False
    made: tuple[DecisionRow, ...] = ()
    checked: CheckedAnswer[ModelReply[Decision]] | None = None


async def choose(
    deps: DecisionDependencies,
    world: WorldView,
    snapshot: Snapshot,
    agent_state: AgentState,
    promised: tuple[Commitment, ...] = (),
    *,
    sketched: bool = False,
) -> Chosen:
    """Decide. `world` is at the snapshot's time; `promised` is by the character, or to it. `sketched`: its life is.

    While nothing is new and its day's block goes on, the character goes on too, without a model call (`carry_on`).
    A model that fails, or answers wrongly twice, makes the character fall back to its plan or routine. The memory graph
    being away does not keep it from deciding.

    Raises:
        NotFound: the author has taken the character out of the game.
    """
    situation = await situation_of(deps, world, snapshot, agent_state, promised)
    state, plan, made = await plan_ahead(deps, situation)
    situation = replace(situation, agent_state=state)
    if _is_away(plan):
        return _fall_back(situation, plan, None, made)
    if not plan.usage.calls and (further := (live_on if sketched else carry_on)(situation)):
        return further
    offers = offered(world, snapshot, situation.slot, promised)
    remembered = await recalled(deps, situation)
    context = situation.decision(offers, remembered.lines)
    asked = await ask(deps.models.for_role("decision"), decide_prompt, context, decision_fault, situation.thread)
    checked = None
    if asked.value and deps.quality and deps.quality.wants(world.id, snapshot.person_id, snapshot.time):
        checked = await deps.quality.best(situation, context, asked)
        asked = checked.value
    offer = offer_of(context, asked.value) if asked.value else None
    row = question_row(
        situation,
        "decision",
        context,
        asked,
        memories=(*remembered.refs, *situation.memories()),
        offered=tuple(offer_in_short(one.option) for one in context.offers),
        refused=tuple(map(refusal_in_short, told_refusals(world, offers.refusals))),
        chosen=offer.number if offer else None,
    )
    made = (*made, row)
    if asked.value is None or offer is None:
        return _fall_back(situation, plan, asked, made)
    wake_at, talks = wake_for(world.setting, snapshot, offer.option, promised), offer.option.action_id == TALK
    return Chosen(
        option=in_time(world.setting, snapshot, offer.option, wake_at),
        wake_at=earliest(_wake_at(situation, offer), wake_at),
        agent_state=replace(
            _unasked(situation),
            thought=asked.value.thought.strip(),
            goal=asked.value.goal.strip() if talks else None,
            success_criteria=asked.value.success_criteria.strip() if talks else None,
            last_asked=LastAsked(
                action_id=offer.option.action_id,
                facility_id=offer.option.facility_id,
                block_since=situation.slot.since if situation.slot else None,
                seen=tuple(_in_sight(situation)),
                news=_news(situation),
            ),
        ),
        by="rehearsal" if deps.settings.llm.provider == "rehearsal" else "model",
        usage=plan.usage + asked.usage,
        failure=plan.failure,
        failed_call="plan" if plan.failure else None,
        planned=plan.value is not None,
        made=made,
        checked=checked,
    )


def _fall_back(
    situation: Situation,
    plan: ModelReply[DayPlan],
    asked: ModelReply[Decision] | None,
    made: tuple[DecisionRow, ...],
) -> Chosen:
    """The routine's choice. `asked` is the decision that was asked for in vain; None: the plan was."""
    failure = plan.failure if asked is None else asked.failure
    _log.warning("%s decides by its routine: %s", situation.snapshot.person_id, failure)
    option, wake_at = _routine(situation)
    return Chosen(
        option=option,
        wake_at=wake_at,
        agent_state=replace(_unasked(situation), last_asked=None),
        by="fallback",
        usage=plan.usage + (asked.usage if asked else Usage()),
        failure=failure,
        failed_call="decision" if asked else "plan",
        planned=plan.value is not None,
        made=made,
    )


def _routine(situation: Situation) -> tuple[Option, WorldTime | None]:
    """What the character does by its plan, else by its routine, and when it looks up again."""
    plan, setting = situation.agent_state.plan, situation.world.setting
    return by_routine(setting, situation.speaker, situation.snapshot, plan, situation.promised)


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


def _wake_at(situation: Situation, offer: Offer) -> WorldTime | None:
    """When the next block begins; None: the option costs something or keeps a promise, and is not cut short."""
    slot, option = situation.slot, offer.option
    costs = any(action.id == option.action_id and action.cost for action in situation.world.setting.catalogue.actions)
    return slot.until if slot and not costs and not offer.keeps else None


MOST = 3
"""How often in a row a character goes on without a question."""
_LEISURE = (Where.HOME, Where.ANYWHERE)


def carry_on(situation: Situation) -> Chosen | None:
    """The choice to go on as before; None: its model must be asked."""
    last = situation.agent_state.last_asked
    if last is None or last.continuations >= MOST or not _is_quiet(situation, last) or _could_meet(situation):
        return None
    if keeping(situation.world.setting, situation.snapshot, situation.promised):
        return None
    option, wake_at = _routine(situation)
    if option.node_id != situation.snapshot.node_id:
        return None
    if option.action_id == WAIT:
        option = replace(option, minutes=min(option.minutes, LONGEST_WAIT))
    if not _is_same(situation, last, option):
        return None
    last = replace(
        last, action_id=option.action_id, facility_id=option.facility_id, continuations=last.continuations + 1
    )
    agent_state = replace(_unasked(situation), last_asked=last)
    return Chosen(option=option, wake_at=wake_at, agent_state=agent_state, by="plan")


def live_on(situation: Situation) -> Chosen | None:
    """The choice of a sketched life: it does what its plan says. None: its model must be asked, for something is new,
    or somebody is there whom it could meet, and whom its model was not asked about in this block of the day.
    """
    last, slot = situation.agent_state.last_asked, situation.slot
    asked_about = last.seen if last and slot and last.block_since == slot.since else ()
    if _could_meet(situation, besides=asked_about) or _news(situation) != (last.news if last else ""):
        return None
    option, wake_at = _routine(situation)
    return Chosen(option=option, wake_at=wake_at, agent_state=_unasked(situation), by="plan")


def _is_quiet(situation: Situation, last: LastAsked) -> bool:
    """Whether nothing is new since the last question: the activity came to its own end, and all is as it was."""
    snapshot, slot = situation.snapshot, situation.slot
    return (
        snapshot.because == Because.DONE
        and snapshot.ended == last.action_id
        and not snapshot.critical
        and situation.agent_state.failed is None
        and slot is not None
        and slot.since == last.block_since
        and set(last.seen).issuperset(_in_sight(situation))
        and _news(situation) == last.news
    )


def _is_same(situation: Situation, last: LastAsked, option: Option) -> bool:
    if (option.action_id, option.facility_id) == (last.action_id, last.facility_id):
        return True
    assert situation.slot is not None  # noqa: S101  it is quiet
    is_home = at_home(situation.world.setting, situation.slot.block, situation.snapshot.home)
    return is_home and _is_leisure(situation, last.action_id) and _is_leisure(situation, option.action_id)


def _is_leisure(situation: Situation, action_id: str) -> bool:
    """Waiting, or what can be done at home or anywhere, costs nothing and is not the night's sleep."""
    actions = situation.world.setting.catalogue.actions
    return action_id == WAIT or any(
        a.id == action_id and a.where in _LEISURE and not a.cost and not a.ends_day for a in actions
    )


def _could_meet(situation: Situation, besides: Iterable[str] = ()) -> bool:
    """Whether somebody it has not talked with today, `besides` these, is free within talking distance."""
    met = {*besides, *(talk.partner_id for talk in situation.today.values())}
    in_talk = situation.world.setting.distances.in_talk(situation.snapshot.node_id)
    people = (p.id for p in situation.snapshot.people if p.approachable and p.node_id in in_talk)
    npcs = (n.id for n in situation.snapshot.npcs if n.approachable and n.minutes == 0)
    return not met.issuperset((*people, *npcs))


def _in_sight(situation: Situation) -> Iterable[str]:
    return (seen.id for seen in (*situation.snapshot.people, *situation.snapshot.npcs))


def _news(situation: Situation) -> str:
    """A digest of the weather, the announcements and what the character carries; "" when there is none of these."""
    world = situation.world
    announced = (f"\n{notice.text}" for notice in world.notices if notice.at <= world.now < notice.until)
    told = "\0".join((world.weather, "".join(announced), *situation.items))
    return hashlib.sha256(told.encode()).hexdigest()[:12] if told.strip("\0") else ""


KEPT = tuple(name for name in DecisionRow.model_fields if name not in ("world_id", "person_id", "at", "call"))
"""Columns that are overwritten when somebody is asked again for the same minute."""

_UNTOLD_FACTS = ("arrival",)
"""Facts of a refusal that no sentence tells: they are not kept."""


class Basis(BaseModel, frozen=True):
    """What the prompt of a decision, or of a day's plan, held. `memories` are references (memory/telling.py).

    `offered` are the options, `refused` what was told to be impossible, each in short; `chosen` counts the offered
    ones from 1 (None: no answer could be used). `broken` is why the last plan did not hold ("": it is a new day's).
    """

    memories: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    refused: tuple[tuple[str, Reason, str | None, str | None, dict[str, str | int | float]], ...] = ()
    chosen: int | None = None
    needs: dict[str, int] = {}
    """how its needs stood, by id"""
    places: tuple[str, ...] = ()
    """of a plan: ids of the facilities it might name"""
    broken: str = ""

    @property
    def options(self) -> tuple[Option, ...]:
        """What was offered."""
        return tuple(map(_option, self.offered))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What was told to be impossible."""
        return tuple(
            Refusal(action_id=action_id, reason=reason, facility_id=facility_id, target_id=target_id, facts=facts)
            for action_id, reason, facility_id, target_id, facts in self.refused
        )


def question_row(
    situation: Situation, call: FailedCall, context: BaseContext, asked: ModelReply[Any], **held: Any
) -> DecisionRow:
    """The row of a question that was asked; `held` are fields of its Basis beside the needs."""
    basis, usage = Basis(needs={need.need_id: need.level for need in context.needs}, **held), asked.usage
    return DecisionRow(
        world_id=situation.world.id,
        person_id=situation.snapshot.person_id,
        at=situation.snapshot.time,
        call=call,
        basis=basis.model_dump(mode="json", exclude_defaults=True),
        model=asked.model,
        calls=usage.calls,
        failures=usage.failures,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        duration_ms=usage.milliseconds,
        prompt=[asdict(one) for one in asked.messages],
    )


def offer_in_short(option: Option) -> str:
    """``work 4 56 inn``: the action, both minutes, and its facility; a person has ``@`` before it, a node ``#``."""
    where = option.facility_id or (f"@{option.target_id}" if option.target_id else f"#{option.node_id}")
    return f"{option.action_id} {option.walk_minutes} {option.minutes} {where}"


def _option(row: str) -> Option:
    """What `offer_in_short` wrote; of what is done in a facility, or with somebody, the node is not kept."""
    action_id, walk, minutes, where = row.split(" ", 3)
    mark, name = where[0], where[1:]
    return Option(
        action_id=action_id,
        node_id=name if mark == "#" else "",
        walk_minutes=int(walk),
        minutes=int(minutes),
        facility_id=where if mark not in "@#" else None,
        target_id=name if mark == "@" else None,
    )


def refusal_in_short(one: Refusal) -> tuple[str, Reason, str | None, str | None, dict[str, str | int | float]]:
    """Its fields in their order, without the facts that no sentence tells."""
    facts = {name: fact for name, fact in one.facts.items() if name not in _UNTOLD_FACTS}
    return one.action_id, one.reason, one.facility_id, one.target_id, facts
