"""Owns reading from Neo4j: recall's two queries and the update between them, episodes, a fact's history, the dump."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.memory.embedding.embedder import Vectors
from service.memory.graphiti.connection import Neo4jConnection
from service.memory.graphiti.index import COLUMNS, GroupIndex, GroupIndexes, Wanted
from service.memory.graphiti.rows import (
    EPISODE_COLUMNS,
    FACT_COLUMNS,
    episode_uuid,
    moment,
    read_episode,
    read_fact,
    term,
)
from service.memory.graphiti.schema import FACT_TEXT
from service.memory.lexical import query_tokens
from service.memory.store import Fact, Group, GroupDump, Recalled
from world.time import WorldTime

READ_BATCH = 5_000

# All hits of each token are taken: the filters come before the limit, and how rare a token is among those that may
# answer is counted here, not by Lucene, which counts all characters' facts.
_STATE = f"""
    MATCH (g:KataribeGroup {{id: $group}})
    CALL {{
        UNWIND $terms AS term
        CALL {{
            WITH term
            CALL db.index.fulltext.queryRelationships('{FACT_TEXT}', term) YIELD relationship AS e
            RETURN collect(e.seq) AS seqs
        }}
        RETURN collect(seqs) AS hits
    }}
    RETURN g.epoch AS epoch, g.revision AS revision, g.next_seq AS next_seq, hits
"""
_SINCE = f"""
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.revision > $revision RETURN e.lexical AS lexical, {COLUMNS}
"""
_FROM = f"""
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.seq >= $start AND e.seq < $stop RETURN {COLUMNS}
"""
_BY_SEQ = f"""
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.seq IN $seqs RETURN {FACT_COLUMNS}
"""
_ALL_FACTS = f"""
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.seq >= 0
    RETURN {FACT_COLUMNS} ORDER BY e.created_at, e.valid_at, e.fact_id
"""
_HAS_EPISODE = "MATCH (n:Episodic {uuid: $uuid}) WHERE n.conversation_id IS NOT NULL RETURN 1 AS held"
_ALL_EPISODES = f"""
    MATCH (n:Episodic {{group_id: $group}}) WHERE n.conversation_id IS NOT NULL
    RETURN {EPISODE_COLUMNS} ORDER BY n.valid_at, n.conversation_id
"""

QUERIES: Mapping[str, str] = {
    "state": _STATE,
    "since": _SINCE,
    "from": _FROM,
    "by seq": _BY_SEQ,
    "all facts": _ALL_FACTS,
    "has episode": _HAS_EPISODE,
    "all episodes": _ALL_EPISODES,
}
"""Every reading query by name; a test asks Neo4j for their plans."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What recall was asked. `vector` is the query's, shape (1, dimensions), of `model`; None: words only."""

    query: str
    at: WorldTime
    about: str | None
    partner_id: str | None
    limit: int
    history: bool
    vector: Vectors | None
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The answers; `unembedded` are the seqs of candidates without a vector though the query has one."""

    facts: list[Recalled]
    unembedded: list[int]


class GroupReader:
    """Reads one group."""

    def __init__(self, connection: Neo4jConnection, group: Group) -> None:
        self._connection = connection
        self._group = group

    async def search(self, indexes: GroupIndexes, asked: Question) -> Found:
        """Who may answer, by full text, likeness and nearness."""
        tokens = query_tokens(asked.query)
        known = indexes.held(self._group.id)
        unknown = tokens if known is None else known.unknown(tokens)
        state = await self._state(unknown)
        if state is None:
            return Found(facts=[], unembedded=[])
        index = indexes.get(self._group.id, state["epoch"])
        index.learn(unknown, state["hits"])
        if rest := index.unknown(tokens):  # the group was forgotten and began anew since
            index.learn(rest, (await self._state(rest) or {"hits": [()] * len(rest)})["hits"])
        await self._catch_up(index, state, asked.model)
        indexes.shrink()
        ranked = index.rank(
            Wanted(
                at=int(moment(asked.at).timestamp()),
                history=asked.history,
                about=asked.about,
                partner_id=asked.partner_id,
                asked=bool(asked.query.strip()),
                tokens=tokens,
                limit=asked.limit,
                vector=asked.vector,
            )
        )
        facts = await self.facts([seq for seq, _ in ranked.best])
        found = [Recalled(item=facts[seq], score=score) for seq, score in ranked.best if seq in facts]
        return Found(facts=found, unembedded=ranked.unembedded)

    async def facts(self, seqs: Sequence[int]) -> dict[int, Fact]:
        """Facts by their seq."""
        rows = await self._rows(_BY_SEQ, seqs=list(seqs)) if seqs else []
        return {row["seq"]: read_fact(row) for row in rows}

    async def has_episode(self, conversation_id: str) -> bool:
        """Whether the group holds it."""
        return bool(await self._rows(_HAS_EPISODE, uuid=episode_uuid(self._group, conversation_id)))

    async def dump(self) -> GroupDump:
        """All of it, oldest first."""
        episodes = tuple(read_episode(row) for row in await self._rows(_ALL_EPISODES))
        return GroupDump(episodes=episodes, facts=tuple(read_fact(row) for row in await self._rows(_ALL_FACTS)))

    async def _state(self, tokens: Sequence[str]) -> Mapping[str, Any] | None:
        """The group as it is now, and the hits of each token; None when it holds nothing."""
        terms = [f'"{term(self._group, token)}"' for token in tokens]
        rows = await self._rows(_STATE, terms=terms)
        return rows[0] if rows else None

    async def _catch_up(self, index: GroupIndex, state: Mapping[str, Any], model: str) -> None:
        """Read what was written since; at first all of it, `READ_BATCH` facts a time."""
        revision = state["revision"]
        if index.empty:
            for start in range(0, state["next_seq"], READ_BATCH):
                index.update(await self._rows(_FROM, start=start, stop=start + READ_BATCH, model=model))
            index.update([], revision)
        elif index.revision < revision:
            index.update(await self._rows(_SINCE, revision=index.revision, model=model), revision)

    async def _rows(self, query: str, **given: Any) -> Sequence[Mapping[str, Any]]:
        return await self._connection.read(query, group=self._group.id, **given)
