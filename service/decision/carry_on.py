"""Owns going on: when a character goes on with its day's block without its model being asked again.

It goes on only if all of this holds, each for a reason of its own:

- what it has been doing since its model was last asked is over, by itself, and was not in vain;
- no need is critical;
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
from service.decision.day import at_home
from service.decision.look import Look
from service.decision.options import LONGEST_WAIT
from service.decision.routine import by_routine
from world.actions import WAIT, Where
from world.life import Because
from world.option import Option
from world.time import WorldTime

MOST = 3
"""Times in a row that it goes on unasked."""
_LEISURE = (Where.HOME, Where.ANYWHERE)


def noted(look: Look, option: Option) -> LastAsked:
    """What is kept of a question that was answered with `option`."""
    return LastAsked(
        action_id=option.action_id,
        facility_id=option.facility_id,
        block_since=look.slot.since if look.slot else None,
        seen=tuple(_in_sight(look)),
        tidings=_tidings(look),
    )


def carried(look: Look, option: Option) -> LastAsked | None:
    """The same after going on with `option`."""
    last = look.agent_state.last_asked
    if last is None:
        return None
    return replace(last, action_id=option.action_id, facility_id=option.facility_id, carried_on=last.carried_on + 1)


def carry_on(look: Look) -> tuple[Option, WorldTime | None] | None:
    """What the character goes on with, and when it looks up again at the latest; None: its model is to be asked."""
    last = look.agent_state.last_asked
    if last is None or last.carried_on >= MOST or not _is_quiet(look, last) or _could_meet(look):
        return None
    option, wake_at = by_routine(look.world.setting, look.speaker, look.snapshot, look.agent_state.plan)
    if option.node_id != look.snapshot.node_id:
        return None
    if option.action_id == WAIT:
        option = replace(option, minutes=min(option.minutes, LONGEST_WAIT))
    return (option, wake_at) if _is_same(look, last, option) else None


def _is_quiet(look: Look, last: LastAsked) -> bool:
    """Whether nothing has happened since: it came to its end, and all is as it was."""
    snapshot, slot = look.snapshot, look.slot
    return (
        snapshot.because == Because.DONE
        and snapshot.ended == last.action_id
        and not snapshot.critical
        and look.agent_state.failed is None
        and slot is not None
        and slot.since == last.block_since
        and set(last.seen).issuperset(_in_sight(look))
        and _tidings(look) == last.tidings
    )


def _is_same(look: Look, last: LastAsked, option: Option) -> bool:
    if (option.action_id, option.facility_id) == (last.action_id, last.facility_id):
        return True
    assert look.slot is not None  # noqa: S101  it is quiet
    is_home = at_home(look.world.setting, look.slot.block, look.snapshot.home)
    return is_home and _is_leisure(look, last.action_id) and _is_leisure(look, option.action_id)


def _is_leisure(look: Look, action_id: str) -> bool:
    """Waiting, or what can be done at home or anywhere, costs nothing and is not the night's sleep."""
    actions = look.world.setting.catalogue.actions
    return action_id == WAIT or any(
        a.id == action_id and a.where in _LEISURE and not a.cost and not a.ends_day for a in actions
    )


def _could_meet(look: Look) -> bool:
    """Whether somebody it has not talked with today is free within talking distance."""
    met = {talk.partner_id for talk in look.recent.today}
    distances, here = look.world.setting.distances, look.snapshot.node_id
    in_talk, spot = distances.in_talk(here), distances.spot(here)
    people = (p.id for p in look.snapshot.people if p.approachable and p.node_id in in_talk)
    npcs = (n.id for n in look.snapshot.npcs if n.talks_with is None and distances.to_npc(n.id)[spot] == 0)
    return not met.issuperset((*people, *npcs))


def _in_sight(look: Look) -> Iterable[str]:
    return (*(seen.id for seen in look.snapshot.people), *(npc.id for npc in look.snapshot.npcs))


def _tidings(look: Look) -> str:
    """A digest of the weather, of what is announced now, and of what it carries; "" when there is nothing of it."""
    world = look.world
    announced = (f"\n{notice.text}" for notice in world.notices if notice.at <= world.now < notice.until)
    told = "\0".join((world.weather, "".join(announced), *look.recent.items))
    return hashlib.sha256(told.encode()).hexdigest()[:12] if told.strip("\0") else ""
