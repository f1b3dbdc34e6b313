"""Owns what a character perceives at a moment: who is near and does what, which NPC is free, what seats are left; and
who overhears a talk.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from world.agent_index import AgentIndex
from world.life import TalkState, node_at
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """Somebody in sight, `minutes` away. `doing` is a character's action id (None: it has just ended something, or is
    an NPC). It talks with `talks_with`; the observer may join them, where `talk_id` is set.
    """

    id: str
    node_id: str
    minutes: int
    doing: str | None
    approachable: bool
    talks_with: tuple[str, ...] = ()
    talk_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What one character knows when it decides at `time`: S(t), before any effect of `time`.

    `because` and `ended` say what it has just ended and why. `people` and `npcs` are sorted by id. `free_seats`:
    (facility id, action id) of the facilities it stands in. A scripted character sees neither people, NPCs nor seats.
    """

    person_id: str
    time: WorldTime
    home: str
    node_id: str
    ended: str
    because: str
    levels: Mapping[str, float]
    critical: tuple[str, ...]
    people: tuple[Seen, ...] = ()
    npcs: tuple[Seen, ...] = ()
    free_seats: Mapping[tuple[str, str], int]


def perceive(lives: AgentIndex, person_id: str, at: WorldTime | None = None) -> Snapshot:
    """The snapshot S(t) of the character, at its `ready` time or at a remembered time at which it decided. Raises:
    KeyError.
    """
    person = lives.people[person_id]
    t = person.ready if at is None else at
    ended = person.before(t)
    node_id, needs = ended.node_id, lives.setting.catalogue.needs
    return Snapshot(
        person_id=person_id,
        time=t,
        home=person.home,
        node_id=node_id,
        ended=ended.action_id,
        because=ended.because,
        levels=needs.at(ended.levels, t),
        critical=needs.critical(ended.levels, t),
        people=()
        if person.is_scripted
        else tuple(sorted(_people(lives, person_id, node_id, t), key=lambda seen: seen.id)),
        npcs=() if person.is_scripted else tuple(_npcs(lives, node_id, t)),
        free_seats={} if person.is_scripted else _free_seats(lives, node_id, t),
    )


def _people(lives: AgentIndex, person_id: str, here: str, t: WorldTime) -> Iterator[Seen]:
    sight, most = lives.setting.distances.in_sight(here), lives.setting.rules.table
    for person, activity, node_id in lives.near(sight, t):
        if person.id == person_id:
            continue
        seen = activity.seen_at(t)
        talk = lives.talks[activity.talk_id] if seen and activity.talk_id else None
        table = talk.seen(t) if talk else ()
        yield Seen(
            id=person.id,
            node_id=node_id,
            minutes=sight[node_id],
            doing=activity.action_id if seen else None,
            # Who is cut at t is still free to be spoken to in S(t).
            approachable=seen and activity.interruptible,
            talks_with=tuple(i for i in table if i != person.id),
            # Where there is room, as S(t) shows it. Nobody comes back to a talk that it has left.
            talk_id=talk.id if talk and len(table) < most and person_id not in talk.members_before(t) else None,
        )


def _npcs(lives: AgentIndex, here: str, t: WorldTime) -> Iterator[Seen]:
    distances = lives.setting.distances
    for npc_id in distances.npcs_in_sight(here):
        talk = lives.npc_talk(npc_id, t, seen=True)
        engaged = (lives.engaged[npc_id],) if npc_id in lives.engaged else ()
        talks_with = tuple(i for i in talk.seen(t) if i != npc_id) if talk else engaged
        yield Seen(
            id=npc_id,
            node_id=lives.setting.world_map.posts[npc_id],
            minutes=distances.to_npc(npc_id)[distances.node_index(here)],
            doing=None,
            approachable=not talks_with,
            talks_with=talks_with,
        )


def _free_seats(lives: AgentIndex, here: str, t: WorldTime) -> dict[tuple[str, str], int]:
    free: dict[tuple[str, str], int] = {}
    for facility in lives.setting.world_map.facilities_at(here):
        for action in lives.setting.seated[facility.id]:
            seat = (facility.id, action.id)
            doing = (person.before(t) for person in lives.seated(seat))
            free[seat] = (action.seats or 0) - sum(a.seat == seat and a.seen_at(t) for a in doing)
    return free


def overheard(world: AgentIndex, talk: TalkState) -> dict[str, list[int]]:
    """The turns that each person overheard, by the id of a person who took no part in them. For a talk that is over,
    when nobody lags behind its end.

    A character hears what is said on its own node, an NPC what is said beside its post; nobody hears anything while
    asleep, walking or talking.
    """
    found: dict[str, list[int]] = {}
    for turn in range(talk.turns):
        for person_id in _hear(world, talk, turn):
            found.setdefault(person_id, []).append(turn)
    return found


def _hear(world: AgentIndex, talk: TalkState, turn: int) -> Iterator[str]:
    t, there = WorldTime(talk.start + turn), talk.hears(turn)
    nodes = {node_at(world.people[i].during(t).segment, t) for i in there if i in world.people}
    for person, activity, _ in sorted(world.near(nodes, t), key=lambda near: near[0].id):
        if person.id not in there and activity.approachable(t):
            yield person.id
    for node_id in sorted(nodes):
        for npc_id in world.setting.distances.npcs_beside(node_id):
            if npc_id not in there and npc_id not in world.engaged and world.npc_talk(npc_id, t, seen=True) is None:
                yield npc_id
