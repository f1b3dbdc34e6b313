"""Owns what keeping an appointment takes: when somebody has to leave, and the way there as an option. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.people.commitment import EARLY_MINUTES, Commitment, around
from world.actions import BUILT_IN, WAIT
from world.errors import Unreachable
from world.option import Option
from world.perceive import Snapshot
from world.setting import Setting
from world.time import MINUTES_PER_DAY, WorldTime

MARGIN_MINUTES = 5
"""Minutes that somebody is there before the time, if nothing hinders it on the way."""


STANDS_MINUTES = 3650 * MINUTES_PER_DAY
"""So long somebody stands who is told nothing else: ten world years at most, then again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Keeping:
    """An appointment that may be kept now, and how."""

    commitment: Commitment
    option: Option


def keeping(setting: Setting, snapshot: Snapshot, promised: Sequence[Commitment]) -> tuple[Keeping, ...]:
    """Appointments for which it is time to go, or to wait on the spot; the soonest first."""
    ways = ((one, _way(setting, snapshot, one)) for one in promised)
    found = [Keeping(commitment=one, option=way) for one, way in ways if way is not None]
    return tuple(sorted(found, key=lambda one: (one.commitment.due.at if one.commitment.due else 0, one.commitment.id)))


def by_appointments(
    setting: Setting, snapshot: Snapshot, promised: Sequence[Commitment]
) -> tuple[Option, WorldTime | None]:
    """What an NPC does that may leave its node, and when it looks up: it goes to its appointments, and else stands
    where it belongs.
    """
    kept = keeping(setting, snapshot, promised)
    if kept:
        return kept[0].option, None
    walk = setting.routes.minutes(snapshot.node_id, snapshot.home)
    stays = Option(action_id=WAIT, node_id=snapshot.home, walk_minutes=walk, minutes=STANDS_MINUTES)
    return stays, wake_for(setting, snapshot, stays, promised)


def wake_for(setting: Setting, snapshot: Snapshot, option: Option, promised: Sequence[Commitment]) -> WorldTime | None:
    """When somebody who takes the option must look up to be in time for its next appointment; None: it has none, or it
    could go already.
    """
    arrival = snapshot.time + option.walk_minutes
    times = [
        max(leaves, arrival + 1)
        for one in promised
        if (at := _leaves(setting, snapshot, snapshot.node_id, one)) is not None
        and at > snapshot.time
        and not _keeps(setting, option, arrival, one)
        and (leaves := _leaves(setting, snapshot, option.node_id, one)) is not None
    ]
    return WorldTime(min(times)) if times else None


def in_time(setting: Setting, snapshot: Snapshot, option: Option, wake_at: WorldTime | None) -> Option:
    """The option, no longer than there is time where it cannot be interrupted."""
    if wake_at is None or option.action_id in BUILT_IN or setting.catalogue.action(option.action_id).interruptible:
        return option
    left = wake_at - snapshot.time - option.walk_minutes
    return replace(option, minutes=max(1, min(option.minutes, left)))


def _keeps(setting: Setting, option: Option, arrival: int, one: Commitment) -> bool:
    """Whether the option is to be there for it."""
    if option.action_id != WAIT or _goal(setting, option.node_id, one) != option.node_id:
        return False
    return arrival + option.minutes in (one.appointment, one.waits_until)


def earliest(*times: WorldTime | None) -> WorldTime | None:
    """The first of the times that there are."""
    return min((t for t in times if t is not None), default=None)


def _leaves(setting: Setting, snapshot: Snapshot, start: str, one: Commitment) -> WorldTime | None:
    at = one.appointment
    if at is None or not one.is_open(snapshot.time) or (goal := _goal(setting, start, one)) is None:
        return None
    return WorldTime(at - setting.routes.minutes(start, goal) - MARGIN_MINUTES)


def _way(setting: Setting, snapshot: Snapshot, one: Commitment) -> Option | None:
    """Go there, and wait until the time, though the other may be there before; whoever is late or waits in vain, until
    it is over.
    """
    at, last, goal = one.appointment, one.waits_until, _goal(setting, snapshot.node_id, one)
    if at is None or last is None or goal is None or not one.is_open(snapshot.time):
        return None
    if snapshot.time >= at and _are_together(setting, snapshot, one):
        return None
    walk = setting.routes.minutes(snapshot.node_id, goal)
    arrival = snapshot.time + walk
    if not at - EARLY_MINUTES <= arrival < last:
        return None
    until = at if arrival < at else last
    return Option(action_id=WAIT, node_id=goal, walk_minutes=walk, minutes=until - arrival)


def _goal(setting: Setting, start: str, one: Commitment) -> str | None:
    """The open node where the two meet: the place, or one beside the NPC who stands there; None: no way leads there."""
    node_id = one.node_id
    if node_id is None or node_id not in setting.world_map.nodes:
        return None
    try:
        if node_id not in setting.world_map.closed_nodes:
            setting.routes.minutes(start, node_id)
            return node_id
        beside = setting.world_map.beside(node_id)
        return start if start in beside else setting.routes.path_to_any(start, beside).nodes[-1]
    except Unreachable:
        return None


def _are_together(setting: Setting, snapshot: Snapshot, one: Commitment) -> bool:
    """Whether both are there already."""
    assert one.node_id is not None  # noqa: S101  it has a place where one can go
    near, other = around(setting, one.node_id), one.other(snapshot.person_id)
    post = setting.world_map.posts.get(other)
    there = post in near if post else any(seen.id == other and seen.node_id in near for seen in snapshot.people)
    return there and snapshot.node_id in near
