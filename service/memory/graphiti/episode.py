"""Owns the other way in: Graphiti's own `add_episode` reads the episode with a language model and finds the facts.

It costs several model calls an episode (docs/measurements.md); the direct way costs none. What it finds is validated as
a closing's extraction is: what no turn carries is taken out of the graph again. What Graphiti writes with the machine's
clock is set to world time, in the same transaction.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from neo4j import AsyncManagedTransaction
from neo4j.exceptions import DriverError, Neo4jError
from pydantic import SecretStr, ValidationError

from service.errors import ModelBroken, ModelEmpty, ModelError, ModelRefused, ModelTimeout, ModelUnreachable
from service.llm.failure import failure
from service.locales import Phrase
from service.memory.embedding.embedder import Embedder, VectorSpace
from service.memory.extract import context_of_found
from service.memory.extraction import Claim, ClosingContext
from service.memory.fading import NEVER, Fading
from service.memory.graphiti.connection import Neo4jConnection, run, translate
from service.memory.graphiti.graph import GraphitiMemory
from service.memory.graphiti.groups import GraphGroup
from service.memory.graphiti.rows import (
    episode_marks,
    episode_name,
    episode_node,
    episode_uuid,
    fact_marks,
    fact_uuid,
    moment,
    pack,
    world_time,
)
from service.memory.graphiti.vendor import (
    CrossEncoderClient,
    EmbedderClient,
    EpisodeType,
    Graphiti,
    LLMConfig,
    OpenAIGenericClient,
)
from service.memory.graphiti.write import GroupWriter, Write
from service.memory.index import IndexCache
from service.memory.person_side import fact_draft
from service.memory.record import Embedded, Episode, FactDraft, Group
from service.memory.validate import FoundFact, ValidClaim, validate_found
from service.people.worlds import WorldRepository
from service.store.session import Database

PREVIOUS_EPISODES = 10

log = logging.getLogger(__name__)

_BEFORE = """
    MATCH (n:Episodic {group_id: $group}) WHERE n.conversation_id IS NOT NULL AND n.valid_at <= $at
    RETURN n.uuid AS uuid ORDER BY n.valid_at DESC LIMIT $limit
"""
# Graphiti writes entities, facts and mentions of an episode in one transaction: one mention tells that it did.
_EXTRACTED = "MATCH (n:Episodic {uuid: $uuid}) RETURN EXISTS { (n)-[:MENTIONS]->() } AS extracted"
_FOUND = """
    MATCH (n:Episodic {uuid: $uuid})
    UNWIND n.entity_edges AS uuid
    MATCH (a)-[e:RELATES_TO]->(b) WHERE e.uuid = uuid AND e.group_id = $group AND e.fact_id IS NULL
    RETURN e.uuid AS uuid, a.name AS subject, e.name AS relation, b.name AS object,
        coalesce(e.statement, e.fact) AS statement,
        e.fact_embedding AS embedding, e.valid_at.epochSeconds AS valid_at
    ORDER BY e.uuid
"""
_TAKE_OUT = """
    MATCH (n:Episodic {uuid: $uuid})
    SET n.entity_edges = [x IN n.entity_edges WHERE NOT x IN $refused] + $words
    WITH n UNWIND $refused AS refused
    MATCH ()-[e:RELATES_TO]->() WHERE e.uuid = refused AND e.group_id = $group
    DELETE e
"""
_ADOPT = """
    UNWIND $rows AS row
    MATCH ()-[e:RELATES_TO]->() WHERE e.uuid = row.uuid
    SET e += row, e.created_at = $at, e.valid_at = CASE WHEN e.valid_at < $at THEN e.valid_at ELSE $at END,
        e.reference_time = $at,
        e.expired_at = CASE WHEN e.expired_at IS NULL THEN NULL ELSE $at END
"""
# What Graphiti closed for this episode: the machine's clock stands in `expired_at`, and nothing says who did it. It is
# open again where nothing that was found about the same people has been kept.
_CLOSED = """
    MATCH (n:Episodic {uuid: $uuid})
    UNWIND n.entity_edges AS uuid
    MATCH (a)-[e:RELATES_TO]->(b)
    WHERE e.uuid = uuid AND e.group_id = $group AND e.conversation_id <> $episode AND e.expired_at IS NOT NULL
        AND e.replaced_by IS NULL AND e.closed_in IS NULL
    WITH e, a.name IN $kept OR b.name IN $kept AS stands
    SET e.expired_at = CASE WHEN NOT stands THEN NULL WHEN $at < e.created_at THEN e.created_at ELSE $at END,
        e.invalid_at = CASE WHEN NOT stands THEN NULL WHEN e.invalid_at < e.valid_at THEN e.valid_at
            WHEN e.invalid_at > $at THEN $at ELSE e.invalid_at END,
        e.closed_in = CASE WHEN stands THEN $episode END, e.revision = $revision
