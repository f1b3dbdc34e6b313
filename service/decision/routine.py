"""Owns the day's blocks, planned or routine, each of which lasts until the next one, the last one past midnight; and
what somebody does without being asked: by its blocks, its needs, the hour, the map, its appointments.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import attrgetter

from service.content.profile import CharacterProfile, RoutineBlock
from service.people.commitment import EARLY_MINUTES, Commitment, around
from world.actions import BUILT_IN, WAIT, ActionDef, Option, Where
from world.errors import Unreachable
from world.perception import Snapshot
from world.places import Facility
from world.possible import possible_one
from world.setting import Setting
from world.time import MINUTES_PER_DAY, WorldTime, minute_of_day

LONGEST_WAIT = 120
"""Minutes that a person waits before it decides anew."""
_LATE = 22 * 60
_EARLY = 4 * 60
_WORK = "work"
"""The tag of actions that are somebody's work, done before others where no action is named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DaySlot:
    """The block a moment lies in: number `index` of its day, from `since` until before `until`."""

    index: int
    block: RoutineBlock
    since: WorldTime
    until: WorldTime


def day_blocks(setting: Setting, profile: CharacterProfile, plan: tuple[RoutineBlock, ...]) -> tuple[RoutineBlock, ...]:
    """The plan, else the routine, in order; blocks whose facility the map does not have are passed over."""
    blocks = plan or profile.routine
    facilities = setting.world_map.facilities
    return tuple(
        sorted((b for b in blocks if b.facility_id is None or b.facility_id in facilities), key=attrgetter("starts"))
    )


def slot_at(blocks: tuple[RoutineBlock, ...], t: WorldTime) -> DaySlot | None:
    """The slot that holds `t`; None when the day has no blocks. `blocks` are in order."""
    if not blocks:
        return None
    minute = minute_of_day(t)
    index = sum(block.starts <= minute for block in blocks) - 1
    block, following = blocks[index], blocks[(index + 1) % len(blocks)]
    since = t - (minute - block.starts) % MINUTES_PER_DAY
    until = t + ((following.starts - minute) % MINUTES_PER_DAY or MINUTES_PER_DAY)
    return DaySlot(index=index % len(blocks), block=block, since=WorldTime(since), until=WorldTime(until))


def starts_between(blocks: Iterable[RoutineBlock], after: WorldTime, until: WorldTime) -> int:
    """How many blocks begin after `after` and at `until` or before."""
    return sum(
        (until - block.starts) // MINUTES_PER_DAY - (after - block.starts) // MINUTES_PER_DAY for block in blocks
    )


def at_home(setting: Setting, block: RoutineBlock, home: str) -> bool:
    """Whether the block is spent at home: nowhere else, or in the facility the home lies in."""
    return block.facility_id is None or home in setting.world_map.facilities[block.facility_id].node_ids


def by_routine(
    setting: Setting,
    profile: CharacterProfile,
    snapshot: Snapshot,
    plan: tuple[RoutineBlock, ...] = (),
    promised: tuple[Commitment, ...] = (),
) -> tuple[Option, WorldTime | None]:
    """What the character does by its plan, else by its routine, and when it looks up again at the latest.

    What was `promised` comes first, then critical needs, the night's sleep, and the block of the day. Nobody begins
    a talk. The option is always possible; it ends when the next block begins, but a meal, once paid, is had.
    """
    kept = keeping(setting, snapshot, promised)
    if kept:
        return kept[0].option, None
    slot = slot_at(day_blocks(setting, profile, plan), snapshot.time)
    moment = _Moment(setting=setting, snapshot=snapshot, slot=slot)
    option = _choose(moment)
    leaves = wake_for(setting, snapshot, option, promised)
    option = in_time(setting, snapshot, option, leaves)
    ends = snapshot.time + option.walk_minutes + option.minutes
    return option, earliest(slot.until if slot and ends <= slot.until else None, leaves)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Moment:
    setting: Setting
    snapshot: Snapshot
    slot: DaySlot | None

    @property
    def actions(self) -> tuple[ActionDef, ...]:
        return self.setting.catalogue.actions

    @property
    def is_home(self) -> bool:
        """Whether the block is spent at home, as a day without blocks is."""
        return self.slot is None or at_home(self.setting, self.slot.block, self.snapshot.home)

    @property
    def until(self) -> WorldTime:
        return self.slot.until if self.slot else WorldTime(self.snapshot.time + MINUTES_PER_DAY)

    @property
    def named(self) -> ActionDef | None:
        """The action that the block names, if there is one of that name."""
        return self.setting.catalogue.find(self.slot.block.action_id) if self.slot else None


