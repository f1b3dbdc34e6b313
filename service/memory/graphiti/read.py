"""Owns reading from Neo4j: how far a group is, what was written since, all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.memory.embedding.embedder import NO_VECTORS, VectorSpace
from service.memory.graphiti.connection import Neo4jConnection
from service.memory.graphiti.groups import GraphGroup
from service.memory.graphiti.rows import EPISODE_COLUMNS, FACT_COLUMNS, episode_uuid, read_episode, read_fact
from service.memory.index import Packed, State
from service.memory.record import Episode, Fact, GroupDump, Item, Kind

# The server keeps these two counts itself: asking for them costs nothing.
_STATE = """
    OPTIONAL MATCH (g:KataribeGroup {id: $group})
    RETURN g.epoch AS epoch, g.revision AS revision, g.installation AS installation,
        g.embedder AS embedder, g.dimensions AS dimensions,
        COUNT { MATCH ()-[:RELATES_TO]->() } AS facts, COUNT { MATCH (:Episodic) } AS episodes
"""
# Every edge of the group is counted, and every one with an id of ours: others write some and take some away.
_CENSUS = """
    OPTIONAL MATCH (g:KataribeGroup {id: $group})
    RETURN coalesce(g.facts, 0) AS facts,
        COUNT { MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group } AS edges,
        COUNT { MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id IS NOT NULL } AS ours
"""
_VECTOR = "CASE {0}.vector_model WHEN $model THEN {0}.vector END AS vector"
_FACTS_SINCE = f"""
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.revision > $revision
    RETURN {FACT_COLUMNS}, {_VECTOR.format("e")}
"""
_EPISODES_SINCE = f"""
    MATCH (n:Episodic) WHERE n.group_id = $group AND n.revision > $revision
    RETURN {EPISODE_COLUMNS}, {_VECTOR.format("n")}
"""
_HAS_EPISODE = "MATCH (n:Episodic {uuid: $uuid}) WHERE n.conversation_id IS NOT NULL RETURN 1 AS held"

QUERIES: Mapping[str, str] = {
    "state": _STATE,
    "census": _CENSUS,
    "facts since": _FACTS_SINCE,
    "episodes since": _EPISODES_SINCE,
    "has episode": _HAS_EPISODE,
}
"""Every reading query by name; a test asks Neo4j for their plans."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupState:
    """How far a group is; `state` None: this service has not written to it.

    `everywhere`: how many facts and episodes the whole database has. While that stays the same, nobody has written.
    `space`: which vectors the group has.
    """

    state: State | None
    everywhere: tuple[int, int]
    space: VectorSpace


class GroupReader:
    """Reads one group."""

    def __init__(self, connection: Neo4jConnection, group: GraphGroup) -> None:
        self._connection = connection
        self._group = group

    async def state(self) -> GroupState:
        """As it is now.

        Raises:
            MemoryOfAnother: another installation wrote the group.
            GraphUnavailable.
        """
        (row,) = await self._rows(_STATE)
        state, space = None, NO_VECTORS
        if row["revision"] is not None:
            self._group.require_own(row["installation"])
            state = State(row["epoch"], row["revision"])
            space = VectorSpace(row["embedder"], row["dimensions"])
        return GroupState(state=state, everywhere=(row["facts"], row["episodes"]), space=space)

    async def is_ours(self) -> bool:
        """Whether the group holds the facts that this service knows of, no more and no fewer."""
        (row,) = await self._rows(_CENSUS)
        return bool(row["facts"] == row["edges"] == row["ours"])

    async def since(self, revision: int, model: str) -> tuple[list[Item], list[Packed]]:
        """Facts and episodes written or changed after that revision, and the vectors that `model` made of them."""
        items: list[Item] = []
        vectors: list[Packed] = []
        for row in await self._rows(_FACTS_SINCE, revision=revision, model=model):
            items.append(fact := read_fact(row))
            vectors.append((Kind.FACT, fact.id, row["vector"]))
        for row in await self._rows(_EPISODES_SINCE, revision=revision, model=model):
            items.append(episode := read_episode(row))
            vectors.append((Kind.SUMMARY, episode.conversation_id, row["vector"]))
        return items, [packed for packed in vectors if packed[2] is not None]

    async def has_episode(self, conversation_id: str) -> bool:
        """Whether the group holds it."""
        return bool(await self._rows(_HAS_EPISODE, uuid=episode_uuid(self._group, conversation_id)))

    async def dump(self) -> GroupDump:
        """All of it, oldest first.

        Raises:
            MemoryOfAnother, GraphUnavailable: as `state`.
        """
        await self.state()
        items, _ = await self.since(-1, "")
        facts = [item for item in items if isinstance(item, Fact)]
        episodes = [item for item in items if isinstance(item, Episode)]
        return GroupDump(
            episodes=tuple(sorted(episodes, key=lambda one: (one.at, one.conversation_id))),
            facts=tuple(sorted(facts, key=lambda one: one.told)),
        )

    async def _rows(self, query: str, **given: Any) -> Sequence[Mapping[str, Any]]:
        return await self._connection.read(query, group=self._group.id, **given)
