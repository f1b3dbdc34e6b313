"""Owns how memories and episodes look in Neo4j: Graphiti's nodes and edges, with what we need beside.

Graphiti's uuid is unique in the whole database, an id of ours only within its group (a copied group keeps its ids):
so a uuid is derived from group and id, and the id stays beside it. World times become UTC datetimes and back exactly.
"""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from service.memory.embedding.embedder import Vectors
from service.memory.graphiti.vendor import EntityEdge, EntityNode, EpisodeType, EpisodicNode
from service.memory.lexical import normal
from service.memory.projection import Fact
from service.memory.ranking import MINUTES_BEFORE_1970
from service.memory.record import Episode, Group, Mode
from world.time import WorldTime, iso, to_datetime

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
