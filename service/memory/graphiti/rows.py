"""Owns how episodes and facts look in Neo4j: Graphiti's nodes and edges with what we need beside, and back again.

Graphiti's uuid is unique in the whole database, an id of ours only within its group (a copied group keeps its ids):
so a uuid is derived from group and id, and the id stays beside it. World times become UTC datetimes and back exactly.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import numpy as np

from service.memory.embedding.embedder import Vectors
from service.memory.graphiti.vendor import EntityEdge, EntityNode, EpisodeType, EpisodicEdge, EpisodicNode
from service.memory.lexical import normal
from service.memory.record import Embedded, Episode, Fact, Group
from world.time import WorldTime, iso, parse_time, to_datetime

_NAMESPACE = uuid.UUID("0d1c6a4e-6a0b-5c57-9d0e-5f6f0b7c2a31")
_MINUTES_BEFORE_1970 = parse_time("1970-01-01T00:00")

NO_VECTOR = [1.0]
"""What Graphiti is given where we have no vector: it refuses an empty one. It is taken away in the same transaction."""

FACT_COLUMNS = """
    e.fact_id AS id, e.subject AS subject, e.name AS relation, e.object AS object,
    coalesce(e.statement, e.fact) AS statement, e.fact AS words, coalesce(e.held, true) AS held,
    coalesce(e.mode, 'asserted') AS mode, coalesce(e.importance, 5) AS importance, coalesce(e.tellings, 1) AS tellings,
    coalesce(e.chain, []) AS chain, coalesce(e.people, []) AS people,
    e.valid_at.epochSeconds AS valid_at, e.invalid_at.epochSeconds AS invalid_at,
    e.created_at.epochSeconds AS created_at, e.expired_at.epochSeconds AS expired_at,
    e.replaced_by AS replaced_by, e.partner_id AS partner_id,
    e.conversation_id AS conversation_id, e.turn AS turn
"""
EPISODE_COLUMNS = """
    n.conversation_id AS conversation_id, n.partner_id AS partner_id, n.content AS summary, n.topics AS topics,
    coalesce(n.others, []) AS others,
    n.valid_at.epochSeconds AS at
"""


def moment(t: WorldTime) -> datetime:
    """World time as Graphiti keeps it."""
    return to_datetime(t).replace(tzinfo=UTC)


def world_time(epoch_seconds: int) -> WorldTime:
    """World time of a datetime's epoch seconds."""
    return WorldTime(epoch_seconds // 60 + _MINUTES_BEFORE_1970)


def derived(group: Group, kind: str, key: str) -> str:
    """The uuid of a thing of the group."""
    # A lone surrogate is no UTF-8; it may be asked for all the same.
    return str(uuid.uuid5(_NAMESPACE, f"{group.id}/{kind}/{key}".encode(errors="backslashreplace").decode()))


def entity_uuid(group: Group, name: str) -> str:
    """Names that differ in case, width or white space are one entity."""
    return derived(group, "entity", normal(name))


def episode_uuid(group: Group, conversation_id: str) -> str:
    """The uuid of an episode of the group."""
    return derived(group, "episode", conversation_id)


def fact_uuid(group: Group, fact_id: str) -> str:
    """The uuid of a fact of the group."""
    return derived(group, "fact", fact_id)


def pack(vector: Vectors) -> bytes:
    """A vector as it is stored for recall: half precision takes a third of what a list of floats takes to be read."""
    return vector.astype(np.float16).tobytes()


def episode_name(episode: Episode) -> str:
    """What Graphiti and Neo4j's browser call it: with whom, and when."""
    return f"{episode.partner_id}, {iso(episode.at)}"


def episode_node(group: Group, episode: Episode, fact_ids: Sequence[str]) -> EpisodicNode:
    """Graphiti's episode. What it has no field for is set by `episode_marks`."""
    return EpisodicNode(
        uuid=episode_uuid(group, episode.conversation_id),
        name=episode_name(episode),
        group_id=group.id,
        labels=[],
        source=EpisodeType.message,
        source_description=episode.partner_id,
        content=episode.summary,
        created_at=moment(episode.at),
        valid_at=moment(episode.at),
        entity_edges=[fact_uuid(group, one) for one in fact_ids],
    )


def episode_marks(group: Group, episode: Episode, revision: int, embedded: Embedded) -> dict[str, Any]:
    """What Graphiti's episode has no field for."""
    vector = embedded.vectors.get(episode.summary)
    return {
        "uuid": episode_uuid(group, episode.conversation_id),
        "partner_id": episode.partner_id,
        "conversation_id": episode.conversation_id,
        "topics": list(episode.topics),
        "others": list(episode.others),
        "revision": revision,
        "vector": None if vector is None else pack(vector),
        "vector_model": None if vector is None else embedded.model,
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


def mention(group: Group, episode: Episode, name: str) -> EpisodicEdge:
    """Graphiti's link from an episode to an entity it names."""
    return EpisodicEdge(
        uuid=derived(group, "mention", f"{episode.conversation_id}/{normal(name)}"),
        group_id=group.id,
        source_node_uuid=episode_uuid(group, episode.conversation_id),
        target_node_uuid=entity_uuid(group, name),
        created_at=moment(episode.at),
    )


def fact_edge(group: Group, fact: Fact, revision: int, embedded: Embedded) -> EntityEdge:
    """Graphiti's fact; provenance, revision and our vector ride along as attributes."""
    vector = embedded.vectors.get(fact.statement)
    return EntityEdge(
        uuid=fact_uuid(group, fact.id),
        group_id=group.id,
        source_node_uuid=entity_uuid(group, fact.subject),
        target_node_uuid=entity_uuid(group, fact.object),
        name=fact.relation,
        fact=fact.words,
        episodes=[episode_uuid(group, fact.conversation_id)] if fact.conversation_id else [],
        created_at=moment(fact.created_at),
        valid_at=moment(fact.valid_at),
        invalid_at=None if fact.invalid_at is None else moment(fact.invalid_at),
        expired_at=None if fact.expired_at is None else moment(fact.expired_at),
        reference_time=moment(fact.created_at),
        fact_embedding=NO_VECTOR if vector is None else vector.tolist(),
        attributes={
            **fact_marks(fact, revision),
            "replaced_by": fact.replaced_by,
            "vector": None if vector is None else pack(vector),
            "vector_model": None if vector is None else embedded.model,
        },
    )


def fact_marks(fact: Fact, revision: int) -> dict[str, Any]:
    """What Graphiti's fact has no field for."""
    return {
        **{name: getattr(fact, name) for name in _BESIDE},
        "fact_id": fact.id,
        "chain": list(fact.chain),
        "people": list(fact.people),
        "revision": revision,
    }


_BESIDE = (
    *("subject", "object", "partner_id", "conversation_id", "turn"),
    *("statement", "held", "mode", "importance", "tellings"),
)


def read_fact(row: Mapping[str, Any]) -> Fact:
    """A fact from `FACT_COLUMNS`."""
    known = {one.name: row[one.name] for one in fields(Fact)}
    known |= {name: None if known[name] is None else world_time(known[name]) for name in _TIMES}
    return Fact(**{**known, "chain": tuple(row["chain"]), "people": tuple(row["people"])})


_TIMES = ("valid_at", "invalid_at", "created_at", "expired_at")


def read_episode(row: Mapping[str, Any]) -> Episode:
    """An episode from `EPISODE_COLUMNS`."""
    return Episode(
        conversation_id=row["conversation_id"],
        partner_id=row["partner_id"],
        summary=row["summary"],
        topics=tuple(row["topics"]),
        at=world_time(row["at"]),
        others=tuple(row["others"]),
    )
