"""Owns embeddings made by any OpenAI-compatible server (``/v1/embeddings``)."""

import logging
import time
from collections.abc import Sequence

import numpy as np
import openai

from service.errors import GraphUnavailable
from service.locales import Phrase
from service.memory.embedding.embedder import RemoteEmbedder, Vectors
from service.settings import OPENAI_URL

_log = logging.getLogger(__name__)

BATCH = 128
_MAX_CHARS = 4000


class OpenAIEmbedder(RemoteEmbedder):
    """One model of one server. `api_key` None: the server wants none."""

    def __init__(self, *, model: str, base_url: str | None, api_key: str | None, timeout_seconds: float) -> None:
        super().__init__(f"openai:{model}")
        self._model = model
        # The address is always given: the client would otherwise take one from the environment, and the key there.
        self.base_url = base_url or OPENAI_URL
        self._client = openai.AsyncOpenAI(
            base_url=self.base_url, api_key=api_key or "none", timeout=timeout_seconds, max_retries=1
        )

    async def _made(self, texts: Sequence[str]) -> Vectors:
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return np.concatenate([await self._batch(batch) for batch in batches])

    async def aclose(self) -> None:
        """Release connections."""
        await self._client.close()

    async def _batch(self, texts: Sequence[str]) -> Vectors:
        begun = time.perf_counter()
        try:
            # Floats, for not every compatible server knows the client's own base64.
            answer = await self._client.embeddings.create(
                model=self._model, input=[_clean(text) for text in texts], encoding_format="float"
            )
        except openai.OpenAIError as exc:
            raise self._unavailable(str(exc), _setting(exc)) from exc
        finally:
            milliseconds = round(1000 * (time.perf_counter() - begun))
            _log.debug("embedding %s: %d ms, %d text(s)", self.name, milliseconds, len(texts))
        rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        if len(rows) != len(texts) or len({len(row) for row in rows}) != 1:
            raise self._unavailable(
                Phrase("embedding.wrong_vectors", vectors=len(rows), texts=len(texts)), "KATARIBE_EMBEDDING__MODEL"
            )
        vectors = np.array(rows, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise self._unavailable(Phrase("embedding.no_direction"), "KATARIBE_EMBEDDING__MODEL")
        return np.asarray(vectors / lengths, dtype=np.float32)

    def _unavailable(self, reason: str | Phrase, setting: str) -> GraphUnavailable:
        placed = Phrase("embedding.failed", model=self._model, base_url=self.base_url, reason=reason)
        return GraphUnavailable(backend="embedding", reason=placed, setting=setting)


def _setting(exc: openai.OpenAIError) -> str:
    """Where to look first."""
    if isinstance(exc, openai.AuthenticationError | openai.PermissionDeniedError):
        return "KATARIBE_EMBEDDING__API_KEY"
    if isinstance(exc, openai.NotFoundError | openai.BadRequestError):
        return "KATARIBE_EMBEDDING__MODEL"
    if isinstance(exc, openai.APITimeoutError):
        return "KATARIBE_EMBEDDING__TIMEOUT_SECONDS"
    return "KATARIBE_EMBEDDING__BASE_URL"


def _clean(text: str) -> str:
    """What every server takes: not empty, no half of a surrogate pair, within a small model's context or nearly."""
    return text[:_MAX_CHARS].encode("utf-8", "ignore").decode("utf-8").strip() or " "