"""
_READING = """
    MATCH (g:KataribeGroup {id: $group})
    SET g.reading = [x IN coalesce(g.reading, []) WHERE x <> $uuid] + $uuid
"""
_READ = "MATCH (g:KataribeGroup {id: $group}) SET g.reading = [x IN coalesce(g.reading, []) WHERE x <> $uuid]"
_DATE = """
    MATCH (n:Episodic {uuid: $uuid}) SET n += $marks, n.created_at = $at
    WITH n MATCH (n)-[m:MENTIONS]->(x:Entity) SET m.created_at = $at
    WITH x WHERE COUNT { (x)<-[:MENTIONS]-() } = 1 SET x.created_at = $at
"""


@dataclass(frozen=True, kw_only=True)
class ExtractionModel:
    """The OpenAI-compatible server that finds the facts."""

    model: str
    base_url: str | None
    api_key: SecretStr | None
    timeout_seconds: float = 60


class EpisodeGraphitiMemory(GraphitiMemory):
    """A GraphitiMemory whose `deliver` leaves the finding of facts to Graphiti and passes over the drafts it is given.

    Only what characters remember goes this way; everything else is the same. Graphiti does not say which fact closed
    which: `replaced_by` of those it closed is None.
    """

    def __init__(
        self,
        database: Database,
        connection: Neo4jConnection,
        embedder: Embedder,
        worlds: WorldRepository,
        extraction: ExtractionModel,
        indexes: IndexCache | None = None,
        *,
        installation: str,
        prefix: str = "",
        fading: Fading = NEVER,
    ) -> None:
        super().__init__(
            database, connection, embedder, indexes, installation=installation, prefix=prefix, fading=fading
        )
        self._passage_embedder = embedder
        self._worlds = worlds
        self._extraction = extraction

    async def deliver(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """See Delivery. An episode that Graphiti has read already is not read again.

        Raises:
            EmbedderChanged: the group has another embedder's vectors.
            GraphUnavailable.
            ModelError: the model or its server failed; the same call may be made again.
        """
        world = await self._database.read(lambda s: self._worlds.open(s, group.world_id))
        if group.person_id not in world.cast.characters:
            await super().deliver(group, episode, facts)
            return
        async with self._connection.one_at_a_time(group.id):
            if await self.holds(group, episode.conversation_id):
                return
            own = self._groups.of(group)
            held_space = (await self._reader(group).state()).space
            if not held_space.takes(
                self._space
            ):  # Graphiti compares vectors itself, and fails where their widths differ
                raise self._changed(group, held_space)
            rows = await self._connection.read(_EXTRACTED, uuid=episode_uuid(own, episode.conversation_id))
            if not rows or not rows[0]["extracted"]:
                await _announce(self._connection, own, episode)
                await self._extract(own, episode)
            embedded = await self._embed([episode.summary])
            held = [fact for fact in (await self.export(group)).facts if fact.expired_at is None]
            partner = Group(world_id=group.world_id, person_id=episode.partner_id)
            partners = (await self.export(partner)).facts
            context = await self._database.read(lambda s: context_of_found(s, world, group, episode, held, partners))
            await _Adoption(self._connection, own, episode, embedded, self._model).adopt(context)

    async def _extract(self, group: GraphGroup, episode: Episode) -> None:
        at = moment(episode.at)
        before = await self._connection.read(_BEFORE, group=group.id, at=at, limit=PREVIOUS_EPISODES)
        asked = self._extraction
        key = "none" if asked.api_key is None else asked.api_key.get_secret_value()
        config = LLMConfig(api_key=key, model=asked.model, small_model=asked.model, base_url=asked.base_url)
        model = OpenAIGenericClient(config=config)
        model.client = model.client.with_options(timeout=asked.timeout_seconds)
        try:
            graphiti = Graphiti(
                graph_driver=await self._connection.graphiti(),
                llm_client=model,
                embedder=_PassageEmbedder(self._passage_embedder),
                cross_encoder=_NoReranker(),
            )
            await graphiti.add_episode(
                uuid=episode_uuid(group, episode.conversation_id),
                name=episode_name(episode),
                episode_body=episode.summary,
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


class _PassageEmbedder(EmbedderClient):  # type: ignore[misc]  # graphiti_core is not typed for us
    """Our embedder as Graphiti asks it while it reads one episode: twice for each name and fact."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._made: dict[str, list[float]] = {}

    async def create(self, input_data: Any) -> list[float]:
        """The vector of a text, or of the first of several."""
        text = input_data if isinstance(input_data, str) else next(iter(input_data))
        return (await self.create_batch([text]))[0]

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        """One vector a text."""
        new = [text for text in dict.fromkeys(input_data_list) if text not in self._made]
        if new:
            self._made |= dict(zip(new, (await self._embedder.passages(new)).tolist(), strict=True))
        return [self._made[text] for text in input_data_list]


