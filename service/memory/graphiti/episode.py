"""Owns how memories and episodes look in Neo4j (Graphiti's nodes and edges, with what we need beside), and the other
way in: Graphiti's own `add_episode` reads a summary with a language model and finds facts in it.

Graphiti's uuid is unique in the whole database, an id of ours only within its group (a copied group keeps its ids):
so a uuid is derived from group and id, and the id stays beside it. World times become UTC datetimes and back exactly.

The other way costs several model calls an episode (docs/measurements.md). What it finds becomes memories
(memory/projection.py), and its edges stay where Graphiti put them. What Graphiti writes with the machine's clock is
set to world time.
"""

import json
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from neo4j import AsyncManagedTransaction
from neo4j.exceptions import DriverError, Neo4jError
from pydantic import SecretStr, ValidationError

from service.errors import (
    EmbedderChanged,
    GraphUnavailable,
    ModelBroken,
    ModelEmpty,
    ModelError,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
)
from service.llm.failure import failure
from service.locales import Phrase
from service.memory.embedding.embedder import Vectors, VectorSpace
from service.memory.graphiti.connection import GraphGroup, Neo4jConnection, run, translate
from service.memory.graphiti.vendor import (
    CrossEncoderClient,
    EmbedderClient,
    EntityEdge,
    EntityNode,
    EpisodeType,
    EpisodicNode,
    Graphiti,
    LLMConfig,
    OpenAIGenericClient,
)
from service.memory.lexical import normal
from service.memory.memory_store import EMBEDDER_SETTINGS
from service.memory.projection import Fact, Found
from service.memory.ranking import MINUTES_BEFORE_1970
from service.memory.record import Embedded, Episode, Group, Mode
from world.time import WorldTime, iso, to_datetime

PREVIOUS_EPISODES = 10

_BEFORE = """
    MATCH (n:Episodic {group_id: $group}) WHERE n.conversation_id IS NOT NULL AND n.valid_at <= $at AND n.uuid <> $uuid
    RETURN n.uuid AS uuid ORDER BY n.valid_at DESC LIMIT $limit
"""
# Graphiti writes entities, facts and mentions of an episode in one transaction: what has no id of ours is new.
_FOUND = """
    MATCH (a)-[e:RELATES_TO]->(b) WHERE e.group_id = $group AND e.fact_id IS NULL AND $uuid IN e.episodes
    RETURN e.uuid AS uuid, e.fact AS text, e.valid_at.epochSeconds AS valid_at, [a.name, b.name] AS names,
        [(a)-[old:RELATES_TO]-() WHERE old.closed_by = $uuid | old.fact_id]
        + [(b)-[old:RELATES_TO]-() WHERE old.closed_by = $uuid | old.fact_id] AS replaces
    ORDER BY e.uuid
"""
_SETTLE = (
    # Of what Graphiti has closed only our own memories say whether it ends.
    """
    MATCH ()-[e:RELATES_TO]->() WHERE e.group_id = $group AND e.fact_id IS NOT NULL
        AND e.valid_to IS NULL AND e.expired_at IS NOT NULL
    SET e.closed_by = $uuid, e.expired_at = null, e.invalid_at = CASE WHEN e.expires_at IS NOT NULL
        THEN datetime({epochSeconds: (e.expires_at - $minutes_before_1970) * 60}) END
    """,
    # Whom both it and we say to be mentioned is mentioned once.
    """
    MATCH (n:Episodic {uuid: $uuid})-[m:MENTIONS]->(x:Entity)
    WITH x, collect(m) AS links
    FOREACH (more IN tail(links) | DELETE more)
    FOREACH (one IN links[..1] | SET one.created_at = $at)
    WITH x WHERE COUNT { (x)<-[:MENTIONS]-() } = 1 SET x.created_at = $at
    """,
)


@dataclass(frozen=True, kw_only=True)
class ExtractionModel:
    """The OpenAI-compatible server that finds the facts."""

    model: str
    base_url: str | None
    api_key: SecretStr | None
    timeout_seconds: float = 60


