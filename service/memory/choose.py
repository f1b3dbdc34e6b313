"""Owns the choice of the memory store, and of the graph that holds what it holds."""

from typing import TYPE_CHECKING

from sqlmodel import select

from service.errors import Misconfigured
from service.llm.cassette import Cassette
from service.locales import Phrase
from service.memory.embedding.choose import choose_embedder, recorded_embedder
from service.memory.fading import Fading
from service.memory.memory_store import MemoryStore
from service.settings import Settings, is_openai
from service.store.budget import installation_id
from service.store.session import Database
from service.store.tables import MAIN_WORLD, WorldRow

if TYPE_CHECKING:
    from service.memory.graphiti.episode import ExtractionModel
    from service.memory.graphiti.projection import GraphitiProjection

# Imported where it is asked for: graphiti-core and neo4j take seconds, and who keeps memories in SQL needs neither.


def choose_memory(settings: Settings, database: Database, cassette: Cassette | None = None) -> MemoryStore:
    """The memory in the service's own database; `cassette` keeps the vectors that a server makes.

    Raises:
        Misconfigured: the embedder is not configured.
    """
    embedder = choose_embedder(settings) if cassette is None else recorded_embedder(settings, cassette)
    fading = Fading(after_days=settings.memory.fade_after_days, day_starts=settings.world.day_starts_minutes)
    return MemoryStore(database, embedder, fading=fading)


def choose_projection(
    settings: Settings, database: Database, memory: MemoryStore, cassette: Cassette | None = None
) -> "GraphitiProjection | None":
    """The graph on Neo4j that holds what `memory` does; None: the settings name none.

    Raises:
        Misconfigured: the embedder or the extraction model that it needs is not configured.
    """
    if settings.memory.backend == "sql":
        return None
    if settings.memory.ingestion == "episode" and cassette is not None:
        raise Misconfigured(setting="KATARIBE_MEMORY__INGESTION", reason=Phrase("recording.episode"))
    from service.memory.graphiti.connection import Groups, Neo4jConnection
    from service.memory.graphiti.episode import EpisodeReader
    from service.memory.graphiti.projection import GraphitiProjection

    own = settings.memory
    connection = Neo4jConnection(own.neo4j_uri, own.neo4j_user, own.neo4j_password, own.neo4j_database)
    groups = Groups(connection, database.write_now(installation_id), own.group_prefix)
    reader = None
    if own.ingestion == "episode":
        reader = EpisodeReader(connection, memory.embed, _extraction(settings, embeds=memory.embeds))

    async def worlds() -> set[str]:
        return await database.read(lambda s: {MAIN_WORLD, *s.exec(select(WorldRow.id))})

    return GraphitiProjection(connection, groups, memory.embed, worlds, reader)


def _extraction(settings: Settings, *, embeds: bool) -> "ExtractionModel":
    from service.memory.graphiti.episode import ExtractionModel

    if settings.llm.max_calls_per_day is not None or settings.llm.max_tokens_per_day is not None:
        raise Misconfigured(setting="KATARIBE_MEMORY__INGESTION", reason=Phrase("settings.episode_uncounted"))
    closing = settings.llm.of("closing")
    key = closing.api_key or (settings.openai_api_key if is_openai(closing.base_url) else None)
    if not embeds:
        raise Misconfigured(setting="KATARIBE_EMBEDDING__PROVIDER", reason=Phrase("settings.episode_without_embedder"))
    if closing.model is None or (closing.base_url is None and key is None):
        raise Misconfigured(setting="KATARIBE_LLM__CLOSING__MODEL", reason=Phrase("settings.episode_without_model"))
    timeout = closing.timeout_seconds or settings.llm.timeout_seconds
    return ExtractionModel(model=closing.model, base_url=closing.base_url, api_key=key, timeout_seconds=timeout)
