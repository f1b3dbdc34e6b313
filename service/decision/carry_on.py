"""Owns going on: when a character goes on with its day's block without its model being asked again.

It goes on only if all of this holds, each for a reason of its own:

- what it has been doing since its model was last asked is over, by itself, and was not in vain;
- no need is critical, and no promise is to be kept now;
- the day's block is still the one of that question (a plan that is due or broken is a question of its own);
- the block wants the same thing here again (`by_routine`); at home, who did nothing much may go on doing nothing much;
- nobody is in sight who was not then, and nothing is told, or carried, that was not then;
- nobody it has not talked with today is free within talking distance: whom to talk to is the model's to say;
- it has not gone on so `MOST` times already.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from service.decision.agent_state import LastAsked
from service.decision.appointments import keeping
from service.decision.day import at_home
from service.decision.options import LONGEST_WAIT
from service.decision.routine import by_routine
from service.decision.situation import Situation
from world.actions import WAIT, Where
from world.life import Because
from world.option import Option
from world.time import WorldTime

MOST = 3
"""How often in a row a character goes on without a question."""
_LEISURE = (Where.HOME, Where.ANYWHERE)


def last_asked(situation: Situation, option: Option) -> LastAsked:
    """What to remember of a question that was answered with `option`."""
    return LastAsked(
        action_id=option.action_id,
        facility_id=option.facility_id,
        block_since=situation.slot.since if situation.slot else None,
        seen=tuple(_in_sight(situation)),
        news=_news(situation),
    )


def after_going_on(situation: Situation, option: Option) -> LastAsked | None:
    """The same after going on with `option`."""
    last = situation.agent_state.last_asked
    if last is None:
        return None
    return replace(
        last, action_id=option.action_id, facility_id=option.facility_id, continuations=last.continuations + 1
    )


def carry_on(situation: Situation) -> tuple[Option, WorldTime | None] | None:
    """What the character goes on with, and when it looks up again at the latest; None: its model is to be asked."""
    last = situation.agent_state.last_asked
    if last is None or last.continuations >= MOST or not _is_quiet(situation, last) or _could_meet(situation):
        return None
    if keeping(situation.world.setting, situation.snapshot, situation.promised):
        return None
    option, wake_at = by_routine(
        situation.world.setting,
        situation.speaker,
        situation.snapshot,
        situation.agent_state.plan,
        situation.promised,
    )
    if option.node_id != situation.snapshot.node_id:
        return None
    if option.action_id == WAIT:
        option = replace(option, minutes=min(option.minutes, LONGEST_WAIT))
    return (option, wake_at) if _is_same(situation, last, option) else None


def _is_quiet(situation: Situation, last: LastAsked) -> bool:
    """Whether nothing has happened since: it came to its end, and all is as it was."""
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


def _could_meet(situation: Situation) -> bool:
    """Whether somebody it has not talked with today is free within talking distance."""
    met = {talk.partner_id for talk in situation.recent.today}
    distances, here = situation.world.setting.distances, situation.snapshot.node_id
    in_talk, node_index = distances.in_talk(here), distances.node_index(here)
    people = (p.id for p in situation.snapshot.people if p.approachable and p.node_id in in_talk)
    npcs = (n.id for n in situation.snapshot.npcs if not n.talks_with and distances.to_npc(n.id)[node_index] == 0)
    return not met.issuperset((*people, *npcs))


def _in_sight(situation: Situation) -> Iterable[str]:
    return (*(seen.id for seen in situation.snapshot.people), *(npc.id for npc in situation.snapshot.npcs))


def _news(situation: Situation) -> str:
    """A digest of the weather, of what is announced now, and of what it carries; "" when there is nothing of it."""
    world = situation.world
    announced = (f"\n{notice.text}" for notice in world.notices if notice.at <= world.now < notice.until)
    told = "\0".join((world.weather, "".join(announced), *situation.recent.items))
    return hashlib.sha256(told.encode()).hexdigest()[:12] if told.strip("\0") else ""
