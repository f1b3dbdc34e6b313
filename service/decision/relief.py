"""Owns what helps a need: which of the possible actions raises it most, the way there counted against it."""

from collections.abc import Iterable, Mapping
from math import inf

from world.actions import ActionDef, Where
from world.needs import Need
from world.option import Option
from world.perceive import Snapshot
from world.possible import possible_one
from world.setting import Setting

_WALKING = 0.2
"""How many points of a need a minute of walking costs."""
_COMFORT = 0.4
"""A share of the way from the critical to the highest level; below it, a character that has time does something about
the need.
"""


def wanted(setting: Setting, levels: Mapping[str, float]) -> list[str]:
    """The needs, in the author's order, that are low enough to care for when there is time."""
    return [need.id for need in setting.catalogue.needs.all if levels[need.id] < _comfortable(need)]


def relief(setting: Setting, snapshot: Snapshot, need_id: str, actions: Iterable[ActionDef]) -> Option | None:
    """Of `actions`, in the nearest place each, the possible one that raises the need most; None: nothing does."""
    missing = _need(setting, need_id).highest - snapshot.levels[need_id]
    best: Option | None = None
    best_worth = -inf
    helping = ((min(action.effects.get(need_id, 0), missing), action) for action in actions if helps(action, need_id))
    for gain, action in sorted(helping, key=lambda one: -one[0]):
        if gain <= best_worth:
            break
        one = possible_one(setting, snapshot, action.id)
        if isinstance(one, Option) and gain - _WALKING * one.walk_minutes > best_worth:
            best, best_worth = one, gain - _WALKING * one.walk_minutes
    return best


def helps(action: ActionDef, need_id: str) -> bool:
    """Whether raising that need is what the action is for: it gives no other more."""
    gain = action.effects.get(need_id, 0)
    return gain > 0 and gain == max(action.effects.values())


def at_hand(actions: Iterable[ActionDef]) -> list[ActionDef]:
    """Those that can be done at home or anywhere."""
    return [action for action in actions if action.where is not Where.FACILITY]


def _comfortable(need: Need) -> float:
    return -inf if need.critical is None else need.critical + _COMFORT * (need.highest - need.critical)


def _need(setting: Setting, need_id: str) -> Need:
    return next(need for need in setting.catalogue.needs.all if need.id == need_id)