def _choose(moment: _Moment) -> Option:
    night = _night(moment)
    for need_id in moment.snapshot.critical:
        # A character that is about to sleep does not go out first.
        found = _relief(moment, need_id, at_hand(moment.actions) if night else moment.actions)
        if found is not None:
            return found
    if night is not None:
        return night
    if moment.is_home:
        return next(_chores(moment), None) or _wait(moment, moment.snapshot.home)
    facility = _facility(moment)
    done_there = (one for action in _fitting(moment, facility) for one in _one(moment, action, facility.id))
    return next(done_there, None) or _wait(moment, _nearest_node(moment))


def _relief(moment: _Moment, need_id: str, actions: Iterable[ActionDef]) -> Option | None:
    option = relief(moment.setting, moment.snapshot, need_id, (a for a in actions if not _in_vain(moment, a)))
    if option is None:
        return None
    return _night_long(moment, option) if moment.setting.catalogue.action(option.action_id).ends_day else option


def _in_vain(moment: _Moment, action: ActionDef) -> bool:
    """Whether the action needs a seat here, and the character has just waited here, perhaps for that seat."""
    here = moment.setting.world_map.facilities_at(moment.snapshot.node_id)
    return action.seats is not None and moment.snapshot.ended == WAIT and any(f.tags & action.tags for f in here)


def _night(moment: _Moment) -> Option | None:
    """The night's sleep, when it is time for it."""
    if not moment.is_home:
        return None
    for action in at_hand(moment.actions):
        if action.ends_day and _is_bedtime(moment, action):
            option = possible_one(moment.setting, moment.snapshot, action.id)
            if isinstance(option, Option):
                return _night_long(moment, option)
    return None


def _is_bedtime(moment: _Moment, action: ActionDef) -> bool:
    """Late at home, with time for half a night; or in a block that is there for sleeping."""
    if moment.slot is None:
        return _is_late(moment)
    is_there_for_it = action is moment.named or action.may_begin(moment.slot.since)
    return moment.until - moment.snapshot.time >= action.minutes // 2 and (is_there_for_it or _is_late(moment))


def _is_late(moment: _Moment) -> bool:
    return not _EARLY <= minute_of_day(moment.snapshot.time) < _LATE