class EpisodeReader:
    """Asks Graphiti to read episodes that the graph holds."""

    def __init__(
        self,
        connection: Neo4jConnection,
        embed: Callable[[Collection[str]], Awaitable[Embedded]],
        extraction: ExtractionModel,
    ) -> None:
        self._connection = connection
        self._embed = embed
        self._extraction = extraction

    async def read(self, group: GraphGroup, episode: Episode, space: VectorSpace) -> Sequence[Found]:
        """What Graphiti finds in the episode. What it has read already is not read again.

        Raises:
            EmbedderChanged: the group has another embedder's vectors.
            GraphUnavailable.
            ModelError: the model or its server failed; the same call may be made again.
        """
        given = {"group": group.id, "uuid": episode_uuid(group, episode.conversation_id)}
        if not await self._connection.read(_FOUND, **given):
            await self._ask(group, episode, space)
        await self._connection.write(lambda tx: _settle(tx, **given, at=moment(episode.at)))
        rows = await self._connection.read(_FOUND, **given)
        return [
            Found(
                id=row["uuid"],
                text=row["text"],
                names=tuple(row["names"]),
                valid_from=None if row["valid_at"] is None else world_time(row["valid_at"]),
                replaces=tuple(row["replaces"]),
            )
            for row in rows
        ]

    async def _ask(self, group: GraphGroup, episode: Episode, space: VectorSpace) -> None:
        at, uuid = moment(episode.at), episode_uuid(group, episode.conversation_id)
        given = {"group": group.id, "at": at, "uuid": uuid, "limit": PREVIOUS_EPISODES}
        before = await self._connection.read(_BEFORE, **given)
        asked = self._extraction
        key = "none" if asked.api_key is None else asked.api_key.get_secret_value()
        config = LLMConfig(api_key=key, model=asked.model, small_model=asked.model, base_url=asked.base_url)
        model = OpenAIGenericClient(config=config)
        model.client = model.client.with_options(timeout=asked.timeout_seconds)
        try:
            graphiti = Graphiti(
                graph_driver=await self._connection.graphiti(),
                llm_client=model,
                embedder=_PassageEmbedder(self._embed, group, space),
                cross_encoder=_NoReranker(),
            )
            await graphiti.add_episode(
                uuid=uuid,
                name=episode_name(episode),
                episode_body=episode.text,
                source_description=episode.partner_id,
                reference_time=at,
                source=EpisodeType.message,
                group_id=group.id,
                previous_episode_uuids=[row["uuid"] for row in before],
            )
        except (Neo4jError, DriverError, OSError) as error:
            raise translate(error) from error
        except Exception as error:
            known = model_error(error, asked)
            if known is None:
                raise
            raise known from error
        finally:
            await model.client.close()


async def _settle(tx: AsyncManagedTransaction, **given: Any) -> None:
    for query in _SETTLE:
        await run(tx, query, minutes_before_1970=MINUTES_BEFORE_1970, **given)


class _PassageEmbedder(EmbedderClient):  # type: ignore[misc]  # graphiti_core is not typed for us
    """Our embedder as Graphiti asks it while it reads one episode: twice for each name and fact."""

    def __init__(
        self, embed: Callable[[Collection[str]], Awaitable[Embedded]], group: GraphGroup, space: VectorSpace
    ) -> None:
        self._embed = embed
        self._group = group
        self._space = space
        self._made: dict[str, list[float]] = {}

    async def create(self, input_data: Any) -> list[float]:
        """The vector of a text, or of the first of several."""
        text = input_data if isinstance(input_data, str) else next(iter(input_data))
        return (await self.create_batch([text]))[0]

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        """One vector a text. Graphiti compares vectors itself, and fails where their widths differ.

        Raises:
            EmbedderChanged: the group has another embedder's.
            GraphUnavailable: the embedder is away.
        """
        new = [text for text in dict.fromkeys(input_data_list) if text not in self._made]
        if new:
            made = await self._embed(new)
            given = {"backend": "embedding", "setting": EMBEDDER_SETTINGS}
            if not made.vectors:
                raise GraphUnavailable(**given, reason="no vectors")
            if not self._space.takes(made.space):
                raise EmbedderChanged(
                    **given,
                    reason="another embedder",
                    group_id=self._group.id,
                    before=str(self._space),
                    now=str(made.space),
                )
            self._made |= {text: vector.tolist() for text, vector in made.vectors.items()}
        return [self._made[text] for text in input_data_list]


class _NoReranker(CrossEncoderClient):  # type: ignore[misc]  # graphiti_core is not typed for us
    """Keeps the order. Without one, Graphiti would make OpenAI's reranker on its own and ask it."""

    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        """The passages as they came."""
        return [(passage, 1.0 / (place + 1)) for place, passage in enumerate(passages)]


def model_error(error: Exception, asked: ExtractionModel) -> ModelError | None:
    """Our error for what Graphiti's client let through; None for what is no failure of the model or its server."""
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    status = getattr(cause, "status_code", None)
    kind = type(cause).__name__
    if isinstance(status, int):
        headers = getattr(getattr(cause, "response", None), "headers", {})
        code = getattr(cause, "code", None)
        return failure(model=asked.model, status=status, code=code, reason=f"{kind} ({status})", headers=headers)
    if kind == "APITimeoutError":
        return ModelTimeout(model=asked.model, seconds=asked.timeout_seconds)
    if kind == "APIConnectionError":
        return ModelUnreachable(model=asked.model, base_url=asked.base_url, reason=Phrase("llm.no_connection"))
    if kind == "EmptyResponseError":
        return ModelEmpty(model=asked.model)
    if kind == "RefusalError":
        return ModelRefused(model=asked.model, reason=Phrase("llm.extraction_refused"))
    if isinstance(error, json.JSONDecodeError | ValidationError):
        return ModelBroken(model=asked.model, reason=Phrase("llm.extraction_broken"))
    return None


_NAMESPACE = uuid.UUID("0d1c6a4e-6a0b-5c57-9d0e-5f6f0b7c2a31")

NO_VECTOR = [1.0]
"""What Graphiti is given where we have no vector: it refuses an empty one. It is taken away in the same transaction."""


