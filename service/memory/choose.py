"""Owns the choice of the memory store."""

from typing import TYPE_CHECKING

from service.errors import Misconfigured
from service.llm.cassette import Cassette
from service.locales import Phrase
from service.memory.embedding.choose import choose_embedder, recorded_embedder
from service.memory.embedding.embedder import Embedder
from service.memory.fading import Fading
from service.memory.memory_store import MemoryStore
from service.memory.sql import SqlMemory
from service.people.worlds import WorldRepository
from service.settings import MemorySettings, Settings, is_openai
from service.store.installation import installation_id
from service.store.session import Database

if TYPE_CHECKING:
    from service.memory.graphiti.connection import Neo4jConnection
    from service.memory.graphiti.episode import EpisodeGraphitiMemory
    from service.memory.graphiti.graph import GraphitiMemory

# Imported where it is asked for: graphiti-core and neo4j take seconds, and who keeps memories in SQL needs neither.


def choose_memory(
    settings: Settings, database: Database, worlds: WorldRepository, cassette: Cassette | None = None
) -> MemoryStore:
    """The memory store the settings name. `worlds` say who is a character, and what its author wrote; `cassette` keeps
    the vectors that a server makes.

    Raises:
        Misconfigured: the embedder or the extraction model it needs is not configured.
    """
    if settings.memory.backend == "sql":
        return choose_sql(settings, database, cassette)
    if settings.memory.ingestion == "direct":
        return choose_graphiti(settings, database, cassette)
    if cassette is not None:
        raise Misconfigured(setting="KATARIBE_MEMORY__INGESTION", reason=Phrase("recording.episode"))
    return _episode(settings, database, worlds)


def choose_sql(settings: Settings, database: Database, cassette: Cassette | None = None) -> SqlMemory:
    """The memory in the service's own database.

    Raises:
        Misconfigured: the embedder is not configured.
    """
    return SqlMemory(database, _embedder(settings, cassette), fading=_fading(settings))


def choose_graphiti(settings: Settings, database: Database, cassette: Cassette | None = None) -> "GraphitiMemory":
    """The memory on Neo4j, written directly.

    Raises:
        Misconfigured: the embedder is not configured.
    """
    from service.memory.graphiti.graph import GraphitiMemory

    return GraphitiMemory(
        database,
        _connection(settings.memory),
        _embedder(settings, cassette),
        installation=database.write_now(installation_id),
        prefix=settings.memory.group_prefix,
        fading=_fading(settings),
    )


def _episode(settings: Settings, database: Database, worlds: WorldRepository) -> "EpisodeGraphitiMemory":
    from service.memory.graphiti.episode import EpisodeGraphitiMemory, ExtractionModel

    embedder = choose_embedder(settings)
    if settings.llm.max_calls_per_day is not None or settings.llm.max_tokens_per_day is not None:
        raise Misconfigured(setting="KATARIBE_MEMORY__INGESTION", reason=Phrase("settings.episode_uncounted"))
    closing = settings.llm.of("closing")
    key = closing.api_key or (settings.openai_api_key if is_openai(closing.base_url) else None)
    if embedder is None:
        raise Misconfigured(setting="KATARIBE_EMBEDDING__PROVIDER", reason=Phrase("settings.episode_without_embedder"))
    if closing.model is None or (closing.base_url is None and key is None):
        raise Misconfigured(setting="KATARIBE_LLM__CLOSING__MODEL", reason=Phrase("settings.episode_without_model"))
    timeout = closing.timeout_seconds or settings.llm.timeout_seconds
    return EpisodeGraphitiMemory(
        database,
        _connection(settings.memory),
        embedder,
        worlds,
        ExtractionModel(model=closing.model, base_url=closing.base_url, api_key=key, timeout_seconds=timeout),
        installation=database.write_now(installation_id),
        prefix=settings.memory.group_prefix,
        fading=_fading(settings),
    )


def _embedder(settings: Settings, cassette: Cassette | None) -> Embedder | None:
    return choose_embedder(settings) if cassette is None else recorded_embedder(settings, cassette)


def _fading(settings: Settings) -> Fading:
    return Fading(after_days=settings.memory.fade_after_days, day_starts=settings.world.day_starts_minutes)


def _connection(memory: MemorySettings) -> "Neo4jConnection":
    from service.memory.graphiti.connection import Neo4jConnection

    return Neo4jConnection(memory.neo4j_uri, memory.neo4j_user, memory.neo4j_password, memory.neo4j_database)
