"""Owns the other way in: Graphiti's own `add_episode` reads a summary with a language model and finds facts in it.

It costs several model calls an episode (docs/measurements.md). What it finds becomes memories (memory/projection.py),
and its edges stay where Graphiti put them. What Graphiti writes with the machine's clock is set to world time.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
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
from service.memory.embedding.embedder import VectorSpace
from service.memory.graphiti.connection import GraphGroup, Neo4jConnection, run, translate
from service.memory.graphiti.rows import episode_name, episode_uuid, moment, world_time
from service.memory.graphiti.vendor import (
    CrossEncoderClient,
    EmbedderClient,
    EpisodeType,
    Graphiti,
    LLMConfig,
    OpenAIGenericClient,
)
from service.memory.memory_store import EMBEDDER_SETTINGS
from service.memory.projection import Found
from service.memory.ranking import MINUTES_BEFORE_1970
from service.memory.record import Embedded, Episode

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
        """See Projection. What Graphiti has read already is not read again.

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