def moment(t: WorldTime) -> datetime:
    """World time as Graphiti keeps it."""
    return to_datetime(t).replace(tzinfo=UTC)


def world_time(epoch_seconds: int) -> WorldTime:
    """World time of a datetime's epoch seconds."""
    return WorldTime(epoch_seconds // 60 + MINUTES_BEFORE_1970)


def _derived(group: Group, kind: str, key: str) -> str:
    # A lone surrogate is no UTF-8; it may be asked for all the same.
    return str(uuid.uuid5(_NAMESPACE, f"{group.id}/{kind}/{key}".encode(errors="backslashreplace").decode()))


def entity_uuid(group: Group, name: str) -> str:
    """Names that differ in case, width or white space are one entity."""
    return _derived(group, "entity", normal(name))


def episode_uuid(group: Group, conversation_id: str) -> str:
    """The uuid of an episode of the group."""
    return _derived(group, "episode", conversation_id)


def fact_uuid(group: Group, memory_id: str) -> str:
    """The uuid of a memory of the group. One that Graphiti itself has found keeps the uuid that it gave it, which is
    the memory's id.
    """
    return _derived(group, "fact", memory_id)


def episode_name(episode: Episode) -> str:
    """What Graphiti and Neo4j's browser call it: with whom, and when."""
    return f"{episode.partner_id}, {iso(episode.at)}"


def episode_node(group: Group, episode: Episode, fact_uuids: Sequence[str]) -> EpisodicNode:
    """Graphiti's episode. What it has no field for is set by `episode_marks`."""
    return EpisodicNode(
        uuid=episode_uuid(group, episode.conversation_id),
        name=episode_name(episode),
        group_id=group.id,
        labels=[],
        source=EpisodeType.message,
        source_description=episode.partner_id,
        content=episode.text,
        created_at=moment(episode.at),
        valid_at=moment(episode.at),
        entity_edges=list(fact_uuids),
    )


def episode_marks(group: Group, episode: Episode) -> dict[str, Any]:
    """What Graphiti's episode has no field for."""
    return {
        "uuid": episode_uuid(group, episode.conversation_id),
        "partner_id": episode.partner_id,
        "conversation_id": episode.conversation_id,
        "topics": list(episode.topics),
        "others": list(episode.others),
        "support": episode.support.value,
    }


def entity_node(group: Group, name: str, at: WorldTime, vector: Vectors | None) -> EntityNode:
    """Graphiti's entity, with the name as it was spelled first."""
    return EntityNode(
        uuid=entity_uuid(group, name),
        name=name,
        group_id=group.id,
        labels=["Entity"],
        created_at=moment(at),
        summary="",
        name_embedding=NO_VECTOR if vector is None else vector.tolist(),
    )


def mention(group: Group, episode_id: str, entity: str, at: WorldTime) -> dict[str, Any]:
    """Graphiti's link (EpisodicEdge) from an episode to an entity that it names."""
    return {
        "episode": episode_uuid(group, episode_id),
        "entity": entity,
        "edge": {
            "uuid": _derived(group, "mention", f"{episode_id}/{entity}"),
            "group_id": group.id,
            "created_at": moment(at),
        },
    }


def fact_edge(group: Group, fact: Fact, ends: tuple[str, str], vector: Vectors | None) -> EntityEdge:
    """Graphiti's fact, between two entities; the columns of the memory ride along as attributes."""
    one = fact.memory
    told = edge_values(group, fact)
    return EntityEdge(
        uuid=fact_uuid(group, one.id),
        group_id=group.id,
        source_node_uuid=ends[0],
        target_node_uuid=ends[1],
        name=(one.kind if one.mode is Mode.STATED else one.mode).upper(),
        fact_embedding=NO_VECTOR if vector is None else vector.tolist(),
        attributes={name: value for name, value in told.items() if name not in _FIELDS},
        **{name: told[name] for name in _FIELDS},
    )


def edge_values(group: Group, fact: Fact) -> dict[str, Any]:
    """All that an edge says of its memory but who is at its ends, and how they are related."""
    one = fact.memory
    return {
        "fact": fact.text,
        "episodes": [episode_uuid(group, one.conversation_id)] if one.conversation_id else [],
        "created_at": moment(one.known_from),
        "valid_at": moment(one.valid_from),
        "invalid_at": None if one.ends is None else moment(one.ends),
        "expired_at": None if one.known_until is None else moment(one.known_until),
        "reference_time": moment(one.known_from),
        "fact_id": one.id,
        **{name: _plain(getattr(one, name)) for name in _BESIDE},
    }


_FIELDS = ("fact", "episodes", "created_at", "valid_at", "invalid_at", "expired_at", "reference_time")
_BESIDE = (
    *("kind", "text", "about", "subject_id", "told_by", "via", "mode", "quote", "importance", "slot", "support"),
    *("source", "conversation_id", "turns", "evidence", "partner_id", "valid_to", "replaced_by", "expires_at", "level"),
)
"""Attributes that are called as the columns of the memory, times as minutes of world time."""


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value) if isinstance(value, str) else value
