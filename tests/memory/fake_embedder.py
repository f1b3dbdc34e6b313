"""Owns embedders for tests: one that hashes tokens, counts what it is asked and can be told to fail."""

import zlib
from collections.abc import Sequence

import numpy as np

from service.errors import GraphUnavailable
from service.memory.embedding.embedder import Vectors
from service.memory.lexical import tokens


class FakeEmbedder:
    """Each token lights one of `dimensions` lamps; texts without tokens light the last. `failing` makes it raise."""

    def __init__(self, name: str = "fake", dimensions: int = 64) -> None:
        self._name = name
        self._dimensions = dimensions
        self.failing = False
        self.embedded: list[str] = []
        self.queries = 0

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def query(self, text: str) -> Vectors:
        self.queries += 1
        return self._vectors([text])

    async def passages(self, texts: Sequence[str]) -> Vectors:
        vectors = self._vectors(texts)
        self.embedded.extend(texts)
        return vectors

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        if self.failing:
            raise GraphUnavailable(backend="embedding", reason="told to fail", setting="none")
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for token in tokens(text):
                row[zlib.crc32(token.encode()) % self._dimensions] += 1
            if not row.any():
                row[-1] = 1
            row /= np.linalg.norm(row)
        return vectors
