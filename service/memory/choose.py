"""Owns the choice of the memory store."""

from service.errors import Misconfigured
from service.llm.openai import is_openai
from service.locales import Phrase
from service.memory.circuit_breaker import CircuitBreaker, RemoteMemory
from service.memory.embedding.choose import choose_embedder
from service.memory.embedding.embedder import Embedder
from service.memory.sql import SqlMemory
from service.memory.store import MemoryStore
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.session import Database


def choose_memory(settings: Settings, database: Database, worlds: WorldRepository) -> MemoryStore:
    """The memory store the settings name. `worlds` say who is a character, and what its author wrote.

    Raises:
        Misconfigured: the embedder or the extraction model it needs is not configured.
    """
    embedder = choose_embedder(settings)
    if settings.memory.backend == "sql":
        return SqlMemory(database, embedder)
    return CircuitBreaker(_graphiti(settings, database, worlds, embedder))


def _graphiti(
    settings: Settings, database: Database, worlds: WorldRepository, embedder: Embedder | None
) -> RemoteMemory:
    # Imported here: graphiti-core and neo4j take seconds, and who keeps memories in SQL needs neither.
    from service.memory.graphiti.connection import Neo4jConnection
    from service.memory.graphiti.episode import EpisodeGraphitiMemory, ExtractionModel
    from service.memory.graphiti.graph import GraphitiMemory

    memory = settings.memory
    connection = Neo4jConnection(memory.neo4j_uri, memory.neo4j_user, memory.neo4j_password, memory.neo4j_database)
    if memory.ingestion == "direct":
        return GraphitiMemory(database, connection, embedder)
    if settings.llm.max_calls_per_day is not None or settings.llm.max_tokens_per_day is not None:
        raise Misconfigured(setting="KATARIBE_MEMORY__INGESTION", reason=Phrase("settings.episode_uncounted"))
    closing = settings.llm.of("closing")
    key = closing.api_key or (settings.openai_api_key if is_openai(closing.base_url) else None)
    if embedder is None:
        raise Misconfigured(setting="KATARIBE_EMBEDDING__PROVIDER", reason=Phrase("settings.episode_without_embedder"))
    if closing.model is None or (closing.base_url is None and key is None):
        raise Misconfigured(setting="KATARIBE_LLM__CLOSING__MODEL", reason=Phrase("settings.episode_without_model"))
    timeout = closing.timeout_seconds or settings.llm.timeout_seconds
    model = ExtractionModel(model=closing.model, base_url=closing.base_url, api_key=key, timeout_seconds=timeout)
    return EpisodeGraphitiMemory(database, connection, embedder, worlds, model)
