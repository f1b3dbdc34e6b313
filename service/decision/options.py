"""Owns which options a decision offers: first what the day's block wants, then what is near; few enough to read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.decision.day import Slot, at_home
from service.decision.routine import Keeping, keeping
from service.people.commitment import Commitment
from service.people.worlds import WorldView
from world.actions import TALK, WAIT, ActionDef, Option, Reason, Refusal, Where
from world.errors import Unreachable
from world.perceive import Snapshot
from world.possible import possible, possible_one

NEAREST = 2
"""NPCs offered beside all characters in sight; of each action only the nearest place is kept."""
MAX_OPTIONS = 12
MAX_PARTNERS = 5
LONGEST_WAIT = 30
"""Minutes of waiting that are offered at once."""

_BROKEN = {
    Reason.CLOSED,
    Reason.WRONG_TIME,
    Reason.NO_SEAT,
    Reason.NO_FACILITY,
    Reason.NO_WAY,
    Reason.TOO_LITTLE,
}
"""Reasons that keep a block of the day from taking place; what is merely not needed now does not break it."""


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What can be chosen: appointments that can be kept, then `options`, the `planned` ones of the current block first;
    and what is not possible, in the same order.
    """

    keeping: tuple[Keeping, ...] = ()
    options: tuple[Option, ...]
    planned: int
    refusals: tuple[Refusal, ...]


def offered(world: WorldView, snapshot: Snapshot, slot: Slot | None, promised: Sequence[Commitment] = ()) -> Offered:
    """What is offered; waiting always is."""
    found = possible(world.setting, snapshot, nearest=NEAREST)
    own = planned(world, snapshot, slot)
    if not any(isinstance(one, Option) for one in own):
        own = (*own, *homeward(world, snapshot, slot))
    options = dict.fromkeys(one for one in own if isinstance(one, Option))
    first = len(options)
    left = MAX_OPTIONS - first
    urgent = {action.id for action in world.setting.catalogue.actions if _eases(action, snapshot)}
    options |= dict.fromkeys(_patient(one, slot, snapshot) for one in _few(found.options, set(options), left, urgent))
    missing = [one for one in own if isinstance(one, Refusal)]
    missing += [one for one in found.refusals if one not in missing and not _is_by_day(world, one)]
    return Offered(
        keeping=keeping(world.setting, snapshot, promised),
        options=tuple(options),
        planned=first,
        refusals=tuple(missing),
    )


def planned(world: WorldView, snapshot: Snapshot, slot: Slot | None) -> tuple[Option | Refusal, ...]:
    """What the current block wants: its action, else whatever its facility is for; nothing for who spends it at home
    without naming an action.
    """
    if slot is None:
        return ()
    catalogue, block = world.setting.catalogue, slot.block
    if any(action.id == block.action_id for action in catalogue.actions):
        assert block.action_id is not None  # noqa: S101  it is one of theirs
        return (possible_one(world.setting, snapshot, block.action_id, block.facility_id),)
    if block.facility_id is None or at_home(world.setting, block, snapshot.home):
        return ()
    tags = world.map.facility(block.facility_id).tags
    actions = (a for a in catalogue.actions if a.where is Where.FACILITY and a.tags & tags)
    return tuple(possible_one(world.setting, snapshot, action.id, block.facility_id) for action in actions)


def homeward(world: WorldView, snapshot: Snapshot, slot: Slot | None) -> tuple[Option, ...]:
    """The way home, if the character should be at home by its day and is elsewhere."""
    if slot is None or snapshot.node_id == snapshot.home:
        return ()
    if not at_home(world.setting, slot.block, snapshot.home):
        return ()
    try:
        walk = world.setting.routes.minutes(snapshot.node_id, snapshot.home)
    except Unreachable:
        return ()
    minutes = min(max(1, slot.until - snapshot.time - walk), LONGEST_WAIT)
    return (Option(action_id=WAIT, node_id=snapshot.home, walk_minutes=walk, minutes=minutes),)


def obstacle(world: WorldView, snapshot: Snapshot, slot: Slot | None) -> Refusal | None:
    """Why the current block cannot take place at all; None when it can, or is the night's sleep at another hour."""
    if slot is not None and any(a.ends_day and a.id == slot.block.action_id for a in world.setting.catalogue.actions):
        return None
    own = planned(world, snapshot, slot)
    if any(isinstance(one, Option) for one in own):
        return None
    return next((one for one in own if isinstance(one, Refusal) and one.reason in _BROKEN), None)


def _few(options: tuple[Option, ...], own: set[Option], left: int, urgent: set[str]) -> list[Option]:
    """Each action in one place only, the nearest, or where the block wants it; the nearest few to talk to; waiting. Of
    too many the farthest go, the `urgent` actions last.
    """
    talks = sorted((o for o in options if o.action_id == TALK), key=_walk)[:MAX_PARTNERS]
    done, kept = {option.action_id for option in own}, []
    for option in options:
        if option in talks or (
            option.action_id != TALK and (option.facility_id is None or option.action_id not in done)
        ):
            done.add(option.action_id)
            kept.append(option)
    near = {
        option
        for option in sorted(kept, key=lambda o: (o.action_id not in urgent, o.walk_minutes))[: left - 1]
        if option.action_id != WAIT
    }
    return [option for option in kept if option in near or option.action_id == WAIT]


def _is_by_day(world: WorldView, refusal: Refusal) -> bool:
    """Whether it only says that the night's sleep is for the night."""
    nights = {action.id for action in world.setting.catalogue.actions if action.ends_day}
    return refusal.reason is Reason.WRONG_TIME and refusal.action_id in nights


def _eases(action: ActionDef, snapshot: Snapshot) -> bool:
    return any(action.effects.get(need_id, 0) > 0 for need_id in snapshot.critical)


def _walk(option: Option) -> int:
    return option.walk_minutes


def _patient(option: Option, slot: Slot | None, snapshot: Snapshot) -> Option:
    """Waiting as it is offered: until the next block, within bounds."""
    if option.action_id != WAIT or slot is None:
        return option
    return replace(option, minutes=min(max(option.minutes, slot.until - snapshot.time), LONGEST_WAIT))