def _night_long(moment: _Moment, option: Option) -> Option:
    """Until the day's next block, but half a night at least."""
    least = max(1, option.minutes // 2)
    left = moment.until - moment.snapshot.time - option.walk_minutes
    return replace(option, minutes=min(option.minutes, left) if left >= least else option.minutes)


def _chores(moment: _Moment) -> Iterator[Option]:
    """What there is to do at home: what the block names, then what does somebody good."""
    named = moment.named
    if named is not None and not (named.cost and moment.snapshot.ended == named.id):
        yield from _one(moment, named, moment.slot.block.facility_id if moment.slot else None)
    is_there = moment.snapshot.node_id == moment.snapshot.home
    mild = [
        action
        for action in at_hand(moment.actions)
        if not action.ends_day
        and action.id != moment.snapshot.ended
        and (is_there or action.where is Where.HOME)  # a rest is taken at home, not before setting out for it
    ]
    for need_id in wanted(moment.setting, moment.snapshot.levels):
        found = relief(moment.setting, moment.snapshot, need_id, mild)
        if found is not None:
            yield _fitted(moment, found)


def _fitting(moment: _Moment, facility: Facility) -> Iterator[ActionDef]:
    """What can be done there, the most sensible first: what the block names, a meal for the hungry, work, what else
    does somebody good, what at least costs nothing. What costs is not done over and over.
    """
    ended, named = moment.snapshot.ended, moment.named
    offered = [
        action
        for action in moment.actions
        if action.where is Where.FACILITY and action.tags & facility.tags and not _in_vain(moment, action)
    ]
    arriving = moment.snapshot.node_id not in facility.node_ids
    if named is not None and not (named.cost and named.id == ended) and not _in_vain(moment, named):
        yield named
    low = wanted(moment.setting, moment.snapshot.levels)
    good = [a for a in offered if a.id != ended and any(helps(a, need_id) for need_id in low)]
    yield from (a for a in good if a.cost)
    if named is None:
        yield from (a for a in offered if _WORK in a.tags)
    others = [a for a in (*good, *offered) if _WORK not in a.tags]
    yield from (a for a in others if (arriving or not a.cost) and max(a.effects.values(), default=0) > 0)
    yield from (a for a in others if not a.cost)


def _one(moment: _Moment, action: ActionDef, facility_id: str | None) -> Iterator[Option]:
    """The action as an option that ends with the block, if it is possible."""
    found = possible_one(moment.setting, moment.snapshot, action.id, facility_id)
    if isinstance(found, Option):
        yield _fitted(moment, found)


def _fitted(moment: _Moment, option: Option) -> Option:
    left = max(1, moment.until - moment.snapshot.time - option.walk_minutes)
    paid = moment.setting.catalogue.action(option.action_id).cost
    least = (option.minutes + 1) // 2 if paid else 1
    return replace(option, minutes=max(least, min(option.minutes, left)))


def _facility(moment: _Moment) -> Facility:
    assert moment.slot is not None  # noqa: S101  only blocks are spent away from home
    assert moment.slot.block.facility_id is not None  # noqa: S101
    return moment.setting.world_map.facilities[moment.slot.block.facility_id]


def _nearest_node(moment: _Moment) -> str:
    """The nearest node of the block's facility; where somebody stands, if no way leads there."""
    facility = _facility(moment)
    if moment.snapshot.node_id in facility.node_ids:
        return moment.snapshot.node_id
    try:
        return moment.setting.routes.path_to_any(moment.snapshot.node_id, facility.node_ids).nodes[-1]
    except Unreachable:
        return moment.snapshot.node_id


def _wait(moment: _Moment, goal: str) -> Option:
    """Go there and wait for the next block; on the spot, when no way leads there."""
    snapshot, walk = moment.snapshot, 0
    if goal != snapshot.node_id:
        try:
            walk = moment.setting.routes.path(snapshot.node_id, goal).minutes
        except Unreachable:
            goal = snapshot.node_id
    left = max(1, moment.until - snapshot.time - walk)
    return Option(action_id=WAIT, node_id=goal, walk_minutes=walk, minutes=min(left, LONGEST_WAIT))


_WALKING = 0.2
"""How many points of a need a minute of walking costs."""
_COMFORT = 0.4
"""A share of the way from the critical to the highest level; below it, a character that has time does something about
the need.
"""


def wanted(setting: Setting, levels: Mapping[str, float]) -> list[str]:
    """The needs, in the author's order, that are low enough to care for when there is time."""
    return [
        need.id
        for need in setting.catalogue.needs.all
        if need.critical is not None and levels[need.id] < need.critical + _COMFORT * (need.highest - need.critical)
    ]


def relief(setting: Setting, snapshot: Snapshot, need_id: str, actions: Iterable[ActionDef]) -> Option | None:
    """Of `actions`, in the nearest place each, the possible one that raises the need most; None: nothing does."""
    need = next(need for need in setting.catalogue.needs.all if need.id == need_id)
    missing = need.highest - snapshot.levels[need_id]
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


MARGIN_MINUTES = 5
"""Minutes that somebody is there before the time, if nothing hinders it on the way."""


STANDS_MINUTES = 3650 * MINUTES_PER_DAY
"""An NPC that has nowhere to go stands for ten world years, then it decides to stand again."""


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
    """What an NPC that may leave its node does, and when it decides anew: it goes to its appointments, else stands at
    its own node.
    """
    kept = keeping(setting, snapshot, promised)
    if kept:
        return kept[0].option, None
    walk = setting.routes.minutes(snapshot.node_id, snapshot.home)
    stays = Option(action_id=WAIT, node_id=snapshot.home, walk_minutes=walk, minutes=STANDS_MINUTES)
    return stays, wake_for(setting, snapshot, stays, promised)


def wake_for(setting: Setting, snapshot: Snapshot, option: Option, promised: Sequence[Commitment]) -> WorldTime | None:
    """When a person that takes the option must decide anew to be in time for its next appointment; None: it has none,
    or could set out already.
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
    """Whether the option is to wait at the meeting place until the appointment, or until it is over."""
    is_there = option.action_id == WAIT and _meeting_node(setting, option.node_id, one) == option.node_id
    return is_there and arrival + option.minutes in (one.appointment, one.waits_until)


def earliest(*times: WorldTime | None) -> WorldTime | None:
    """The first of the times that there are."""
    return min((t for t in times if t is not None), default=None)


def _leaves(setting: Setting, snapshot: Snapshot, start: str, one: Commitment) -> WorldTime | None:
    at = one.appointment
    if at is None or not one.is_open(snapshot.time) or (goal := _meeting_node(setting, start, one)) is None:
        return None
    return WorldTime(at - setting.routes.minutes(start, goal) - MARGIN_MINUTES)


def _way(setting: Setting, snapshot: Snapshot, one: Commitment) -> Option | None:
    """The option to go to the appointment and wait: until its time, or, for a person that comes later, until it is
    over. None: it is not time to go.
    """
    at, last, goal = one.appointment, one.waits_until, _meeting_node(setting, snapshot.node_id, one)
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


def _meeting_node(setting: Setting, start: str, one: Commitment) -> str | None:
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
    """Whether both who have the appointment are already there."""
    assert one.node_id is not None  # noqa: S101  it has a place where one can go
    near, other = around(setting, one.node_id), one.other(snapshot.person_id)
    post = setting.world_map.posts.get(other)
    there = post in near if post else any(seen.id == other and seen.node_id in near for seen in snapshot.people)
    return there and snapshot.node_id in near
