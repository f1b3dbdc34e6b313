"""Owns who overhears a talk: those who stand where it is held, and could be spoken to themselves."""

from collections.abc import Iterator

from world.agent_index import AgentIndex
from world.life import Talk
from world.movement import node_at
from world.time import WorldTime


def overheard(world: AgentIndex, talk: Talk) -> dict[str, list[int]]:
    """By the id of who took no part in it when they were spoken: the turns it overheard. For a talk that is over, and
    that nobody lags behind any more.

    A character hears on its own node what is said there, an NPC what is said beside its post. Who sleeps, walks or
    talks hears nothing.
    """
    found: dict[str, list[int]] = {}
    for turn in range(talk.turns):
        for person_id in _hear(world, talk, turn):
            found.setdefault(person_id, []).append(turn)
    return found


def _hear(world: AgentIndex, talk: Talk, turn: int) -> Iterator[str]:
    t, there = WorldTime(talk.start + turn), talk.hears(turn)
    nodes = {node_at(world.people[i].during(t).segment, t) for i in there if i in world.people}
    for person, activity, _ in sorted(world.near(nodes, t), key=lambda near: near[0].id):
        if person.id not in there and activity.approachable(t):
            yield person.id
    for node_id in sorted(nodes):
        for npc_id in world.setting.distances.npcs_beside(node_id):
            if npc_id not in there and npc_id not in world.engaged and world.npc_talk(npc_id, t, seen=True) is None:
                yield npc_id
