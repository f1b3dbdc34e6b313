"""Owns what is possible here and now, for whom, and why the rest is not."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from world.actions import GO, TALK, WAIT, ActionDef, Facts, Option, Possibilities, Reason, Refusal, Where
from world.distance import FAR, Path
from world.errors import Unreachable
from world.perception import Seen, Snapshot
from world.places import Facility
from world.setting import Setting
from world.time import MINUTES_PER_DAY, WorldTime, minute_of_day

_WAIT_MINUTES = 15


def possible(setting: Setting, snapshot: Snapshot, *, nearest: int | None = 3) -> Possibilities:
    """What the one who sees `snapshot` can do: each action in the `nearest` facilities (None: all), talking to the
    `nearest` NPCs and to everybody in sight, going to the next map, waiting.

    What cannot be reached is never offered. Seats are known only where the character stands; elsewhere it finds out.
    """
    found: list[Option | Refusal] = [
        *(one for action in setting.catalogue.actions for one in _do(setting, snapshot, action, nearest)),
        *_talk(setting, snapshot, nearest),
        *_go(setting, snapshot),
        Option(action_id=WAIT, node_id=snapshot.node_id, minutes=_WAIT_MINUTES),
    ]
    return Possibilities(
        options=tuple(one for one in found if isinstance(one, Option)),
        refusals=tuple(one for one in found if isinstance(one, Refusal)),
    )


def possible_one(
    setting: Setting, snapshot: Snapshot, action_id: str, facility_id: str | None = None
) -> Option | Refusal:
    """One of the author's actions, or waiting: in that facility, or where it is nearest and possible. Looks at no
    other.

    Raises:
        KeyError: there is no such action.
        UnknownPlace: there is no such facility.
    """
    if action_id == WAIT:
        return Option(action_id=WAIT, node_id=snapshot.node_id, minutes=_WAIT_MINUTES)
    action = setting.catalogue.action(action_id)
    if facility_id is None or action.where is not Where.FACILITY:
        found = list(_do(setting, snapshot, action, 1))
        return next((one for one in found if isinstance(one, Option)), found[0])
    facility = setting.world_map.facility(facility_id)
    if not facility.tags & action.tags:
        return Refusal(action_id=action_id, reason=Reason.NO_FACILITY, facility_id=facility_id)
    refusal = why_not(setting, snapshot, action)
    if refusal is not None:
        return refusal
    walk = setting.distances.to_facility(facility_id)[setting.distances.node_index(snapshot.node_id)]
    return _in_facility(setting, snapshot, action, facility, walk)


def why_not(setting: Setting, snapshot: Snapshot, action: ActionDef) -> Refusal | None:
    """Why the character itself cannot do it, wherever that would be."""
    asked = [(one.need_id, one.at_least, one.at_most) for one in action.requires]
    for need_id, least, most in (*asked, *((need_id, amount, inf) for need_id, amount in action.cost.items())):
        has = snapshot.levels[need_id]
        if not least <= has <= most:
            bound: Facts = {"needs": least} if has < least else {"at_most": most}
            reason = Reason.TOO_LITTLE if has < least else Reason.TOO_MUCH
            return Refusal(
                action_id=action.id, reason=reason, facts={"need_id": need_id, "has": round(has, 1), **bound}
            )
    return None


def _do(setting: Setting, snapshot: Snapshot, action: ActionDef, nearest: int | None) -> Iterator[Option | Refusal]:
    refusal = why_not(setting, snapshot, action)
    if refusal is not None:
        yield refusal
        return
    if action.where is Where.FACILITY:
        yield from _do_in_facility(setting, snapshot, action, nearest)
        return
    goal = snapshot.home if action.where is Where.HOME else snapshot.node_id
    try:
        walk = setting.routes.minutes(snapshot.node_id, goal)
    except Unreachable:
        yield Refusal(action_id=action.id, reason=Reason.NO_WAY, facts={"node_id": goal})
        return
    arrival = WorldTime(snapshot.time + walk)
    if not action.may_begin(arrival):
        yield _wrong_time(action, arrival)
        return
    yield Option(action_id=action.id, node_id=goal, walk_minutes=walk, minutes=action.minutes)


def _do_in_facility(
    setting: Setting, snapshot: Snapshot, action: ActionDef, nearest: int | None
) -> Iterator[Option | Refusal]:
    facilities = setting.facilities_for[action.id]
    if not facilities:
        yield Refusal(action_id=action.id, reason=Reason.NO_FACILITY)
        return
    node_index = setting.distances.node_index(snapshot.node_id)
    near = sorted((setting.distances.to_facility(f.id)[node_index], f.id, f) for f in facilities)
    offered = 0
    for walk, _, facility in near:
        if nearest is not None and offered == nearest:
            return
        one = _in_facility(setting, snapshot, action, facility, walk)
        yield one
        offered += isinstance(one, Option)


def _in_facility(
    setting: Setting, snapshot: Snapshot, action: ActionDef, facility: Facility, walk: int
) -> Option | Refusal:
    if walk >= FAR:
        return Refusal(action_id=action.id, reason=Reason.NO_WAY, facility_id=facility.id)
    arrival = WorldTime(snapshot.time + walk)
    if not facility.open_at(arrival):
        facts: Facts = {"hours": ", ".join(h.label for h in facility.hours), "arrival": minute_of_day(arrival)}
        return Refusal(action_id=action.id, reason=Reason.CLOSED, facility_id=facility.id, facts=facts)
    if not action.may_begin(arrival):
        return _wrong_time(action, arrival, facility.id)
    if snapshot.free_seats.get((facility.id, action.id)) == 0:
        facts = {"seats": action.seats or 0}
        return Refusal(action_id=action.id, reason=Reason.NO_SEAT, facility_id=facility.id, facts=facts)
    node_ids = facility.node_ids
    goal = node_ids[0] if len(node_ids) == 1 else setting.routes.path_to_any(snapshot.node_id, node_ids).nodes[-1]
    return Option(
        action_id=action.id,
        node_id=goal,
        walk_minutes=walk,
        minutes=min(action.minutes, minutes_open(facility, arrival)),
        facility_id=facility.id,
    )


def minutes_open(facility: Facility, t: WorldTime) -> int:
    """For how long from `t` on, a day at most, it stays open."""
    left, at = 0, t
    while left < MINUTES_PER_DAY:
        minute = minute_of_day(at)
        spans = [(h.closes - minute) % MINUTES_PER_DAY or MINUTES_PER_DAY for h in facility.hours if h.contain(minute)]
        if not spans:
            return left
        left += max(spans)
        at = WorldTime(t + left)
    return MINUTES_PER_DAY


def _wrong_time(action: ActionDef, arrival: WorldTime, facility_id: str | None = None) -> Refusal:
    facts: Facts = {"hours": ", ".join(h.label for h in action.hours), "arrival": minute_of_day(arrival)}
    return Refusal(action_id=action.id, reason=Reason.WRONG_TIME, facility_id=facility_id, facts=facts)


def _talk(setting: Setting, snapshot: Snapshot, nearest: int | None) -> Iterator[Option | Refusal]:
    found = [
        *_talk_to_characters(setting, snapshot),
        *_talk_to_npcs(setting, snapshot, nearest),
        *_join(setting, snapshot),
    ]
    yield from found
    if not found:
        yield Refusal(action_id=TALK, reason=Reason.NOBODY)


def _talk_to_characters(setting: Setting, snapshot: Snapshot) -> Iterator[Option | Refusal]:
    for other in _by_distance(snapshot):
        if other.approachable:
            yield _talk_with(setting, snapshot, other)
        elif other.talk_id is None:
            facts: Facts = {"doing": other.doing or ""}
            yield Refusal(action_id=TALK, reason=Reason.BUSY, target_id=other.id, facts=facts)


def _join(setting: Setting, snapshot: Snapshot) -> Iterator[Option]:
    """Each talk in sight that has room, by the nearest of those who talk."""
    joined = set[str | None]()
    for other in _by_distance(snapshot):
        if other.talk_id is not None and other.talk_id not in joined:
            joined.add(other.talk_id)
            yield replace(_talk_with(setting, snapshot, other), talk_id=other.talk_id)


def _by_distance(snapshot: Snapshot) -> list[Seen]:
    return sorted(snapshot.people, key=lambda seen: (seen.minutes, seen.id))


def _talk_with(setting: Setting, snapshot: Snapshot, other: Seen) -> Option:
    """From where one stands, or from where the other does."""
    if other.node_id in setting.distances.in_talk(snapshot.node_id):
        return Option(action_id=TALK, node_id=snapshot.node_id, target_id=other.id)
    return Option(action_id=TALK, node_id=other.node_id, walk_minutes=other.minutes, target_id=other.id)


def _talk_to_npcs(setting: Setting, snapshot: Snapshot, nearest: int | None) -> Iterator[Option | Refusal]:
    node_index = setting.distances.node_index(snapshot.node_id)
    seen = {npc.id: npc for npc in snapshot.npcs}
    posts = setting.world_map.posts
    near = sorted((setting.distances.to_npc(npc_id)[node_index], npc_id) for npc_id in posts)
    offered = 0
    for walk, npc_id in near:
        if nearest is not None and offered == nearest:
            return
        npc = seen.get(npc_id)
        if walk >= FAR:
            yield Refusal(action_id=TALK, reason=Reason.NO_WAY, target_id=npc_id)
        elif npc is not None and npc.talks_with:
            yield Refusal(action_id=TALK, reason=Reason.BUSY, target_id=npc_id, facts={"doing": TALK})
        else:
            offered += 1
            goal = setting.routes.path_beside(snapshot.node_id, posts[npc_id]).nodes[-1]
            yield Option(action_id=TALK, node_id=goal, walk_minutes=walk, target_id=npc_id)


def _go(setting: Setting, snapshot: Snapshot) -> Iterator[Option]:
    """One option for each neighbouring map: its nearest gate, just beyond the exit."""
    here = setting.world_map.node(snapshot.node_id).map_id
    best: dict[str, Path] = {}
    for gate in setting.gates.get(here, ()):
        try:
            path = setting.routes.path(snapshot.node_id, gate)
        except Unreachable:
            continue
        there = setting.world_map.node(gate).map_id
        if there not in best or path.minutes < best[there].minutes:
            best[there] = path
    for _, path in sorted(best.items()):
        yield Option(action_id=GO, node_id=path.nodes[-1], walk_minutes=path.minutes)