class _NoReranker(CrossEncoderClient):  # type: ignore[misc]  # graphiti_core is not typed for us
    """Keeps the order. Without one, Graphiti would make OpenAI's reranker on its own and ask it."""

    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        """The passages as they came."""
        return [(passage, 1.0 / (place + 1)) for place, passage in enumerate(passages)]


async def _announce(connection: Neo4jConnection, group: GraphGroup, episode: Episode) -> None:
    """Put the episode there under our id: Graphiti then fills it in, and a retry finds it.

    It counts as remembered, and is shown, only once `_Adoption` has marked it; until then what Graphiti finds in it is
    nobody else's to adopt.
    """
    node = episode_node(group, episode, ())

    async def work(tx: AsyncManagedTransaction) -> None:
        write = await GroupWriter(connection, group).lock(tx)
        await write.add_node(node)
        await run(tx, _READING, group=group.id, uuid=node.uuid)

    await connection.write(work)


class _Adoption:
    """Makes what Graphiti found ours: ids, provenance, vectors, world time. Done twice it changes nothing."""

    def __init__(
        self, connection: Neo4jConnection, group: GraphGroup, episode: Episode, embedded: Embedded, model: str
    ) -> None:
        self._connection = connection
        self._group = group
        self._episode = episode
        self._embedded = embedded
        self._model = model

    async def adopt(self, context: ClosingContext) -> None:
        """In one transaction. What nothing in `context` carries is taken out."""

        async def work(tx: AsyncManagedTransaction) -> None:
            write = await GroupWriter(self._connection, self._group).lock(tx)
            given = {
                "uuid": episode_uuid(self._group, self._episode.conversation_id),
                "group": self._group.id,
                "episode": self._episode.conversation_id,
                "at": moment(self._episode.at),
                "revision": write.revision,
                "marks": episode_marks(self._group, self._episode, write.revision, self._embedded),
            }
            found = {row["uuid"]: row for row in await run(tx, _FOUND, **given)}
            for row in found.values():
                write.claim(VectorSpace(self._model, len(row["embedding"])))
            valid = validate_found([_found(row) for row in found.values()], context, context.participants[0])
            drafts = [self._draft(found[key], fact) for key, fact in valid.items()]
            retold = await write.tell_again(drafts)
            new = {draft.id: draft for draft in drafts if draft.id not in retold}
            held = [draft for draft in new.values() if draft.held]
            words = [draft for draft in new.values() if not draft.held]  # what Graphiti made of them relates nothing
            edges = [fact_uuid(self._group, draft.id) for draft in words]
            await run(tx, _TAKE_OUT, refused=list(found.keys() - {one.id for one in held}), words=edges, **given)
            await run(tx, _ADOPT, rows=[self._row(draft, found[draft.id], write) for draft in held], at=given["at"])
            await write.add_facts(self._episode, words, self._vectors(words, found))
            kept = {found[key][side] for key in new for side in ("subject", "object")}
            await run(tx, _CLOSED, kept=list(kept), **given)
            await run(tx, _DATE, **given)
            await run(tx, _READ, **given)
            await write.close(list(new.values()), self._episode)
            write.facts += len(held)
            await write.unlock()
            if len(found) > len(valid):
                log.info(
                    "%d of %d facts that Graphiti found in conversation %s are kept: no turn carries the others",
                    len(valid),
                    len(found),
                    self._episode.conversation_id,
                )

        await self._connection.write(work)

    def _draft(self, found: Mapping[str, Any], fact: ValidClaim[Claim]) -> FactDraft:
        since = found["valid_at"]
        at = self._episode.at if since is None else min(world_time(since), self._episode.at)
        return fact_draft(fact, found["uuid"], at, str, fact.chain[-1] if fact.chain else None)

    def _vectors(self, drafts: Sequence[FactDraft], found: Mapping[str, Mapping[str, Any]]) -> Embedded:
        """Those that Graphiti was given for them."""
        return Embedded(
            model=self._model,
            vectors={draft.statement: np.array(found[draft.id]["embedding"], dtype=np.float32) for draft in drafts},
        )

    def _row(self, draft: FactDraft, found: Mapping[str, Any], write: Write) -> dict[str, Any]:
        return {
            **fact_marks(draft.learned(self._episode), write.revision),
            "uuid": draft.id,
            "name": draft.relation,
            "fact": draft.words,
            "vector": pack(np.array(found["embedding"], dtype=np.float32)),
            "vector_model": self._model,
        }


def _found(row: Mapping[str, Any]) -> FoundFact:
    texts = {name: row[name] for name in ("subject", "relation", "object", "statement")}
    return FoundFact(key=row["uuid"], **texts)


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
