"""Owns the vectors of a server's embedding model that are kept on a cassette, one file for each text."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import Base64Bytes

from service.errors import CassetteMiss
from service.llm.cassette import Cassette
from service.llm.cassette_files import Kept, read_kept, write_whole
from service.locales import Phrase
from service.memory.embedding.embedder import Embedder, RemoteEmbedder, Vectors

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
        file = self._file(text)
        kept = read_kept(KeptVector, file) if file.exists() else None
        return None if kept is None else np.frombuffer(kept.vector, dtype="<f4")

    def _file(self, text: str) -> Path:
        digest = hashlib.sha256(f"{self.name}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
        return self._cassette.directory / VECTORS / f"{digest[:_DIGITS]}.json"
