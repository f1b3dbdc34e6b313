"""Owns the boundary to embedding models."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]
else:  # eleven megabytes that nobody needs before something is looked for
    Vectors = Any
"""Unit-length rows, shape (texts, dimensions)."""


class VectorSpace(NamedTuple):
    """Which vectors can be compared: those of one model, all of one width. `dimensions` 0: not known yet."""

    model: str
    dimensions: int

    def takes(self, other: "VectorSpace") -> bool:
        """Whether vectors of `other` may stand beside those of this one."""
        if not self.model:
            return True
        wide = self.dimensions == other.dimensions or not self.dimensions or not other.dimensions
        return wide and self.model == other.model

    def __str__(self) -> str:
        return f"{self.model} ({self.dimensions})" if self.dimensions else self.model


NO_VECTORS = VectorSpace("", 0)
"""The space of a memory that has no vectors yet: those of any model may be added."""


class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their likeness."""

    @property
    def name(self) -> str:
        """Model name; vectors of different names are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    async def query(self, text: str) -> Vectors:
        """Vector of a question, shape (1, dimensions)."""

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of things remembered, shape (len(texts), dimensions)."""


class RemoteEmbedder(ABC):
    """An embedder whose vectors are as wide as its first answer shows: `dimensions` is 0 until then."""

    def __init__(self, name: str) -> None:
        self.name, self.dimensions = name, 0

    async def query(self, text: str) -> Vectors:
        """Vector of a question, shape (1, dimensions). Raises what `passages` does."""
        return await self.passages([text])

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of things remembered, shape (len(texts), dimensions).

        Raises:
            GraphUnavailable: the server cannot be reached, refuses, or answers something else.
            CassetteMiss: a cassette is replayed, and does not hold them.
        """
        import numpy as np

        vectors = await self._made(texts) if texts else np.empty((0, self.dimensions), dtype=np.float32)
        self.dimensions = vectors.shape[1]
        return vectors

    @abstractmethod
    async def _made(self, texts: Sequence[str]) -> Vectors:
        """The vectors of at least one text."""
